// What users ask an engine: how long prompts take, how long a word takes, how long a whole batch.
#pragma once

#include <cstdint>
#include <vector>

#include "studies/infer/serving.h"

namespace stepcast::infer {

/// So many iterations alike.
struct Repeated {
  double times = 1;
  sim::IterationSums sums;
};

struct Phase {
  Seconds time;             ///< prefill: of all prompts; decode: of one word for each sequence; static batch: of all
  Seconds prefill, decode;  ///< of a static batch
  Spread spread;
  std::vector<Repeated> iterations;
  double waves = 1;          ///< of a static batch that the cache does not hold at once
  sim::IterationTime shown;  ///< the iteration, or the last of several
};

/// All prompts, as many in an iteration as the engine takes; a longer prompt goes in pieces.
Phase prefill(const Serving& serving, std::int64_t batch, std::int64_t prompt, std::int64_t cached);
/// A word for each sequence behind `context` positions.
Phase decode(const Serving& serving, std::int64_t batch, std::int64_t context);
/// All prompts, then `output` words of each, the first of which the prompts' iteration gave. The time of a word rises
/// with its context, all but evenly: Simpson's rule over it.
Phase static_batch(const Serving& serving, std::int64_t batch, std::int64_t prompt, std::int64_t output);

/// What stands on a GPU, and how many sequences of a length it holds.
struct Capacity {
  double memory = 0, weights = 0, reserved = 0, activations = 0, cache = 0;  ///< bytes of one GPU
  std::int64_t activation_positions = 0;                                     ///< that they are for
  double bytes_per_position = 0;                                             ///< of the cache
  std::int64_t blocks = 0, positions = 0;
  std::int64_t sequences = 0;  ///< of `length` positions each
};
Capacity capacity(const Serving& serving, std::int64_t length);

}  // namespace stepcast::infer
