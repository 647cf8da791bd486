// What a campaign of collectives would time.
#pragma once

#include <string>
#include <vector>

#include "kernels/bench/collective_bench.h"
#include "model/base/units.h"
#include "model/profile/query.h"

namespace stepcast::calibrate {

struct PlannedCollective {
  CollectiveGroup group;
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes buffer;
  Seconds estimate;
};
/// A product beside a collective of the largest group within a host.
struct PlannedBeside {
  CollectiveGroup group;
  GemmQuery gemm;
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes buffer;
  Seconds estimate;
};
struct CollectivePlan {
  std::vector<PlannedCollective> calls;     ///< in order: one communicator after another
  std::vector<PlannedBeside> beside;        ///< after the other calls of its group; one at most
  std::vector<PlannedCollective> left_out;  ///< for want of time, the most telling first
  std::vector<std::string> notes;           ///< "one GPU: no collectives to time"
  Seconds budget, estimate;                 ///< estimate <= budget
};

}  // namespace stepcast::calibrate
