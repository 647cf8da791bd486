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
  Seconds time;             ///< prefill: of all prompts; decode: of an iteration; static batch: of all
  Seconds prefill, decode;  ///< of a static batch
  Spread spread;
  std::vector<Repeated> iterations;
  double words = 1;          ///< that a sequence is told per iteration: more than one where words are guessed
  double waves = 1;          ///< of a static batch that the cache does not hold at once
  sim::IterationTime shown;  ///< the iteration with what is guessed before it, or the last of several
  std::vector<sim::Rows> shown_rows;
  std::int64_t guesses = 0;  ///< iterations of the drafter that stand before it
};

// Batches are of the whole replica; of groups of ranks with sequences of their own the fullest counts.

/// All prompts, as many in an iteration as the engine takes; a longer prompt goes in pieces.
Phase prefill(const Serving& serving, std::int64_t batch, std::int64_t prompt, std::int64_t cached);
/// Of the words that are guessed, the share that turns out right, each where those before it did.
struct Guesses {
  double accepted = 0;
};
/// Words of an iteration that tries `draft` guesses: 1 + r + r^2 + ... (Leviathan et al. 2023, arXiv 2211.17192, eq.
/// 1).
double words_of_iteration(std::int64_t draft, double accepted);

/// An iteration of words for each sequence behind `context` positions.
Phase decode(const Serving& serving, std::int64_t batch, std::int64_t context, Guesses guesses = {});
/// The same with new positions of a prompt in it.
Phase mixed(const Serving& serving, std::int64_t batch, std::int64_t context, const sim::Rows& prompt);
/// All prompts, then `output` words of each, the first of which the prompts' iteration gave. The time of a word rises
/// with its context, all but evenly: Simpson's rule over it.
Phase static_batch(
    const Serving& serving, std::int64_t batch, std::int64_t prompt, std::int64_t output, Guesses guesses = {});

/// What stands on a GPU, and how many sequences of a length it holds; of several stages on one of that with the least.
struct Capacity {
  double memory = 0, weights = 0, reserved = 0, activations = 0, cache = 0;  ///< bytes of one GPU
  std::int64_t activation_positions = 0;                                     ///< that they are for
  double bytes_per_position = 0;                                             ///< of the cache
  std::int64_t blocks = 0, positions = 0;
  std::int64_t sequences = 0;  ///< of `length` positions each, of the whole replica
};
/// `most_positions`: of an iteration, where it is not the engine's.
Capacity capacity(
    const Serving& serving, std::int64_t length, std::optional<std::int64_t> most_positions = std::nullopt);

/// Error: the longest request that the engine is told to take is longer than its cache, where it does not start then.
/// 0: it is not told.
Expected<void> check_longest_request(
    const Serving& serving, std::int64_t longest, std::optional<std::int64_t> most_positions);

}  // namespace stepcast::infer
