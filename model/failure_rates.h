// How often machines break and how long repairs take, as data: a row for each published fleet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/base/units.h"

namespace stepcast {

/// A figure with its 10th and 90th percentile.
struct RateRange {
  double value = 0, low = 0, high = 0;
};

struct FailureRates {
  std::string id, name, source;
  std::vector<std::string> aliases;
  /// Failures that end a job: per day and node of `node_gpus` GPUs, and per day of a job however large it is.
  RateRange per_node_day, fixed_per_day;
  /// Nodes of the jobs that the latter was measured on: smaller jobs have it by their nodes. 0: a job of any size has
  /// it.
  std::int64_t fixed_nodes = 0;
  std::int64_t node_gpus = 8;
  /// Share of the former that puts the node into repair, and how long it stays there.
  double taken = 0;
  Seconds repair_median, repair_mean;
  std::string note;  ///< what a reader of the figures should know
};

/// The part of `fixed_per_day` that a job on so many nodes has.
double fixed_share(const FailureRates& rates, double nodes);

/// The built-in rows, parsed once. Broken data is a programming error and aborts with the message.
const std::vector<FailureRates>& failure_rates();
/// By id or alias, case-insensitively; the error, at `where`, has the nearest.
Expected<const FailureRates*> find_failure_rates(const std::string& name, const std::string& where);

Expected<FailureRates> read_failure_rates(const std::string& text, const std::string& where);
std::string write_failure_rates(const FailureRates& rates);

}  // namespace stepcast
