// How much of a stage's time goes into attending, which grows with pairs of tokens where all else grows with tokens.
#pragma once

#include <vector>

#include "dataflow/program.h"
#include "model/base/error.h"
#include "sim/cost.h"
#include "sim/schedule/engine/timeline.h"

namespace stepcast::sim {

/// By chunk of the program: kernels of fused attention over the chunk's time, forward and backward with what it
/// recomputes.
struct AttendingShares {
  std::vector<double> forward, backward;
};
/// Errors: attention to a part of the keys, whose work grows otherwise; several copies of the chunks, or slices.
Expected<AttendingShares> attending_shares(const Program& program, const CostModel& cost, const StageTimes& times);

}  // namespace stepcast::sim
