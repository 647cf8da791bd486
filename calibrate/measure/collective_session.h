// Collectives of a host or a cluster: which groups, which sizes, and the session that times them on all ranks in step.
#pragma once

#include <span>
#include <vector>

#include "calibrate/measure/session.h"
#include "kernels/collective_bench.h"

namespace stepcast {

/// Every size of group that divides the GPUs of a host (2, 4, 8, ... and all), next to each other, and spread where that
/// goes over other links; across hosts all GPUs of 2, 4, ... and all hosts, and one GPU per host.
std::vector<CollectiveGroup> collective_groups(const CollectiveBench& bench);

/// Buffers from 8 B to 1 GB by factors of 4 (2 near the knee of a curve), whole multiples of the ranks.
std::vector<Bytes> collective_sizes(int ranks, Bytes free);

struct PlannedCollective {
  CollectiveGroup group;
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes buffer;
  Seconds estimate;
};
struct CollectivePlan {
  std::vector<PlannedCollective> calls;     ///< in order: one communicator after another
  std::vector<PlannedCollective> left_out;  ///< largest groups' middle sizes last
  Seconds budget, estimate;                 ///< estimate <= budget
};
CollectivePlan plan_collectives(const CollectiveBench& bench, Seconds budget, const MethodRules& rules);

/// Same rows, hooks and promises as run_session. Only process 0 is given hooks.keep.
Expected<MeasureResult> run_collectives(CollectiveBench& bench, const CollectivePlan& plan, const SessionRequest& request,
                                        const MeasureHooks& hooks);

}  // namespace stepcast
