// The arguments of an engine's line by the names that they count by: its words and its file, each with its place, and
// what of it is not understood.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/scripts/launch_line.h"
#include "studies/engines/line/engine_line.h"

namespace stepcast::engines {

class SaidArguments {
 public:
  const EngineProgram* program = nullptr;
  std::string where;
  std::vector<GivenArgument> all;  ///< in their order, files as they count; of a name the last one counts
  /// "run.sh:3 --wibble (not known of vLLM; near it: --nnodes)": what may change the forecast and is not understood
  std::vector<std::string> unknown;
  std::vector<std::string> notes;

  [[nodiscard]] const launch::ArgumentTable& table() const { return engine_table(program->table); }
  /// The one that counts; nullptr where it was not given. Asking is kept: what counts and was never asked for is not
  /// read.
  const GivenArgument* find(std::string_view name);
  [[nodiscard]] bool counts(const GivenArgument& given) const;
  [[nodiscard]] bool was_asked(std::string_view name) const { return asked_.contains(name); }

  // Values, nothing where they are not given or hang on what nothing sets. Errors: others than the name takes.
  Expected<std::optional<std::int64_t>> count(std::string_view name);  ///< 8192, 8k (x 1000), 8K (x 1024)
  Expected<std::optional<double>> number(std::string_view name);
  Expected<std::optional<bool>> flag(std::string_view name);
  std::optional<std::string> text(std::string_view name);

 private:
  std::set<std::string, std::less<>> asked_;
};

/// "run.sh:12 --max-num-seqs".
std::string place_of_argument(const SaidArguments& said, const GivenArgument& given);

}  // namespace stepcast::engines
