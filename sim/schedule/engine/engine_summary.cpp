// The figures of a whole run: makespan and span, each rank's clock, bubbles and messages.
#include <algorithm>

#include "sim/schedule/engine/engine_parts.h"

namespace stepcast::sim {
namespace {

/// Both ways: what goes ahead over a hop comes back as a gradient.
std::int64_t count_messages(const Order& order) {
  const std::int64_t units = order.units() / order.directions;  // that pass one stage
  std::int64_t hops = 0;
  for (int stage = 0; stage < order.stages(); ++stage) {
    const int after = order.after(stage);
    if (after >= 0 && order.rank_of[after] != order.rank_of[stage]) ++hops;
  }
  return 2 * hops * units;
}

double idle_share(const std::vector<Seconds>& busy, Seconds length) {
  Seconds total;
  for (const Seconds rank : busy) total += rank;
  const Seconds room = static_cast<double>(busy.size()) * length;
  return room > Seconds() ? 1 - total / room : 0;
}

}  // namespace

void engine::summarise(const Order& order, Timeline& out) {
  const auto ranks = static_cast<std::size_t>(order.ranks);
  out.makespan = out.span = Seconds();
  out.rank_start.assign(ranks, Seconds());
  out.rank_end.assign(ranks, Seconds());
  for (int rank = 0; rank < order.ranks; ++rank) {
    const std::int32_t first = order.begin[rank], last = order.begin[rank + 1] - 1;
    if (last < first) continue;
    out.rank_start[rank] = out.start[first];
    out.rank_end[rank] = out.end[last];
    out.makespan = std::max(out.makespan, out.end[last]);
    out.span = std::max(out.span, out.end[last] - out.start[first]);
  }
  out.messages = count_messages(order);
}

double Timeline::bubble_fraction() const { return idle_share(busy, makespan); }

double Timeline::bubble_fraction_span() const { return idle_share(busy, span); }

}  // namespace stepcast::sim
