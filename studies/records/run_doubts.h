// The checks of doubt_checks.h on records of training runs, with what they look at.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "studies/records/doubt_checks.h"
#include "studies/records/step_fitting.h"

namespace stepcast::records {

/// dense, moe, sharded, hybrid, long, encoder (BERT, T5), images (no words), tuning (of trained networks) or profiled
/// (a step whose kernels were recorded).
std::string kind_of(const Run& run, const Scenario& scenario);

CheckedRun checked_run(const Run& run, const Scenario& scenario, double forecast_s);

/// Makes those of `runs` no witnesses that speak against themselves or their group when they are forecast by what their
/// profiles hold. `records` has theirs, of the same ids. Returns reasons by id.
std::map<std::string, std::string> find_doubts(std::vector<MeasuredRun>& runs, const std::vector<Run>& records);

}  // namespace stepcast::records
