#include "studies/records/built_in_runs.h"

#include "studies/records/embedded_runs.h"

namespace stepcast::records {

Expected<std::vector<Run>> built_in_runs() {
  std::vector<Run> runs;
  for (const EmbeddedFile& file : embedded_runs()) {
    TRY(auto read, read_runs(std::string(file.text), std::string(file.name)));
    runs.insert(runs.end(), read.begin(), read.end());
  }
  return runs;
}

}  // namespace stepcast::records
