// Measures the collectives of a host or a cluster: it chooses groups and sizes and times them on all ranks in step.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/campaign.h"
#include "kernels/bench/collective_bench.h"

namespace stepcast {

/// Every size of group that divides the GPUs of a host (2, 4, 8, ... and all), next to each other, and spread where
/// that goes over other links; across hosts all GPUs of 2, 4, ... and all hosts, and one GPU per host.
std::vector<CollectiveGroup> collective_groups(const CollectiveBench& bench);

/// What a fabric is taken to do before anything was timed: enough to plan with.
struct FabricGuess {
  Seconds latency;
  BytesPerSecond bus;
};
FabricGuess fabric_guess(const std::string& fabric);

/// Buffers from 8 B to 1 GB by factors of 4 (2 near the knee of a curve), whole multiples of 16 bytes per rank (small
/// ones of 2); those that fit twice into what is free.
std::vector<Bytes> collective_sizes(int ranks, Bytes free);

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
/// Budget first to the largest groups, the most used kinds, and the extreme and middle sizes; what remains to the rest.
CollectivePlan plan_collectives(const CollectiveBench& bench, Seconds budget, const MethodRules& rules);

/// Same rows, hooks and promises as run_campaign; all processes take the same turns, because they decide by times that
/// all of them see, and by the clock and the earlier file of process 0. Only process 0 is given hooks.keep.
/// request.plan is not looked at. What ran beside what is in context.beside as work_name() spells it, "all_reduce x8
/// 128 MiB" and "gemm ..."; the same two alone come with them.
Expected<MeasureResult> run_collectives(CollectiveBench& bench, const CollectivePlan& plan,
                                        const CampaignRequest& request, const MeasureHooks& hooks);

}  // namespace stepcast
