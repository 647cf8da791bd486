#include "sim/schedule/search/auto_tries.h"

#include <algorithm>

namespace stepcast::sim::greedy {

StageTimes stage_times(const Problem& problem) {
  StageTimes times;
  for (int s = 0; s < problem.stages(); ++s) {
    times.forward.emplace_back(problem.time(ActionKind::forward, s));
    times.input_grad.emplace_back(problem.time(ActionKind::input_grad, s));
    times.weight_grad.emplace_back(problem.time(ActionKind::weight_grad, s));
  }
  times.hop_forward.assign(static_cast<std::size_t>(problem.stages()) - 1, Seconds(problem.hop));
  times.hop_backward = times.hop_forward;
  return times;
}

LowerBound bound_of(const Problem& problem) {
  const BoundProblem asked{.ranks = problem.ranks(),
      .stages = problem.stages(),
      .units = problem.units(),
      .directions = 1,
      .rank_of = problem.rank_of,
      .memory_cap = std::vector<double>(static_cast<std::size_t>(problem.ranks()), problem.cap)};
  return lower_bound(asked, stage_times(problem));
}

double Search::work_per_unit() const {
  double most = 0;
  for (const auto& own : problem_.stages_of) {
    double work = 0;
    for (const int s : own) {
      for (const auto kind : {ActionKind::forward, ActionKind::input_grad, ActionKind::weight_grad}) {
        work += problem_.time(kind, s);
      }
    }
    most = std::max(most, work);
  }
  return most;
}

bool Search::show(std::optional<Layout> layout, const char* from) {
  left_ -= layout_cost(problem_);
  ++tried;
  return layout && choice.show(std::move(*layout), from);
}

void Search::try_all() {
  if (!done()) try_kinds();
  if (!done()) try_patterns();
  if (choice.empty()) try_one_by_one();
  while (!done() && !choice.empty()) {
    try_dispatch();
    try_swaps();
  }
}

}  // namespace stepcast::sim::greedy
