#include <algorithm>

#include "sim/schedule/search/auto_tries.h"
#include "sim/schedule/search/greedy_pattern.h"

namespace stepcast::sim::greedy {
namespace {

constexpr double longest_period = 1.5;  ///< of the work per unit; beyond, the dispatch rules do better
constexpr double next_period = 1.01;
constexpr double beyond_first = 1.04;    ///< periods worth a try once the shortest with a pattern is known
constexpr double share_of_effort = 0.4;  ///< the rest is for what comes after
constexpr int draws_per_period = 600, patterns_per_period = 3;

}  // namespace

/// Waits are drawn per leg of a unit's way over the ranks, so that a pattern moves evenly from rank to rank.
void Search::try_patterns() {
  const int ranks = problem_.ranks(), legs = 2 * problem_.stages() / ranks;
  const double work = work_per_unit();
  const auto reserve = static_cast<std::int64_t>((1 - share_of_effort) * static_cast<double>(effort_));
  const auto spent = [&] { return done() || left_ < reserve; };
  double first = 0;
  for (double period = work; period < longest_period * work && !spent(); period *= next_period) {
    if (first > 0 && period > beyond_first * first) break;
    int fitting = 0;
    for (int draws = 0; draws < draws_per_period && fitting < patterns_per_period && !spent(); ++draws) {
      PatternRule rule{period, std::vector<double>(static_cast<std::size_t>(legs * ranks), 0)};
      for (int leg = 0; leg < legs; ++leg) {
        const double unit = problem_.duration[draw(2) == 0 ? 0 : 2 + draw(2)][static_cast<std::size_t>(draw(ranks))];
        const double wait = draw(2) == 0 ? 0 : draw(3) * unit / (1 + draw(2));
        const double turn = leg == 0 || draw(2) == 0 ? 0 : draw(1000) * 0.001 * period;
        for (int step = 0; step < ranks; ++step) rule.wait[leg * ranks + step] = step == 0 ? turn : wait;
      }
      left_ -= 3 * problem_.stages();
      const auto pattern = lay_pattern(problem_, rule);
      if (!pattern || *std::max_element(pattern->peak.begin(), pattern->peak.end()) > problem_.cap) continue;
      ++fitting;
      if (first == 0) first = period;
      show(play(problem_, unroll(problem_, *pattern, true), {.fill = false}, limit()), "pattern");
      play_both(unroll(problem_, *pattern, false));
    }
  }
}

}  // namespace stepcast::sim::greedy
