// From the numbers somebody asked for to a split that works, or an error with the numbers that would.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/error.h"
#include "model/network.h"
#include "studies/mapping_text.h"

namespace stepcast {

/// Where each number came from ("--tp", "run.json:/tp", "default"), so that errors point there.
struct SplitOrigin { std::string gpus, tp, cp, pp, chunks, global_batch, sequence, schedule, recompute, ep, etp; };

struct SplitSize {
  std::int64_t gpus = 1, micro_batch = 1, global_batch = 1, sequence = 1;
  std::int64_t max_gpus = INT64_MAX;  ///< of the machine
};

/// Every rule that the flags can break: GPUs / (tp cp pp), heads, MLP and sequence over tp and cp, layers over stages
/// and chunks, batch over micro-batch x dp, the schedule's own rule. The hint lists the nearest values that work.
Expected<void> check_split(const Split& split, const SplitSize& size, const NetworkSpec& network,
                           const SplitOrigin& origin);

/// A schedule with its sizes.
struct ScheduledRun {
  std::string schedule;
  std::int64_t stages = 1, chunks = 1, micro_batches = 1;
};
/// The schedule's own rule, and a bound on the number of actions.
Expected<void> check_schedule(const ScheduledRun& run, const std::string& where, const std::string& batch_where);

/// Tensor-parallel sizes that this network's heads and MLP width allow, ascending.
std::vector<std::int64_t> legal_tensor_sizes(const NetworkSpec& network);

std::vector<std::int64_t> divisors(std::int64_t number);

/// The values nearest to `wanted`, ascending, at most eight: "1, 2, 4, 8".
std::string nearest_values(const std::vector<std::int64_t>& legal, std::int64_t wanted);

/// "96 or 128": the multiples of `step` around `wanted`, from `step` on and up to `most`.
std::string nearest_multiples(std::int64_t wanted, std::int64_t step, std::int64_t most = INT64_MAX);

}  // namespace stepcast
