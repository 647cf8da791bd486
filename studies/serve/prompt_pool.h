// The pool that reads prompts, where another says their words.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/pooled_run.h"
#include "studies/infer/pools.h"
#include "studies/infer/served_load.h"
#include "studies/serve/saturation.h"

namespace stepcast::serve {

struct PromptPoolWishes {
  infer::ServingWishes engine;
  infer::BatchingWishes batching;
  std::int64_t replicas = 1;
};

struct PromptPool {
  infer::Serving serving;
  sim::Servers servers;
  std::int64_t gpus = 0;                 ///< of all replicas
  infer::CacheTransfer transfer;         ///< of a prompt of the mean length
  double positions = 0;                  ///< of that prompt
  Saturation saturation;                 ///< of this pool alone
  double links_requests_per_second = 0;  ///< that the links take at most
  // What a run of the load comes to: means over it, and the most.
  double busy = 0, waiting = 0, most_waiting = 0;
  std::vector<sim::RanIteration> reading;
};

/// An error of this pool names its own flags.
Error error_of_prompts(Error error);

/// Errors: what the engine cannot be, keys that `words` does not take, and requests that no cache of it holds or that
/// say one word alone.
Expected<PromptPool> prompt_pool_of(
    const PromptPoolWishes& wishes, const infer::Serving& words, const std::vector<sim::ServingRequest>& requests);

/// The way to `words`, and with it what both pools and the links do at most: `most` is that of the pool of words.
Saturation joined(PromptPool& prompts, const infer::Serving& words, const sim::Servers& servers,
    const std::vector<sim::ServingRequest>& requests, infer::ServedTimes& prompt_times, const Saturation& most);

/// The load on both: what users see is the result, and what the pool of prompts did is noted in it.
sim::ServedRun simulate(const sim::Load& load, PromptPool& prompts, const infer::Serving& words,
    const sim::Servers& servers, infer::ServedTimes& prompt_times, infer::ServedTimes& word_times);

}  // namespace stepcast::serve
