#include <algorithm>
#include <cmath>

#include "sim/schedule/search/auto_tries.h"

namespace stepcast::sim::greedy {
namespace {

constexpr int most_failed_swaps = 600;

bool alike(const Action& a, const Action& b) { return a.kind == b.kind && a.stage == b.stage; }

/// Swaps the two actions at `at`, and those of the same kinds and stages wherever they follow each other on the rank:
/// in an order that repeats, once per period. Only between two units or two stages that do not feed each other.
bool swap_everywhere(std::vector<Action>& rank, std::size_t at, std::size_t from, std::size_t to) {
  const Action first = rank[at], second = rank[at + 1];
  if (alike(first, second)) return false;
  bool swapped = false;
  for (std::size_t i = from; i + 1 < to; ++i) {
    if (!alike(rank[i], first) || !alike(rank[i + 1], second)) continue;
    if (rank[i].micro_batch == rank[i + 1].micro_batch && rank[i].stage == rank[i + 1].stage) continue;
    std::swap(rank[i], rank[i + 1]);
    swapped = true;
    ++i;
  }
  return swapped;
}

}  // namespace

/// Swaps neighbours in the best order's forwards and input gradients, over a stretch of one rank, and keeps what helps.
void Search::try_swaps() {
  if (choice.empty()) return;
  const double work = work_per_unit() * problem_.units();
  Sequences best = without_weights(choice.best());
  double idle_allowed = 0, makespan = choice.best().makespan;
  for (int failed = 0; failed < most_failed_swaps && !done(); ++failed) {
    Sequences changed = best;
    for (int changes = 1 + draw(3); changes > 0; --changes) {
      auto& rank = changed[static_cast<std::size_t>(draw(problem_.ranks()))];
      const auto at = static_cast<std::size_t>(draw(static_cast<int>(rank.size()) - 1));
      const bool everywhere = draw(2) == 0;
      swap_everywhere(rank, at, everywhere ? 0 : at, everywhere ? rank.size() : at + 2);
    }
    const double idle = draw(3) == 0 ? work * 0.01 * draw(40) : idle_allowed;
    auto layout = play(problem_, changed, {.fill = true, .idle_allowed = idle}, makespan * (1 + 1e-9));
    const bool as_good = layout.has_value() && layout->makespan <= makespan * (1 + 1e-9);
    if (as_good) {
      if (layout->makespan < makespan * (1 - 1e-9)) failed = 0;
      makespan = std::min(makespan, layout->makespan);
      best.swap(changed);
      idle_allowed = idle;
    }
    show(std::move(layout), "swaps");
  }
}

}  // namespace stepcast::sim::greedy
