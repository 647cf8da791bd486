// An order with the durations that were measured for each of its actions, run again: how well the engine follows a real
// step, and how much of the step's length only the spread of durations explains. On three public jobs of 8 to 128 GPUs
// stage means fall 9 to 42 % short of the step (ByteDance-Seed/StragglerAnalysis), single durations 0.3 to 1.7 %.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "model/base/error.h"
#include "sim/schedule/engine/engine.h"
#include "sim/schedule/order.h"

namespace stepcast::sim {

/// `times` holds the durations of single units (forward_each, ...) and their means (forward, ...). Of a fused backward
/// that was measured as one, input_grad is all and weight_grad 0.
struct TimedOrder {
  Order order;
  StageTimes times;
};

/// Sets forward, input_grad and weight_grad of every stage to the means over the units that pass it. Lists of single
/// units that are empty leave their means as they are.
void set_stage_means(const Order& order, StageTimes& times);

struct Replay {
  Timeline single;  ///< every unit with its own duration
  int slowest = 0;  ///< the copy that it is of
  Timeline means;   ///< every unit of a stage with the stage's mean
  /// Makespan with means against the one with single durations, -0.27: 27 % shorter.
  [[nodiscard]] double means_gap() const;
};

/// Fails where the order cannot run.
Expected<Replay> replay(const TimedOrder& timed);
/// Copies of a pipeline that end the step together, of one order: `single` is the slowest copy, `means` runs on each
/// stage's mean over all copies, so that the gap also holds what a slow copy costs.
Expected<Replay> replay(std::span<const TimedOrder> copies);

/// "stage means make the step 27.0 % shorter ..." where that is more than `tolerance`; nothing below it.
std::optional<std::string> means_warning(const Replay& replay, double tolerance = 0.01);

}  // namespace stepcast::sim
