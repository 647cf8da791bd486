// Pools of their own for prompts and words: two Servings of one network, and the way of the cache between them.
#pragma once

#include "sim/serving/pooled_run.h"
#include "studies/infer/serving.h"

namespace stepcast::infer {

/// What a prompt left in the cache, from a group of ranks that read it to a group that says its words. The placement of
/// both is the plans': each rank of the second needs its part, and the ranks of the first send as much each.
struct CacheTransfer {
  Bytes sent, received;     ///< of one GPU
  Seconds sends, receives;  ///< of each end, on the fabric that holds a replica of both
  Seconds time;             ///< of the slower
  std::string fabric;       ///< the level of the slower's machine: "rack", "cluster"
};
/// Errors: keys of one engine's cache that the other does not take as they are, machines without a network.
Expected<void> check_pools(const Serving& prompts, const Serving& words);

CacheTransfer transfer_of(const Serving& prompts, const Serving& words, double positions);

/// The simulator's, for prompts of any length; the Servings must outlive it.
std::function<sim::KeyTransfer(std::int64_t)> transfers(const Serving& prompts, const Serving& words);

}  // namespace stepcast::infer
