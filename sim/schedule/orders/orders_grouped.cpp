// Grouped interleaving of PipeOffload (Wan et al., arXiv 2503.01328): chunks as in interleaved 1F1B, but the first
// backward starts as early as the building block allows, so that groups smaller than p hold fewer activations. The
// building block is that of sail-sg/zero-bubble, group_interleaved_1f1b.py: three slots (F, I, W) per group member.
#include <numeric>

#include <fmt/format.h>

#include "sim/schedule/orders/orders.h"

namespace stepcast::sim::orders {
namespace {

int half_of(int ranks) { return (ranks + 1) / 2; }

int own_group(const ScheduleSize& size) { return size.group > 0 ? size.group : half_of(size.ranks); }

Expected<void> legal_grouped(const ScheduleSize& size) {
  const int group = own_group(size);
  if (group >= half_of(size.ranks) && group <= size.ranks) return {};
  return fail("group", fmt::format("gis on {} ranks has no group of {}", size.ranks, group),
      fmt::format("group {} to {}", half_of(size.ranks), size.ranks));
}

/// Slots of the building block. A chunk starts `chunk_step` after the one before, plus a group's work whenever the
/// slots modulo the block's length would come round to those of the first chunk.
struct GroupedBlock {
  explicit GroupedBlock(const ScheduleSize& size)
      : group(own_group(size)), ranks(size.ranks), chunks(size.chunks), length(3 * group * size.chunks) {
    const int least = (half_of(ranks) + group - 1) / group;
    chunk_step = 3 * least * group;
    round = chunks / std::gcd(chunks, least);
  }
  [[nodiscard]] int forward(int rank, int chunk, int micro_batch) const { return rank + visit(chunk, micro_batch); }
  /// `visited`: chunks that the micro-batch has passed on its way back.
  [[nodiscard]] int input_grad(int rank, int visited, int micro_batch) const {
    return forward(rank, chunks - 1, 0) + 3 * (ranks - 1 - rank) + 1 + visit(visited, micro_batch);
  }
  [[nodiscard]] int visit(int chunk, int micro_batch) const {
    const int chunk_start = chunk_step * chunk + 3 * group * (chunk / round);
    return chunk_start + 3 * (micro_batch % group) + length * (micro_batch / group);
  }
  int group, ranks, chunks, length;
  int chunk_step = 0, round = 1;
};

Order make_grouped(const ScheduleSize& size) {
  const GroupedBlock block(size);
  return write_ranks(size, Placement::looped, [&](OrderWriter& writer, int rank) {
    std::vector<SlottedAction> actions;
    for (int chunk = 0; chunk < size.chunks; ++chunk) {
      const int stage = chunk * size.ranks + rank;
      for (int u = 0; u < size.micro_batches; ++u) {
        const int back = block.input_grad(rank, size.chunks - 1 - chunk, u);
        actions.push_back({block.forward(rank, chunk, u), {ActionKind::forward, stage, u}});
        actions.push_back({back, {ActionKind::input_grad, stage, u}});
        actions.push_back({back + 1, {ActionKind::weight_grad, stage, u}});
      }
    }
    write_slots(writer, std::move(actions));
  });
}

}  // namespace

std::vector<ScheduleKind> grouped_kinds() {
  return {{.id = "gis",
      .name = "Grouped interleaving (PipeOffload)",
      .source = "Wan et al., arXiv 2503.01328; sail-sg/zero-bubble group_interleaved_1f1b.py",
      .takes_chunks = true,
      .takes_group = true,
      .splits_backward = true,
      .legal = legal_grouped,
      .make = make_grouped}};
}

}  // namespace stepcast::sim::orders
