// Kinds that schedule by the times at hand: the greedy zero-bubble family under a memory cap, on one stage per rank and
// on a V. For zb-1p and zb-2p the least span counts first, as the paper has it (Qi et al., arXiv 2401.10241), for the
// kinds that search the least makespan.
#pragma once

#include <functional>

#include "sim/schedule/search/greedy_board.h"

namespace stepcast::greedy {

/// Shorter, or as long and with less span; equal but for the order in which times were summed is as long.
bool better(const Layout& a, const Layout& b);

/// Keeps the best of the layouts that it is shown.
class Choice {
 public:
  /// Taken if it is better. Says whether it was.
  bool show(Layout layout, const char* from);
  [[nodiscard]] bool empty() const { return !best_; }
  [[nodiscard]] const Layout& best() const { return *best_; }
  [[nodiscard]] const std::string& from() const { return from_; }

 private:
  std::optional<Layout> best_;
  std::string from_;
};

/// All round rules that suit the placement; nothing is shown where the cap leaves them no room.
void try_rounds(const Problem& problem, const std::function<void(Layout)>& show);

}  // namespace stepcast::greedy

namespace stepcast::orders {

/// zb-1p, zb-2p, zb-auto, zb-v-auto: rows of the schedule table.
std::vector<ScheduleKind> timed_kinds();

}  // namespace stepcast::orders
