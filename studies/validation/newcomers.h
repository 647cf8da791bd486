// Published runs as a stranger's: forecast by profiles that know nothing of their publication, of their software, or of
// any run on their GPU, and by records that say no more than a paper does, with the interval that such a forecast gets.
#pragma once

#include <string>
#include <vector>

#include "studies/records/step_fitting.h"
#include "studies/validation/statistics.h"
#include "studies/validation/validation.h"

namespace stepcast::validation {

struct NewcomerRun {
  std::string id;
  double measured_s = 0, seconds = 0, low_s = 0, high_s = 0;
};

struct NewcomerRow {
  std::string name;               ///< "dense, ampere", or "all"
  std::string left_out;           ///< "source", "stack", "gpu", or "untold": "stack" of runs as told_by_a_paper
  ErrorSummary error;             ///< of the step time
  double coverage = 0;            ///< share of runs inside the interval of their forecast
  std::vector<NewcomerRun> runs;  ///< none for "all"
};

/// What a paper tells of a run: network, machine, sizes of the split and the batch, precision. Neither its software nor
/// what that does beside: sequence parallelism, chunks and order of the stages, shards of the optimizer, recomputation,
/// overlap. That weights lie in shards (stage 3) is a size of the split and stays.
Run told_by_a_paper(Run run);

/// Without doubtful runs and those of the tuning of trained networks. `records` hold those of `runs`. Uses all
/// processors.
std::vector<NewcomerRow> newcomer_rows(
    const Validation& validation, const std::vector<MeasuredRun>& runs, const std::vector<Run>& records);

}  // namespace stepcast::validation
