// How unequal a pipeline's stages are, and what that costs it.
#pragma once

#include "sim/schedule/engine/engine.h"

namespace stepcast::sim {

struct Balance {
  /// Work of the slowest rank over the mean of all ranks, forward and backward of one micro-batch; 1 = all alike.
  double imbalance = 1;
  /// Makespan less that of the same order with every virtual stage at the mean forward, input and weight gradient.
  /// Kinds that order by the times keep the order that was made for these.
  Seconds cost;
};

/// `makespan` is that of `order` with `times`. Durations of single units count by their stage's figure.
Balance balance_of(const Order& order, const StageTimes& times, Seconds makespan);

}  // namespace stepcast::sim
