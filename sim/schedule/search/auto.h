// Searches for the best order under a memory cap: the greedy family, orders of other kinds, repeating patterns, and
// improvement of what these find. Says how far the result is from the lower bound. The same input gives the same order.
// In small steps what other caps lead to is tried as well, so that more memory does not make an order longer.
#pragma once

#include <cstdint>
#include <string>

#include "sim/schedule/bound/bound.h"
#include "sim/schedule/search/greedy.h"

namespace stepcast::sim {

struct AutoOptions {
  /// How much is tried beyond what the auto kinds try: actions laid out in all tries together. About 15 million per
  /// second on one core.
  std::int64_t effort = 4'000'000;
  /// Enough when the makespan is this near the lower bound.
  double gap = 1e-4;
  std::uint32_t seed = 1;
};

struct AutoOrder {
  Order order;
  Seconds makespan, span;
  LowerBound bound;  ///< under the cap that was asked for
  std::string from;  ///< which way of making orders found it
  int tried = 0;     ///< orders laid out
  [[nodiscard]] double gap() const { return makespan.value() / bound.makespan.value() - 1; }
};

/// On one stage per rank if `times` has one entry per rank, on a V (stages r and 2p-1-r) if it has two. Refuses a cap
/// with which no unit passes, and times of another length.
Expected<AutoOrder> find_order(const ScheduleSize& size, const OrderTimes& times, const AutoOptions& options = {});

namespace greedy {

struct Found {
  Choice choice;
  LowerBound bound;
  int tried = 0;
};
/// What the auto kinds try (auto_levels.cpp). In small steps nothing longer is found under a larger cap, nor anything
/// longer than what the rounds of greedy_rounds.h find with no more memory, whatever cap they are given.
Found search(const Problem& problem);
/// Goes on from there under the cap itself.
Found search(const Problem& problem, const AutoOptions& options);

}  // namespace greedy
}  // namespace stepcast::sim
