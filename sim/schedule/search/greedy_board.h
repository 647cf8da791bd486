// The board on which greedy schedulers lay out a pipeline: they put one action after the other at the end of a rank,
// and the board knows when it starts, what it leaves the rank with, and when its result arrives.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "sim/schedule/orders/orders.h"

namespace stepcast::sim::greedy {

constexpr double not_known = std::numeric_limits<double>::infinity();

/// One copy of a model on ranks; a rank's stages in rising order.
struct Problem {
  ScheduleSize size;
  orders::Placement placement = orders::Placement::looped;
  std::vector<std::int32_t> rank_of;
  std::vector<std::vector<std::int32_t>> stages_of;  ///< by rank
  std::vector<double> duration[4];                   ///< by ActionKind and virtual stage
  double hop = 0;
  int cap = 0;              ///< activations per rank
  bool half_freed = false;  ///< an input gradient frees half of its activation, not nothing
  [[nodiscard]] int ranks() const { return size.ranks; }
  [[nodiscard]] int stages() const { return static_cast<int>(rank_of.size()); }
  [[nodiscard]] int units() const { return size.micro_batches; }
  [[nodiscard]] double time(ActionKind kind, int stage) const { return duration[static_cast<int>(kind)][stage]; }
};

/// `cap` 0: as much as all forwards need.
Problem make_problem(const ScheduleSize& size, orders::Placement placement, const OrderTimes& times, int cap);

/// What a scheduler found.
struct Layout {
  std::vector<std::vector<Action>> ranks;
  double makespan = 0, span = 0;
  int peak = 0;  ///< most activations that a rank holds until W
};
Order to_order(const Problem& problem, const Layout& layout);

class Board {
 public:
  explicit Board(const Problem& problem);

  [[nodiscard]] const Problem& problem() const { return problem_; }
  /// Units of a stage that have been put.
  [[nodiscard]] int count(ActionKind kind, int stage) const { return count_[static_cast<int>(kind)][stage]; }
  [[nodiscard]] bool all_put(ActionKind kind, int stage) const { return count(kind, stage) == problem_.units(); }
  /// When the stage's next forward or input gradient has its input; not_known before that has been put.
  [[nodiscard]] double input(ActionKind kind, int stage) const;
  [[nodiscard]] double now(int rank) const { return rows_[rank].now; }
  /// Is there no room for another forward?
  [[nodiscard]] bool full(int rank) const { return rows_[rank].half_held + 2 > 2 * problem_.cap; }
  /// Weight gradients that a forward would have to wait for, and whether they are there.
  [[nodiscard]] std::optional<double> time_to_room(int rank) const;
  /// Idle since the rank's first action.
  [[nodiscard]] double idle(int rank) const { return rows_[rank].idle; }
  [[nodiscard]] double most_idle() const { return most_idle_; }
  [[nodiscard]] double start(int rank) const { return rows_[rank].start; }
  [[nodiscard]] bool weight_pending(int rank) const { return rows_[rank].weights.size() > rows_[rank].weights_put; }
  /// How long the rank's oldest pending weight gradient lasts.
  [[nodiscard]] double weight_time(int rank) const;

  /// The stage's next unit, as soon as rank and input allow.
  void put(ActionKind kind, int stage);
  void put_weight(int rank);
  void put_all_weights(int rank);
  /// Makes room for a forward by weight gradients; false if there are too few.
  bool make_room(int rank);
  /// Weight gradients that end before `until`.
  void fill(int rank, double until);
  [[nodiscard]] Layout take();

 private:
  struct Row {
    double now = 0, start = -1, idle = 0;
    int half_held = 0;  ///< in halves of an activation
    int held = 0;       ///< until W, whatever an input gradient frees
    std::size_t weights_put = 0;
    std::vector<Action> weights;  ///< whose input gradients are done, in that order
  };
  [[nodiscard]] std::size_t slot(int stage, int unit) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(problem_.units()) +
           static_cast<std::size_t>(unit);
  }
  void add(const Action& action, double ready);

  const Problem& problem_;
  std::vector<std::int32_t> count_[4];
  std::vector<double> end_[2];  ///< of forwards and input gradients, by slot
  std::vector<Row> rows_;
  Layout layout_;
  double most_idle_ = 0;
};

}  // namespace stepcast::sim::greedy
