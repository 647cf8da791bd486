// All orders of a tiny pipeline of one stage per rank, in which units keep their turn: what an optimum is held against.
#pragma once

#include <algorithm>
#include <functional>

#include "sim/schedule/engine/engine.h"

namespace stepcast::sim::every_order {

/// Calls `visit` with each sequence of F, I and W of m units on one stage that never holds more than `cap`.
inline void of_one_rank(int stage, int m, int cap, const std::function<void(const std::vector<Action>&)>& visit) {
  std::vector<Action> actions;
  std::function<void(int, int, int)> grow = [&](int f, int i, int w) {
    if (w == m) return visit(actions);
    const auto with = [&](ActionKind kind, int unit, int next_f, int next_i, int next_w) {
      actions.push_back({kind, stage, unit});
      grow(next_f, next_i, next_w);
      actions.pop_back();
    };
    if (f < m && f - w < cap) with(ActionKind::forward, f, f + 1, i, w);
    if (i < f) with(ActionKind::input_grad, i, f, i + 1, w);
    if (w < i) with(ActionKind::weight_grad, w, f, i, w + 1);
  };
  grow(0, 0, 0);
}

struct Optimum {
  double makespan = 1e300, span = 1e300;  ///< each the least, not of one order
  int orders = 0;
};

/// Of two ranks.
inline Optimum of_two_ranks(int m, int cap, const StageTimes& times) {
  std::vector<std::vector<Action>> first, second;
  of_one_rank(0, m, cap, [&](const auto& actions) { first.push_back(actions); });
  of_one_rank(1, m, cap, [&](const auto& actions) { second.push_back(actions); });
  Optimum optimum;
  EngineWorkspace workspace;
  Timeline timeline;
  Order order{.ranks = 2, .micro_batches = m, .actions = {}, .begin = {0, 3 * m, 6 * m}, .rank_of = {0, 1}};
  order.actions.resize(static_cast<std::size_t>(6 * m));
  for (const auto& a : first) {
    std::copy(a.begin(), a.end(), order.actions.begin());
    for (const auto& b : second) {
      std::copy(b.begin(), b.end(), order.actions.begin() + 3 * m);
      if (!run(order, times, timeline, workspace)) continue;
      optimum.makespan = std::min(optimum.makespan, timeline.makespan.value());
      optimum.span = std::min(optimum.span, timeline.span.value());
      ++optimum.orders;
    }
  }
  return optimum;
}

}  // namespace stepcast::sim::every_order
