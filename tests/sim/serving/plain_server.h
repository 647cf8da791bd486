// A second simulator, written apart and plainly: no counters are kept, everything is counted anew from the list of
// requests in every iteration. One replica with one group.
#pragma once

#include <functional>
#include <vector>

#include "sim/serving/served_run.h"

namespace stepcast::sim {

struct PlainRun {
  std::vector<double> first, last;  ///< of each request, seconds
  int iterations = 0, preempted = 0;
  int stored = 0, unstored = 0;  ///< who gave way with their keys in the host's memory, and for whom it had no room
};
/// One group of each of two pools, and `transfer` seconds of the keys of so many positions between them: `iterations`
/// and `preempted` are of both.
PlainRun run_pools_plainly(const Load& load, const BatchingPolicy& prompts, const BatchingPolicy& words,
    const std::function<double(long)>& transfer, const BatchTimer& timer);
PlainRun run_plainly(const Load& load, const BatchingPolicy& policy, const BatchTimer& timer);

}  // namespace stepcast::sim
