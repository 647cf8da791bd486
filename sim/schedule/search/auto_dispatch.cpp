#include <algorithm>

#include "sim/schedule/search/auto_tries.h"
#include "sim/schedule/search/greedy_dispatch.h"

namespace stepcast::sim::greedy {
namespace {

/// What the rules are made of, in units of the work per micro-batch, an input gradient, all work.
constexpr double squeezes[] = {1.0, 0.8, 1.2, 0.9, 1.5, 0.7, 2.0};
constexpr double paces[] = {0, 1.0, 1.1, 0.9, 1.05, 1.2, 1.15, 1.3};
constexpr double patiences[] = {0, 0.5, 1, 0.25, 2};
constexpr double idles[] = {0, 0.4, 0.1, 0.2, 0.05};
constexpr int draws = 250;          ///< of rules before the best is changed
constexpr int most_failures = 400;  ///< changes in a row that help nothing

template <std::size_t n> double one_of(const double (&values)[n], int draw) {
  return values[static_cast<std::size_t>(draw) % n];
}

/// The most units that each stage of a layout has between forward and input gradient.
std::vector<int> observed_limits(const Problem& problem, const Layout& layout) {
  std::vector<int> now(static_cast<std::size_t>(problem.stages()), 0), most(now);
  for (const auto& rank : layout.ranks) {
    for (const Action& action : rank) {
      if (action.kind == ActionKind::weight_grad) continue;
      now[action.stage] += action.kind == ActionKind::forward ? 1 : -1;
      most[action.stage] = std::max(most[action.stage], now[action.stage]);
    }
  }
  return most;
}

}  // namespace

void Search::try_one_by_one() {
  DispatchRule rule;
  rule.in_flight.assign(static_cast<std::size_t>(problem_.stages()), 1);
  show(dispatch(problem_, rule), "dispatch");
}

void Search::try_dispatch() {
  const double unit = work_per_unit(), all = unit * problem_.units();
  const double input_grad = problem_.time(ActionKind::input_grad, 0);
  DispatchRule best;
  double best_makespan = not_known;
  const auto attempt = [&](const DispatchRule& rule) {
    std::optional<Layout> layout = dispatch(problem_, rule, best_makespan);
    const bool better = layout && layout->makespan < best_makespan;
    if (better) {
      best_makespan = layout->makespan;
      best = rule;
    }
    show(std::move(layout), "dispatch");
    return better;
  };
  const std::vector<int> observed = observed_limits(problem_, choice.best());
  for (int i = 0; i < draws && !done(); ++i) {
    const bool as_found = draw(3) == 0;
    attempt({.in_flight = as_found ? observed : shared_limits(problem_, one_of(squeezes, draw(7))),
        .patience = one_of(patiences, draw(5)) * input_grad,
        .idle_allowed = one_of(idles, draw(5)) * all,
        .pace = one_of(paces, draw(8)) * unit,
        .far_first = draw(2) == 0});
  }
  if (best.in_flight.empty()) return;
  for (int failed = 0; failed < most_failures && !done(); ++failed) {
    DispatchRule changed = best;
    for (int changes = 1 + draw(3); changes > 0; --changes) {
      int& limit = changed.in_flight[static_cast<std::size_t>(draw(problem_.stages()))];
      limit = std::clamp(limit + (draw(2) == 0 ? 1 : -1), 1, problem_.cap);
    }
    if (draw(4) == 0) changed.pace = (0.9 + 0.001 * draw(400)) * unit;
    if (draw(4) == 0) changed.idle_allowed = 0.001 * draw(400) * all;
    if (draw(4) == 0) changed.patience = 0.05 * draw(20) * input_grad;
    if (attempt(changed)) failed = 0;
  }
}

}  // namespace stepcast::sim::greedy
