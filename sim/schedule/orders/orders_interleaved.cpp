// Several chunks per rank: rank r holds the stages r, p+r, 2p+r, ... In interleaved 1F1B blocks of `group`
// micro-batches pass through one chunk after the other; Megatron-LM calls the group
// `microbatch_group_size_per_vp_stage`. Looped breadth-first passes all of them through a chunk before the next.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "sim/schedule/orders/orders.h"

namespace stepcast::sim::orders {
namespace {

struct InterleavedUnit {
  int micro_batch = 0, chunk = 0;
};

int group_of(const ScheduleSize& size) { return size.group > 0 ? size.group : size.ranks; }

/// A short last block must still fill the pipeline, else a rank would wait for an input that is behind it.
bool fills_ranks(int ranks, int group, int micro_batches) {
  const int rest = micro_batches % group;
  return ranks <= group && group <= micro_batches && (rest == 0 || rest >= ranks);
}

/// "8 or 12": the nearest legal counts of micro-batches below and above.
std::string near_micro_batches(int ranks, int group, int micro_batches) {
  int below = micro_batches, above = std::max(micro_batches, group);
  while (below >= group && !fills_ranks(ranks, group, below)) --below;
  while (!fills_ranks(ranks, group, above)) ++above;
  return below >= group ? fmt::format("{} or {}", below, above) : fmt::format("{}", above);
}

/// The legal group nearest to `group` for this many micro-batches; 0 when there is none.
int near_group(int ranks, int group, int micro_batches) {
  for (int step = 0; step <= std::max(group, micro_batches); ++step) {
    if (group - step >= ranks && fills_ranks(ranks, group - step, micro_batches)) return group - step;
    if (fills_ranks(ranks, group + step, micro_batches)) return group + step;
  }
  return 0;
}

/// The order in which a rank takes its units forward: block by block, in a block chunk by chunk.
std::vector<InterleavedUnit> unit_table(const ScheduleSize& size) {
  std::vector<InterleavedUnit> table;
  table.reserve(static_cast<std::size_t>(size.micro_batches) * static_cast<std::size_t>(size.chunks));
  const int group = group_of(size);
  for (int first = 0; first < size.micro_batches; first += group) {
    const int last = std::min(first + group, size.micro_batches);
    for (int chunk = 0; chunk < size.chunks; ++chunk) {
      for (int u = first; u < last; ++u) table.push_back({u, chunk});
    }
  }
  return table;
}

/// Megatron refuses one chunk here, and has the rule for the short last block. It also refuses one rank, where the
/// order is whole all the same.
Expected<void> legal_interleaved(const ScheduleSize& size) {
  const int p = size.ranks, m = size.micro_batches, group = group_of(size);
  if (size.chunks < 2)
    return fail(
        "chunks", "interleaved-1f1b with 1 chunk per rank is not interleaved", "chunks 2 or more, or schedule 1f1b");
  if (fills_ranks(p, group, m)) return {};
  const int other = near_group(p, group, m);
  if (group < p)
    return fail("group", fmt::format("group {} is smaller than {} ranks", group, p),
        other > 0 ? fmt::format("group {}", other)
                  : fmt::format("leave it out, and micro-batches {}: no group of {} fills the ranks", p, m));
  return fail("micro-batches",
      fmt::format("interleaved-1f1b on {} ranks cannot run {} micro-batches in groups of {}: a last group of "
                  "{} would not fill the ranks",
          p, m, group, m % group),
      fmt::format(
          "micro-batches {}{}", near_micro_batches(p, group, m), other > 0 ? fmt::format(", or group {}", other) : ""));
}

/// Rank r runs k = 2(p-1-r) + (v-1)g units ahead, then [F, B] pairs, then the backwards left. Backward takes the same
/// table with the chunks from last to first.
Order make_interleaved_1f1b(const ScheduleSize& size) {
  const std::vector<InterleavedUnit> table = unit_table(size);
  const auto ahead = [&](int rank) { return 2 * (size.ranks - 1 - rank) + (size.chunks - 1) * group_of(size); };
  const auto forward = [&](OrderWriter& writer, int rank, int i) {
    writer.forward(table[i].chunk * size.ranks + rank, table[i].micro_batch);
  };
  const auto backward = [&](OrderWriter& writer, int rank, int i) {
    writer.backward((size.chunks - 1 - table[i].chunk) * size.ranks + rank, table[i].micro_batch);
  };
  return run_ahead(size, static_cast<int>(table.size()), ahead, forward, backward);
}

Expected<void> legal_interleaved_flex(const ScheduleSize& size) {
  return equal_rounds("interleaved-flex", size.ranks, size.micro_batches);
}

Order make_interleaved_flex(const ScheduleSize& size) {
  ScheduleSize rounds = size;
  rounds.group = group_of_rounds(size.ranks, size.micro_batches);
  return make_interleaved_1f1b(rounds);
}

/// Chunk by chunk all micro-batches ahead, then back from the last chunk, the micro-batches in reverse.
Order make_looped_bfs(const ScheduleSize& size) {
  return write_ranks(size, Placement::looped, [&](OrderWriter& writer, int rank) {
    for (int chunk = 0; chunk < size.chunks; ++chunk) {
      for (int u = 0; u < size.micro_batches; ++u) writer.forward(chunk * size.ranks + rank, u);
    }
    for (int chunk = size.chunks - 1; chunk >= 0; --chunk) {
      for (int u = size.micro_batches - 1; u >= 0; --u) writer.backward(chunk * size.ranks + rank, u);
    }
  });
}

}  // namespace

int group_of_rounds(int ranks, int micro_batches) { return micro_batches / std::max(1, micro_batches / ranks); }

Expected<void> equal_rounds(const char* kind, int ranks, int micro_batches) {
  const auto divides = [ranks](int m) { return m % std::max(1, m / ranks) == 0; };
  if (divides(micro_batches)) return {};
  int below = micro_batches, above = micro_batches;
  while (!divides(below)) --below;
  while (!divides(above)) ++above;
  return fail("micro-batches",
      fmt::format("{} on {} ranks runs micro-batches in {} rounds, which do not divide {}", kind, ranks,
          micro_batches / ranks, micro_batches),
      fmt::format("micro-batches {} or {}", below, above));
}

std::int32_t chunk_peak(const ScheduleSize& size, int group, int ahead) {
  return std::min(size.micro_batches * size.chunks, ahead + (size.chunks - 1) * group + 1);
}

std::vector<ScheduleKind> interleaved_kinds() {
  return {{.id = "interleaved-1f1b",
              .name = "Interleaved 1F1B (Megatron)",
              .source = "Narayanan et al., arXiv 2104.04473; Megatron-LM core/pipeline_parallel/schedules.py",
              .takes_chunks = true,
              .takes_group = true,
              .legal = legal_interleaved,
              .make = make_interleaved_1f1b,
              .peak = [](const ScheduleSize& s,
                          int r) { return chunk_peak(s, s.group > 0 ? s.group : s.ranks, 2 * (s.ranks - 1 - r)); }},
      {.id = "interleaved-flex",
          .name = "Interleaved 1F1B in equal rounds (PyTorch)",
          .source = "PyTorch torch.distributed.pipelining, ScheduleInterleaved1F1B (schedules.py)",
          .takes_chunks = true,
          .equal_rounds = true,
          .legal = legal_interleaved_flex,
          .make = make_interleaved_flex,
          .peak =
              [](const ScheduleSize& s, int r) {
                return chunk_peak(s, group_of_rounds(s.ranks, s.micro_batches), 2 * (s.ranks - 1 - r));
              }},
      {.id = "looped-bfs",
          .name = "Looped breadth-first",
          .source = "Lamy-Poirier, arXiv 2211.05953; backward in reverse as PyTorch's ScheduleLoopedBFS",
          .takes_chunks = true,
          .holds_all = true,
          .make = make_looped_bfs,
          .peak = [](const ScheduleSize& s, int) { return s.micro_batches * s.chunks; }}};
}

}  // namespace stepcast::sim::orders
