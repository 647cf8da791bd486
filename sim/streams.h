// A chunk's items on streams: one for compute, one per fabric tier. Only data edges order items, plus the blocking edges
// that the stack adds; kernels beside a collective run slower by the profile's overlap law.
#pragma once

#include <vector>

#include "dataflow/program.h"
#include "sim/cost.h"

namespace stepcast {

/// Times of one chunk for one micro-batch; `exposed` is time in which compute waited for moves.
struct ChunkTimes {
  Seconds forward, input_grad, weight_grad;    ///< wall time; recompute counts into input_grad
  Seconds forward_compute, backward_compute;   ///< without waiting
  Seconds recompute;                           ///< part of input_grad
  Seconds exposed_forward, exposed_backward;
  /// Per block of the program and item list: when each item started and ended in the steady repeat, for reports.
};

ChunkTimes chunk_times(const Program& program, const Chunk& chunk, const CostModel& cost);

/// Time and exposed time of each move of a block, per micro-batch (steady repeat). Same order as ProgramBlock::moves.
struct MoveTimes { std::vector<Seconds> time, exposed; std::vector<Price> price; };
MoveTimes move_times(const Program& program, int block, const CostModel& cost);

}  // namespace stepcast
