// Outputs of benchmarks of serving engines as records of inference (studies/infer/records/record.h), completed by
// flags.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/arguments.h"

namespace stepcast::calibration {

struct ServedRecord {
  std::string id, phase, model, machine, engine, version, weights, cache, tool, date;
  std::int64_t tp = 1, pp = 1, ep = 1, groups = 1;
  std::optional<std::int64_t> concurrency, requests, most_sequences, most_positions;
  std::optional<double> rate, input, output;  ///< requests a second, mean positions and words
  std::map<std::string, double> measured;
  std::vector<std::string> notes;
};

/// Errors: files that no such tool wrote, what neither they nor flags tell, and flags that say other than they do.
Expected<std::vector<ServedRecord>> served_records(const Arguments& arguments);
/// A list that `stepcast validate` and `calibrate engines` read.
std::string served_records_json(const std::vector<ServedRecord>& records);

}  // namespace stepcast::calibration
