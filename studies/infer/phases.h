// What users ask an engine: how long prompts take, how long a word takes, how long a whole batch.
#pragma once

#include <cstdint>

#include "studies/infer/serving.h"

namespace stepcast::infer {

/// What a phase's iterations come to together.
struct PhaseTotals {
  double iterations = 0, sequences = 0, launched = 0;  ///< sequences: the sum over iterations
  Seconds kernels, moves;
};

struct Phase {
  Seconds time;             ///< prefill: of all prompts; decode: of one word for each sequence; static batch: of all
  Seconds prefill, decode;  ///< of a static batch
  Spread spread;
  PhaseTotals totals;
  double waves = 1;  ///< of a static batch that the cache does not hold at once
  Iteration shown;   ///< decode and prefill: the iteration, or the last of several
};

/// All prompts, as many in an iteration as the engine takes; a longer prompt goes in pieces.
Expected<Phase> prefill(const Serving& serving, std::int64_t batch, std::int64_t prompt, std::int64_t cached);
/// A word for each sequence behind `context` positions.
Expected<Phase> decode(const Serving& serving, std::int64_t batch, std::int64_t context);
/// All prompts, then `output` words of each, the first of which the prompts' iteration gave. The time of a word rises
/// with its context, all but evenly: Simpson's rule over it.
Expected<Phase> static_batch(const Serving& serving, std::int64_t batch, std::int64_t prompt, std::int64_t output);

/// What stands on a GPU, and how many sequences of a length it holds.
struct Capacity {
  double memory = 0, weights = 0, reserved = 0, activations = 0, cache = 0;  ///< bytes of one GPU
  double bytes_per_position = 0;                                             ///< of the cache
  std::int64_t blocks = 0, positions = 0;
  std::int64_t sequences = 0;  ///< of `length` positions each
};
Expected<Capacity> capacity(const Serving& serving, std::int64_t length);

}  // namespace stepcast::infer
