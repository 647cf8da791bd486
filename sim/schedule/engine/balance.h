// How unequal a pipeline's stages are, and what that costs it.
#pragma once

#include "sim/schedule/engine/engine.h"

namespace stepcast::sim {

struct Balance {
  /// Work of the slowest rank over the mean of all ranks, forward and backward of one micro-batch; 1 = all alike.
  double imbalance = 1;
  /// What equal stages would save: makespan less that of the same order with every virtual stage at the mean forward,
  /// input and weight gradient. Kinds that order by the times keep the order that was made for these. 0 where they
  /// would save nothing: an order may run longer with equal stages, whose hops no slower neighbour hides.
  Seconds cost;

  /// Stages are unequal, by what two digits show, and equal ones would be no faster.
  [[nodiscard]] bool costs_nothing() const { return cost == Seconds(0) && imbalance >= 1.005; }
};

/// `makespan` is that of `order` with `times`. Durations of single units count by their stage's figure.
Balance balance_of(const Order& order, const StageTimes& times, Seconds makespan);

}  // namespace stepcast::sim
