// Sequences that give way: whether their keys go to the host's memory, what room that has, and what the copies take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/serving/batching.h"
#include "studies/infer/phases.h"

namespace stepcast::infer {

/// What is said of the engine's options; what is not has the row's.
struct BatchingWishes {
  std::optional<std::int64_t> most_sequences, most_positions;
  std::optional<bool> swaps;        ///< sequences that give way go to the host's memory; else they are read again
  std::optional<Bytes> swap_space;  ///< of the host for each GPU
  bool decodes = false;             ///< prompts are read elsewhere
};

/// Whether those that give way are kept by the host: as is said, else as the engine does by itself.
bool swaps(const Engine& engine, const BatchingWishes& wishes);
/// Of the host's memory for one GPU.
Bytes swap_space(const Serving& serving, const BatchingWishes& wishes);
/// The most of it that vLLM starts with; of engines without a space of their own what the host has for each GPU.
Bytes most_swap_space(const Serving& serving);
/// Blocks that SGLang keeps free for each sequence beside one that comes back, and for itself.
std::int64_t spare_of_each(const Engine& engine);
/// Errors: what the engine does not do, space beside no swapping, and more of it than the host has. Where the engine
/// swaps because it was asked to: guesses, states, iterations of prompts and words, and no link to the host.
Expected<void> check_swapping(const Serving& serving, const BatchingWishes& wishes);
/// Of a run. Errors: sequences gave way, and the host had no room for one, nothing tells how long a copy takes, or the
/// engine copies no keys of this network.
Expected<void> check_swapped(const Serving& serving, const sim::Swaps& swaps);
/// Where the host keeps more than newer releases do: a warning. Else "".
std::string warning_of_swaps(const Serving& serving, const sim::BatchingPolicy& policy, const sim::Swaps& swaps);

/// Copies between one GPU and its host: those out and then those in stand before the iteration, as vLLM's and SGLang's
/// wait for them. Of stages each copies its part in its turn.
class SwapCopies {
 public:
  /// Of sequences of so many positions, of which each block has an even part of their keys and states; windows end
  /// what is kept. 0: of one block.
  explicit SwapCopies(const Serving& serving, double length = 0);
  [[nodiscard]] Seconds time(const sim::Batch& batch) const {
    return one_way(batch.blocks_out) + one_way(batch.blocks_in);
  }
  /// Of one GPU of each stage together.
  [[nodiscard]] Bytes bytes_of_block() const { return block_; }

 private:
  [[nodiscard]] Seconds one_way(double blocks) const;

  Bytes block_;
  Seconds of_block_;  ///< by the link, or by the starts of its copies where they take longer
};

}  // namespace stepcast::infer
