#include <string>

#include "model/base/contains.h"
#include "sim/schedule/orders/fixed_kinds.h"
#include "sim/schedule/search/auto_tries.h"

namespace stepcast::sim::greedy {
namespace {

using enum ActionKind;

const std::vector<std::string>& kinds_on(orders::Placement placement) {
  static const std::vector<std::string> plain = {"zb-h1", "zb-h2"}, v = {"zb-v", "v-half", "v-min"};
  return placement == orders::Placement::v_shape ? v : plain;
}

Sequences sequences_of(const Order& order) {
  Sequences sequences;
  for (int r = 0; r < order.ranks; ++r) {
    const auto actions = order.of_rank(r);
    sequences.emplace_back(actions.begin(), actions.end());
  }
  return sequences;
}

}  // namespace

/// Weight gradients may delay what comes next where a rank has idled more than a share of all work.
void Search::play_both(const Sequences& sequences) {
  const double work = work_per_unit() * problem_.units();
  for (const double share : {0.0, 0.05, 0.2}) {
    if (done()) return;
    show(play(problem_, sequences, {.fill = true, .idle_allowed = share * work}, limit()), "other kind");
  }
}

void Search::try_kinds() {
  const std::vector<std::string>& ids = kinds_on(problem_.placement);
  for (const ScheduleKind& kind : fixed_kinds()) {
    if (!contains(ids, kind.id)) continue;
    if (done()) return;
    ScheduleSize size = problem_.size;
    size.chunks = 1;
    if (!check_size(kind, size)) continue;
    Layout layout;
    layout.ranks = sequences_of(kind.make(size));
    show(play(problem_, layout.ranks, {.fill = false}, limit()), kind.id.c_str());
    play_both(without_weights(layout));
  }
}

}  // namespace stepcast::sim::greedy
