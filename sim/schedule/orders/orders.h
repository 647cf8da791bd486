// The generators behind the rows of the schedule table (fixed_kinds.cpp), one file per family, and what they write
// with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/schedule/schedule_kind.h"

namespace stepcast::sim::orders {

/// Where the stages lie.
enum class Placement {
  looped,    ///< stage s on rank s % p
  v_shape,   ///< stages r and 2p-1-r on rank r
  both_ways  ///< two copies: stage s of the first on rank s, of the second (p+s) on rank p-1-s
};

/// Fills an Order rank by rank.
class OrderWriter {
 public:
  explicit OrderWriter(const ScheduleSize& size, Placement placement = Placement::looped);
  void forward(int stage, int unit) { add(ActionKind::forward, stage, unit); }
  void backward(int stage, int unit) { add(ActionKind::backward, stage, unit); }
  void input_grad(int stage, int unit) { add(ActionKind::input_grad, stage, unit); }
  void weight_grad(int stage, int unit) { add(ActionKind::weight_grad, stage, unit); }
  void add(const Action& action) { order_.actions.push_back(action); }
  /// The last action written runs at once with the next.
  void with_next() { order_.actions.back().with_next = true; }
  void end_rank() { order_.begin.push_back(static_cast<std::int32_t>(order_.actions.size())); }
  Order take() { return std::move(order_); }

 private:
  void add(ActionKind kind, int stage, int unit) { add(Action{kind, stage, unit}); }
  Order order_;
};

/// The order in which write(writer, rank) writes each rank.
template <class Write> Order write_ranks(const ScheduleSize& size, Placement placement, const Write& write) {
  OrderWriter writer(size, placement);
  for (int rank = 0; rank < size.ranks; ++rank) {
    write(writer, rank);
    writer.end_rank();
  }
  return writer.take();
}

/// Each rank runs the first `ahead(rank)` of its units forward, then one forward and one backward in turn, then the
/// backwards left. `forward` and `backward` take the writer, the rank and the unit's place in the rank's order.
template <class Ahead, class Forward, class Backward>
Order run_ahead(
    const ScheduleSize& size, int units, const Ahead& ahead, const Forward& forward, const Backward& backward) {
  return write_ranks(size, Placement::looped, [&](OrderWriter& writer, int rank) {
    const int warm_up = std::min(ahead(rank), units);
    for (int i = 0; i < warm_up; ++i) forward(writer, rank, i);
    for (int i = 0; i < units; ++i) {
      if (warm_up + i < units) forward(writer, rank, warm_up + i);
      backward(writer, rank, i);
    }
  });
}

/// One action and the slot of a timetable in which it is meant to run; a rank's order is that of its slots.
struct SlottedAction {
  int slot = 0;
  Action action;
};
/// Writes a rank from its timetable, in any order given; no two actions may share a slot.
void write_slots(OrderWriter& writer, std::vector<SlottedAction> actions);

/// Refuses micro-batches below `least`; the kind's id is named. `besides` follows the hint.
Expected<void> at_least_micro_batches(const char* kind, int micro_batches, int least, const char* besides = "");
Expected<void> even_ranks(const char* kind, int ranks);
Expected<void> even_micro_batches(const char* kind, int micro_batches);

/// PyTorch's rule: m // p rounds (at least one) of equal size. The size, and a refusal where they do not divide m.
int group_of_rounds(int ranks, int micro_batches);
Expected<void> equal_rounds(const char* kind, int ranks, int micro_batches);

/// Activations that a rank with several chunks holds at most: `ahead` before its first backward, beside those of the
/// groups that wait in its other chunks.
std::int32_t chunk_peak(const ScheduleSize& size, int group, int ahead);

// Rows of the table, one function per family, in the file of its name.
std::vector<ScheduleKind> flush_kinds();        ///< orders_flush.cpp: gpipe, 1f1b, eager-1f1b
std::vector<ScheduleKind> interleaved_kinds();  ///< orders_interleaved.cpp: two interleaved 1f1b, looped-bfs
std::vector<ScheduleKind> grouped_kinds();      ///< orders_grouped.cpp: gis
std::vector<ScheduleKind> zero_bubble_kinds();  ///< orders_zero_bubble.cpp: zb-h1, interleaved-zb, zb-h2, zb-v
std::vector<ScheduleKind> v_pattern_kinds();    ///< orders_v_pattern.cpp: v-half, v-min; orders_v_1f1b.cpp: v-1f1b
std::vector<ScheduleKind> both_ways_kinds();    ///< orders_dualpipe.cpp: two; orders_chimera.cpp: chimera
std::vector<ScheduleKind> sliced_kinds();       ///< orders_flush.cpp: seq-1f1b, terapipe

ScheduleKind v_1f1b_kind();
ScheduleKind chimera_kind();

}  // namespace stepcast::sim::orders
