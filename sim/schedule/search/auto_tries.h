// The ways in which the search of auto.h makes orders. Each draws on a common budget.
#pragma once

#include <cstdint>
#include <random>
#include <utility>

#include "sim/schedule/bound/bound.h"
#include "sim/schedule/search/greedy.h"
#include "sim/schedule/search/greedy_play.h"

namespace stepcast::sim::greedy {

StageTimes stage_times(const Problem& problem);

/// No order under the cap is shorter.
LowerBound bound_of(const Problem& problem);

/// Forwards, input gradients and weight gradients of a whole step.
inline std::int64_t layout_cost(const Problem& problem) {
  return 3 * std::int64_t{problem.stages()} * std::int64_t{problem.units()};
}

class Search {
 public:
  /// Goes on from `found`, until a makespan of `enough` or the effort is spent.
  Search(const Problem& problem, Choice found, double enough, std::int64_t effort, std::uint32_t seed)
      : choice(std::move(found)), problem_(problem), enough_(enough), effort_(effort), left_(effort), random_(seed) {}

  Choice choice;
  int tried = 0;

  void try_all();         ///< auto_tries.cpp: all of these in turn
  void try_kinds();       ///< auto_kinds.cpp: orders of fixed kinds on this placement, weight gradients placed anew
  void try_patterns();    ///< auto_patterns.cpp: repeating patterns, from the shortest period that the cap allows
  void try_dispatch();    ///< auto_dispatch.cpp: rules of dispatch over a grid, then changes of the best ones
  void try_one_by_one();  ///< auto_dispatch.cpp: a single unit in each stage, which passes under any cap
  void try_swaps();       ///< auto_swaps.cpp: the best order with neighbours swapped

  [[nodiscard]] bool done() const { return left_ <= 0 || reached(); }
  [[nodiscard]] std::int64_t spent() const { return effort_ - left_; }
  [[nodiscard]] bool reached() const { return !choice.empty() && choice.best().makespan <= enough_; }

 private:
  /// Layouts that take longer need not be finished.
  [[nodiscard]] double limit() const { return choice.empty() ? not_known : choice.best().makespan * (1 + 1e-9); }
  [[nodiscard]] double work_per_unit() const;
  bool show(std::optional<Layout> layout, const char* from);
  void play_both(const Sequences& without_weights);
  int draw(int below) { return static_cast<int>(random_() % static_cast<std::uint32_t>(below)); }

  const Problem& problem_;
  double enough_;
  std::int64_t effort_, left_;
  std::mt19937 random_;
};

}  // namespace stepcast::sim::greedy
