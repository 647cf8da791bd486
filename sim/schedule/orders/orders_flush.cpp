// GPipe and 1F1B: one stage per rank. Any number of micro-batches runs, also fewer than ranks. Where the sequence of a
// micro-batch is cut into slices, a slice needs those before it (they attend), so forward runs from the first slice to
// the last and backward from the last to the first.
#include <algorithm>

#include "sim/schedule/orders/orders.h"

namespace stepcast::sim::orders {
namespace {

/// Units are slices of micro-batches. On their way back the micro-batches come in order, their slices in reverse.
template <class Ahead> Order make_flush(const ScheduleSize& size, const Ahead& ahead) {
  const int slices = size.slices;
  return run_ahead(
      size, size.micro_batches * slices, ahead, [](OrderWriter& writer, int rank, int i) { writer.forward(rank, i); },
      [slices](OrderWriter& writer, int rank, int i) {
        writer.backward(rank, i / slices * slices + (slices - 1 - i % slices));
      });
}

/// All forwards, then all backwards in the same micro-batch order (the paper's figure drains in reverse order;
/// DeepSpeed and PyTorch do not, and the makespan is the same).
Order make_gpipe(const ScheduleSize& size) {
  return make_flush(size, [&](int) { return size.micro_batches * size.slices; });
}

/// Rank r runs p-1-r forwards ahead, and the n-1 more that the last of n slices waits for on its way back.
Order make_1f1b(const ScheduleSize& size) {
  return make_flush(size, [&](int rank) { return size.ranks - rank - 2 + size.slices; });
}

/// Rank r runs 2(p-r)-1 forwards before its first backward: a hop's time there and back is covered by micro-batches
/// that are already here.
Order make_eager_1f1b(const ScheduleSize& size) {
  return make_flush(size, [&](int rank) { return 2 * (size.ranks - rank) - 2; });
}

}  // namespace

std::vector<ScheduleKind> flush_kinds() {
  return {{.id = "gpipe",
              .name = "GPipe",
              .source = "Huang et al., arXiv 1811.06965; backward in micro-batch order as in DeepSpeed and PyTorch",
              .holds_all = true,
              .make = make_gpipe,
              .peak = [](const ScheduleSize& s, int) { return s.micro_batches; }},
      {.id = "1f1b",
          .name = "1F1B (PipeDream-flush)",
          .source = "Narayanan et al., arXiv 2006.09503; Megatron-LM, DeepSpeed TrainSchedule",
          .one_by_one = true,
          .make = make_1f1b,
          .peak = [](const ScheduleSize& s, int r) { return std::min(s.micro_batches, s.ranks - r); }},
      {.id = "eager-1f1b",
          .name = "Eager 1F1B",
          .source = "Zhuang et al., arXiv 2211.05322; PaddlePaddle pull request 57605",
          .make = make_eager_1f1b,
          .peak = [](const ScheduleSize& s, int r) { return std::min(s.micro_batches, 2 * (s.ranks - r) - 1); }}};
}

std::vector<ScheduleKind> sliced_kinds() {
  return {{.id = "seq-1f1b",
              .name = "Seq1F1B",
              .source = "Sun et al., arXiv 2406.03488; sail-sg/zero-bubble seq1f1b.py",
              .takes_slices = true,
              .make = make_1f1b,
              .peak = [](const ScheduleSize& s,
                          int r) { return std::min(s.micro_batches * s.slices, s.ranks - 1 - r + s.slices); }},
      {.id = "terapipe",
          .name = "TeraPipe",
          .source = "Li et al., arXiv 2102.07988: GPipe over the slices of the sequences",
          .takes_slices = true,
          .holds_all = true,
          .make = make_gpipe,
          .peak = [](const ScheduleSize& s, int) { return s.micro_batches * s.slices; }}};
}

}  // namespace stepcast::sim::orders
