// Pools of their own for prompts in a sweep: each way to read prompts and each way to say words is priced once, and
// every pair of them is put together in the ratios that balance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "studies/serve/sweep/engines.h"
#include "studies/serve/sweep/rows.h"

namespace stepcast::serve::sweeping {

/// Replicas of both pools that fill the GPUs.
struct PoolRatio {
  std::int64_t prompts = 1, words = 1;
};
struct PoolRatios {
  std::vector<PoolRatio> priced;
  std::uint64_t between = 0;  ///< that are not, since one is priced from which both pools differ by less than 5 %
};
/// Those asked for, fewest of prompts first, of replicas of so many GPUs. All of them where they are 256 or fewer, or
/// where lists name them.
PoolRatios ratios_of(const Asked& asked, std::int64_t gpus, std::int64_t prompt_replica, std::int64_t word_replica);

/// All pairs of splits in all their ratios, under all loads; a pair with none counts as one. Errors: more than `most`
/// that are priced.
Expected<std::uint64_t> pooled_combinations(const Asked& asked, double most);

/// All pairs of one engine, its number types and one machine that says words. Left out are keys that do not go from one
/// pool to the other; under each load, of the ratios whose prompts' pool
/// stands idle for more than half of the time all but the one with the fewest prompts' replicas; and of each ratio
/// loads above the one that fills its prompts' pool.
void take_pools(const Asked& asked, const Configuration& kind, Engines& engines, Rows& rows);

}  // namespace stepcast::serve::sweeping
