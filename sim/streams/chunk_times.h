// Prices of what a block does, and the times of a chunk that they make.
#pragma once

#include <vector>

#include "model/base/units.h"
#include "sim/cost.h"

namespace stepcast::sim {

/// Prices of one block's items, made once and used by every chunk that runs the block.
struct BlockPrices {
  std::vector<Price> works, moves, step_moves;  ///< order of ProgramBlock::works, ::moves, ::step_moves
  /// Factor on every kernel of a list: a list cannot run faster than the host launches it.
  double forward_stretch = 1, backward_stretch = 1;
  int ahead = 0;       ///< the furthest that any of its moves may start early, in blocks
  int first_move = 0;  ///< of this block in ChunkTimes::exposed
};

/// Times of one chunk for one micro-batch; `exposed` is time in which compute waited for moves.
struct ChunkTimes {
  Seconds forward, input_grad, weight_grad;   ///< wall time; recompute counts into input_grad
  Seconds forward_compute, backward_compute;  ///< without waiting
  Seconds recompute;                          ///< part of input_grad
  Seconds exposed_forward, exposed_backward;
  std::vector<Seconds> exposed;  ///< by BlockPrices::first_move + move: summed over the chunk's blocks
  std::vector<Seconds> run_forward, run_backward;  ///< wall time of each of the chunk's runs

  [[nodiscard]] Seconds backward() const { return input_grad + weight_grad; }
};

}  // namespace stepcast::sim
