// How many keys a query sees, and how many its kernel walks: the mean over the queries of an iteration or a step.
#pragma once

#include "model/network/operator.h"

namespace stepcast::dataflow {

/// Which keys an attention core looks at.
struct KeyReach {
  Domain domain = Domain::all;
  std::int64_t reach = 0;  ///< of the domain
  CompressedKeys beside;   ///< seen besides
};

struct AttendedKeys {
  double seen = 0, walked = 0;
};
/// Where there are fewer queries than keys they are the last ones: those before them were asked in earlier iterations.
AttendedKeys attended_keys(const KeyReach& reach, double keys, double queries);

}  // namespace stepcast::dataflow
