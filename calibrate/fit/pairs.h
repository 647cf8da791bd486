// Compares a row with the same thing timed alone: the factor is the cost of what ran beside it, or of running for
// seconds. Both rows have the same query and software and the GPU that is asked for; both are cold, and the plain one
// is neither throttled nor sustained.
#pragma once

#include <string>
#include <vector>

#include "calibrate/rows/measurement.h"

namespace stepcast::calibrate {

struct RowPair {
  Query what;
  std::string beside;  ///< what ran beside it; "" of sustained rows
  double ratio = 1;    ///< time over the time alone
};
struct RowPairs {
  std::vector<RowPair> beside, sustained;
  int alone_missing = 0;  ///< rows with something beside them that nobody timed alone
};
RowPairs pairs_of(const Measurements& measurements, const Gpu& gpu);

}  // namespace stepcast::calibrate
