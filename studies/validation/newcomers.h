// Published runs as a stranger's: forecast by profiles that know nothing of their publication, or nothing of their
// software, with the interval that such a forecast gets.
#pragma once

#include <string>
#include <vector>

#include "studies/validation/statistics.h"
#include "studies/validation/validation.h"

namespace stepcast::validation {

struct NewcomerRow {
  std::string name;      ///< "dense, ampere"
  std::string left_out;  ///< "source" or "stack"
  ErrorSummary error;    ///< of the step time
  double coverage = 0;   ///< share of runs inside the interval of their forecast
};

/// Without doubtful runs and those of the tuning of trained networks. Uses all processors.
std::vector<NewcomerRow> newcomer_rows(const Validation& validation, const std::vector<Run>& records);

}  // namespace stepcast::validation
