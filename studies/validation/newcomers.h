// Published runs as a stranger's: forecast by profiles that know nothing of their publication, of their software, or of
// any run on their GPU, with the interval that such a forecast gets.
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
  std::string left_out;           ///< "source", "stack" or "gpu"
  ErrorSummary error;             ///< of the step time
  double coverage = 0;            ///< share of runs inside the interval of their forecast
  std::vector<NewcomerRun> runs;  ///< none for "all"
};

/// Without doubtful runs and those of the tuning of trained networks. Uses all processors.
std::vector<NewcomerRow> newcomer_rows(const Validation& validation, const std::vector<MeasuredRun>& runs);

}  // namespace stepcast::validation
