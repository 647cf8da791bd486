#include "sim/schedule/orders/orders.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

namespace stepcast::sim::orders {
namespace {

int rank_under(Placement placement, int stage, int ranks) {
  if (placement == Placement::looped || stage < ranks) return stage % ranks;
  return 2 * ranks - 1 - stage;  // the way back of a V, and of the second copy
}

}  // namespace

OrderWriter::OrderWriter(const ScheduleSize& size, Placement placement) {
  order_.ranks = size.ranks;
  order_.chunks = placement == Placement::looped ? size.chunks : 2;
  order_.micro_batches = size.micro_batches;
  order_.slices = size.slices;
  order_.directions = placement == Placement::both_ways ? 2 : 1;
  const int stages = size.ranks * order_.chunks;
  order_.actions.reserve(
      std::size_t{2} * static_cast<std::size_t>(stages) * static_cast<std::size_t>(order_.units() / order_.directions));
  order_.begin.reserve(static_cast<std::size_t>(size.ranks) + 1);
  order_.begin.push_back(0);
  for (int stage = 0; stage < stages; ++stage) order_.rank_of.push_back(rank_under(placement, stage, size.ranks));
}

void write_slots(OrderWriter& writer, std::vector<SlottedAction> actions) {
  std::ranges::sort(actions, [](const SlottedAction& a, const SlottedAction& b) { return a.slot < b.slot; });
  for (std::size_t i = 0; i < actions.size(); ++i) {
    assert(i == 0 || actions[i - 1].slot < actions[i].slot);
    writer.add(actions[i].action);
  }
}

Expected<void> at_least_micro_batches(const char* kind, int micro_batches, int least, const char* besides) {
  if (micro_batches >= least) return {};
  return fail("micro-batches", fmt::format("{} needs {} micro-batches here, not {}", kind, least, micro_batches),
      fmt::format("micro-batches {} or more{}", least, besides));
}

Expected<void> even_ranks(const char* kind, int ranks) {
  if (ranks % 2 == 0) return {};
  return fail("ranks", fmt::format("{} runs a copy of the model each way, which {} ranks cannot share", kind, ranks),
      ranks > 1 ? fmt::format("ranks {} or {}", ranks - 1, ranks + 1) : "ranks 2");
}

Expected<void> even_micro_batches(const char* kind, int micro_batches) {
  if (micro_batches % 2 == 0) return {};
  return fail("micro-batches", fmt::format("{} sends half of the micro-batches each way, not {}", kind, micro_batches),
      micro_batches > 1 ? fmt::format("micro-batches {} or {}", micro_batches - 1, micro_batches + 1)
                        : "micro-batches 2");
}

}  // namespace stepcast::sim::orders
