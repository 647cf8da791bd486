// What the greedy schedulers share: which of two layouts is better, and all their rounds on one problem.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sim/schedule/search/greedy_board.h"

namespace stepcast::sim::greedy {

/// Equal but for the order in which times were summed.
inline constexpr double same = 1e-9;
inline bool less(double a, double b) { return a < b - same * b; }

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

}  // namespace stepcast::sim::greedy
