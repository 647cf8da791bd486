#include "sim/streams/layout.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/streams/walk.h"

namespace stepcast::sim {

namespace {

constexpr double layout_rounding = 1e-9;  // of a list
constexpr double part_rounding = 1e-13;   // the last digits of a time in a part

/// A wait ends with its move, which is written down before it; a block's move comes again in each of its copies.
void join_waits(ListLayout& list) {
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    LaidItem& wait = list.items[i];
    if (wait.kind != LaidKind::wait) continue;
    for (std::size_t j = i; j-- > 0 && wait.waits_for < 0;) {
      const LaidItem& move = list.items[j];
      const bool same = move.kind == LaidKind::move && move.block == wait.block && move.item == wait.item;
      if (same && std::abs(move.end - wait.end) <= layout_rounding * list.seconds) wait.waits_for = static_cast<int>(j);
    }
  }
}

/// What was moved in time begins where the one before it ends but for the last digits.
void tile(ListLayout& list) {
  double at = 0;
  std::map<std::pair<int, bool>, double> moved;  // until when, by tier and whether compute waits
  for (LaidItem& item : list.items) {
    if (item.kind == LaidKind::move) {
      double& until = moved[{item.tier, item.blocking}];
      if (item.start < until && until - item.start <= layout_rounding * list.seconds) item.start = until;
      item.end = until = std::max(item.start, item.end);
      continue;
    }
    item.start = at;
    at = item.end;
  }
  list.seconds = at;
}

/// The time of a part: that of its own kernels and waits, the rest taken out.
class PartClock {
 public:
  PartClock(const ListLayout& list, bool weight_grad) {
    for (const LaidItem& item : list.items) {
      if (item.kind == LaidKind::move || (item.pass == Pass::weight_grad) != weight_grad) continue;
      stretches_.push_back({item.start, item.end, now_});
      now_ += item.end - item.start;
    }
  }
  [[nodiscard]] double at(double time) const {
    const auto later = std::upper_bound(stretches_.begin(), stretches_.end(), time,
        [](double value, const Stretch& stretch) { return value < stretch.start; });
    if (later == stretches_.begin()) return 0;
    const Stretch& stretch = *std::prev(later);
    return stretch.before + std::min(time, stretch.end) - stretch.start;
  }
  [[nodiscard]] double seconds() const { return now_; }

 private:
  struct Stretch {
    double start, end, before;
  };
  std::vector<Stretch> stretches_;
  double now_ = 0;
};

}  // namespace

ChunkLayout chunk_layout(
    const Program& program, const std::vector<BlockPrices>& prices, const Chunk& chunk, const CostModel& cost) {
  const WalkLists lists = walk_lists(program, prices);
  ChunkLayout layout = walk_for(lists, cost).layout(chunk, program, prices);
  for (ListLayout* list : {&layout.forward, &layout.backward}) {
    join_waits(*list);
    tile(*list);
  }
  return layout;
}

ListLayout backward_part(const ListLayout& backward, bool weight_grad) {
  const PartClock clock(backward, weight_grad);
  ListLayout part;
  part.seconds = clock.seconds();
  std::vector<int> position(backward.items.size(), -1);
  for (std::size_t i = 0; i < backward.items.size(); ++i) {
    LaidItem item = backward.items[i];
    // rounding would leave it some time
    if (item.kind != LaidKind::move && (item.pass == Pass::weight_grad) != weight_grad) continue;
    item.start = clock.at(item.start);
    item.end = clock.at(item.end);
    if (item.end - item.start <= part_rounding * part.seconds) continue;  // of the other part
    position[i] = static_cast<int>(part.items.size());
    part.items.push_back(item);
  }
  for (LaidItem& item : part.items)
    if (item.waits_for >= 0) item.waits_for = position[static_cast<std::size_t>(item.waits_for)];
  tile(part);
  return part;
}

}  // namespace stepcast::sim
