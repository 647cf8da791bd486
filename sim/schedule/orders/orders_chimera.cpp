// Chimera: two copies of the model run against each other. Micro-batches come in units of p, half of them each way; a
// unit's timetable has slots of one forward or one backward, and the next unit enters when the first backward of this
// one is through. Li and Hoefler, arXiv 2107.06925; timetable of github.com/Shigangli/Chimera,
// chimera_pipeline_rank.py. For p = 8 that program lets further units in at every backward that ends, which breaks its
// tables from m = 24 on; here one unit follows every 2p slots.
#include "sim/schedule/orders/orders.h"

namespace stepcast::sim::orders {
namespace {

Expected<void> legal_chimera(const ScheduleSize& size) {
  TRY(even_ranks("chimera", size.ranks));
  return even_micro_batches("chimera", size.micro_batches);
}

/// Both passes of the u-th micro-batch of a direction over its stage `depth` (from where it enters).
void add_passes(std::vector<SlottedAction>& actions, int ranks, int depth, int stage, int u, int micro_batch) {
  const int half = ranks / 2;
  const int enters = 2 * ranks * (u / half) + 2 * (u % half);
  actions.push_back({enters + depth, {ActionKind::forward, stage, micro_batch}});
  actions.push_back({enters + 2 * ranks - 1 - depth, {ActionKind::backward, stage, micro_batch}});
}

Order make_chimera(const ScheduleSize& size) {
  const int p = size.ranks, each_way = size.micro_batches / 2;
  return write_ranks(size, Placement::both_ways, [&](OrderWriter& writer, int rank) {
    std::vector<SlottedAction> actions;
    for (int u = 0; u < each_way; ++u) {
      add_passes(actions, p, rank, rank, u, u);
      add_passes(actions, p, p - 1 - rank, p + p - 1 - rank, u, each_way + u);
    }
    write_slots(writer, std::move(actions));
  });
}

}  // namespace

ScheduleKind chimera_kind() {
  return {.id = "chimera",
      .name = "Chimera (two pipelines)",
      .source = "Li and Hoefler, arXiv 2107.06925; github.com/Shigangli/Chimera",
      .directions = 2,
      .legal = legal_chimera,
      .make = make_chimera};
}

}  // namespace stepcast::sim::orders
