// Kinds that schedule by the times at hand: the greedy zero-bubble family under a memory cap, on one stage per rank and
// on a V. Among what the family finds, the least span counts first, as the paper has it (Qi et al., arXiv 2401.10241);
// what is no worse in span and makespan than that and better in makespan is taken instead.
#pragma once

#include "sim/schedule/greedy_board.h"

namespace stepcast::greedy {

/// Keeps the best of the layouts that it is shown.
class Choice {
 public:
  /// A scheduler that sets the mark: others must not be worse in span or makespan.
  void show_mark(Layout layout, const char* from);
  /// Taken if it is better in makespan or, at equal makespan, in span, and no worse in either than the mark, if one is
  /// set. Says whether it was.
  bool show(Layout layout, const char* from);
  [[nodiscard]] bool empty() const { return !best_; }
  [[nodiscard]] const Layout& best() const { return *best_; }
  [[nodiscard]] const std::string& from() const { return from_; }

 private:
  void take(Layout layout, const char* from);
  std::optional<Layout> best_;
  std::string from_;
  bool marked_ = false;
};

/// All round rules that suit the placement. Empty if the cap leaves them no room.
Choice try_family(const Problem& problem);

}  // namespace stepcast::greedy

namespace stepcast::orders {

/// zb-1p, zb-2p, zb-auto, zb-v-auto: rows of the schedule table.
std::vector<ScheduleKind> timed_kinds();

}  // namespace stepcast::orders
