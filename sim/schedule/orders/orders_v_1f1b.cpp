// V-1F1B: V placement with a fused backward. A block of six slots per micro-batch, one per forward and two per
// backward, is laid out along the way of a micro-batch and repeated; then every pass moves to earlier free slots as
// long as no rank holds more than the block's peak. Behaviour of sail-sg/zero-bubble, v1f1b.py.
#include <algorithm>
#include <array>

#include "sim/schedule/orders/orders.h"

namespace stepcast::sim::orders {
namespace {

constexpr int v_block_slots = 6;

/// In the order in which a micro-batch meets them.
enum FusedPass { out_near = 0, out_far = 1, back_far = 2, back_near = 3 };
constexpr int free_slot = -1, second_half = 4;  ///< of a backward, which takes two slots

/// Slots of micro-batch 0 by rank and pass. After every third backward the walk waits half a block, so that forwards
/// and backwards of all micro-batches interlock.
std::vector<std::array<int, 4>> v_1f1b_block(int p) {
  std::vector<std::array<int, 4>> block(static_cast<std::size_t>(p));
  int now = 0;
  for (int r = 0; r < p; ++r) block[r][out_near] = now++;
  for (int r = p - 1; r >= 0; --r) block[r][out_far] = now++;
  if (p % 3 == 0) now += 3;
  int in_row = (3 - (p + 2) % 3) % 3;
  const auto walk_back = [&](int r, FusedPass pass) {
    block[r][pass] = now;
    now += 2;
    if (++in_row == 3) {
      in_row = 0;
      now += 3;
    }
  };
  for (int r = 0; r < p; ++r) walk_back(r, back_far);
  for (int r = p - 1; r >= 0; --r) walk_back(r, back_near);
  return block;
}

/// The timetable while passes move forward in it.
class FusedTimetable {
 public:
  FusedTimetable(const std::vector<std::array<int, 4>>& block, int micro_batches)
      : ranks_(static_cast<int>(block.size())), micro_batches_(micro_batches) {
    int last = 0;
    for (const auto& slots : block) last = std::max(last, *std::ranges::max_element(slots));
    length_ = last + v_block_slots * (micro_batches - 1) + 2;
    slots_.assign(static_cast<std::size_t>(ranks_), std::vector<Cell>(static_cast<std::size_t>(length_)));
    held_.assign(static_cast<std::size_t>(ranks_), std::vector<int>(static_cast<std::size_t>(length_), 0));
    place_.assign(static_cast<std::size_t>(ranks_) * 4 * static_cast<std::size_t>(micro_batches), free_slot);
    for (int r = 0; r < ranks_; ++r) {
      for (int pass = 0; pass < 4; ++pass) {
        for (int u = 0; u < micro_batches; ++u) put(r, block[r][pass] + v_block_slots * u, {pass, u});
      }
      count_held(r);
    }
  }

  void compact() {
    for (int slot = 0; slot < length_; ++slot) {
      for (int rank = 0; rank < ranks_; ++rank) {
        const Cell cell = slots_[rank][slot];
        if (cell.pass == free_slot || cell.pass == second_half) continue;
        const int to = cell.pass <= out_far ? forward_target(rank, slot, cell) : backward_target(rank, slot, cell);
        if (to < slot) move(rank, slot, to, cell);
        place(rank, cell.pass, cell.unit) = to;
      }
    }
  }

  void write(OrderWriter& writer, int rank) const {
    for (const Cell& cell : slots_[rank]) {
      const int stage = cell.pass == out_near || cell.pass == back_near ? rank : 2 * ranks_ - 1 - rank;
      if (cell.pass == out_near || cell.pass == out_far) writer.forward(stage, cell.unit);
      if (cell.pass == back_near || cell.pass == back_far) writer.backward(stage, cell.unit);
    }
  }

 private:
  struct Cell {
    int pass = free_slot, unit = 0;
  };

  int& place(int rank, int pass, int unit) {
    return place_[static_cast<std::size_t>((rank * 4 + pass) * micro_batches_ + unit)];
  }

  void put(int rank, int slot, Cell cell) {
    slots_[rank][slot] = cell;
    if (cell.pass >= back_far) slots_[rank][slot + 1] = {second_half, cell.unit};
  }

  void count_held(int rank) {
    int now = 0;
    for (int slot = 0; slot < length_; ++slot) {
      const int pass = slots_[rank][slot].pass;
      if (pass == out_near || pass == out_far) ++now;
      if (pass == second_half) --now;
      held_[rank][slot] = now;
      peak_ = std::max(peak_, now);
    }
  }

  /// The first slot after the pass's inputs and its predecessor of the same kind.
  int earliest(int rank, const Cell& cell) {
    int after = cell.unit > 0 ? place(rank, cell.pass, cell.unit - 1) : free_slot;
    const bool comes_down = cell.pass == out_near || cell.pass == back_far;
    const int giver = rank + (comes_down ? -1 : 1);
    const int lasts = cell.pass >= back_far ? 1 : 0;
    if (giver >= 0 && giver < ranks_) {
      after = std::max(after, place(giver, cell.pass, cell.unit) + lasts);
    } else if (cell.pass > out_near) {
      after = std::max(after, place(rank, cell.pass - 1, cell.unit) + (cell.pass == back_near ? 1 : 0));
    }
    return after + 1;
  }

  [[nodiscard]] bool is_free(int rank, int slot) const { return slots_[rank][slot].pass == free_slot; }

  int backward_target(int rank, int slot, const Cell& cell) {
    int to = earliest(rank, cell);
    while (to < slot && !(is_free(rank, to) && is_free(rank, to + 1))) ++to;
    return to;
  }

  /// Back from its slot for as long as the rank has room for one more activation, then to the next free slot.
  int forward_target(int rank, int slot, const Cell& cell) {
    int first = earliest(rank, cell);
    while (first < slot && !is_free(rank, first)) ++first;
    int to = slot;
    while (to > first && held_[rank][to - 1] < peak_) --to;
    while (to < slot && !is_free(rank, to)) ++to;
    return to;
  }

  void move(int rank, int from, int to, Cell cell) {
    const bool backward = cell.pass >= back_far;
    slots_[rank][from] = {};
    if (backward) slots_[rank][from + 1] = {};
    put(rank, to, cell);
    const int late = backward ? 1 : 0;
    for (int slot = to + late; slot < from + late; ++slot) held_[rank][slot] += backward ? -1 : 1;
  }

  int ranks_, micro_batches_, length_ = 0, peak_ = 0;
  std::vector<std::vector<Cell>> slots_;
  std::vector<std::vector<int>> held_;  ///< activations after each slot
  std::vector<int> place_;              ///< by rank, pass and micro-batch, once settled
};

Order make_v_1f1b(const ScheduleSize& size) {
  FusedTimetable timetable(v_1f1b_block(size.ranks), size.micro_batches);
  timetable.compact();
  return write_ranks(size, Placement::v_shape, [&](OrderWriter& writer, int rank) { timetable.write(writer, rank); });
}

}  // namespace

ScheduleKind v_1f1b_kind() {
  return {.id = "v-1f1b",
      .name = "V-1F1B",
      .source = "Qi et al., arXiv 2405.15362; sail-sg/zero-bubble v1f1b.py",
      .own_chunks = 2,
      .make = make_v_1f1b};
}

}  // namespace stepcast::sim::orders
