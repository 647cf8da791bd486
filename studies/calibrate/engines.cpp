// stepcast calibrate engines: what measured phases and static batches say of serving engines' tunings.
#include "calibrate/import/timings_file.h"
#include "model/catalog.h"
#include "studies/calibrate/calibrate.h"
#include "studies/cli/output_file.h"
#include "studies/infer/fit_engine.h"
#include "studies/run/nouns.h"

namespace stepcast::calibration {
namespace {

bool is_engine_file(const std::string& name) {
  return file_holds(name, "\"tunings\": ") && file_holds(name, "\"cache_rule\": ");
}

}  // namespace

Expected<void> calibrate_engines(const Arguments& arguments, Console& console) {
  std::vector<Engine> engines(built_in().engines.begin(), built_in().engines.end());
  const bool one = arguments.has("--engine");
  if (one) {
    TRY(auto engine, run::choose_engine(arguments.value("--engine"), "--engine"));
    engines = {std::move(engine.row)};
  }
  if (arguments.has("--output") && !one)
    return fail("--output", "a file holds one engine's row, and none is named", "--engine ID");
  std::vector<infer::InferenceRecord> records;
  for (const std::string& word : arguments.words) {
    TRY(const auto file, calibrate::TimingsFile::open(word));  // plain or packed
    TRY(auto read, infer::read_inference(file.head(), word));
    records.insert(records.end(), std::make_move_iterator(read.begin()), std::make_move_iterator(read.end()));
  }
  const auto fits = infer::fit_tunings(records, engines);
  if (fits.empty())
    return fail("records", "none is of an engine, an architecture and a number type that a row fits",
        "phases or static batches of the engines that \"stepcast list engines\" names");
  console.out << (arguments.has("--json") ? infer::tunings_json(fits) : infer::tunings_text(fits));
  if (!arguments.has("--output")) return {};
  TRY(auto output, OutputFile::open(output_place(arguments, "--output", is_engine_file)));
  output.finish(write_engine(infer::with_fits(engines.front(), fits)));
  return {};
}

}  // namespace stepcast::calibration
