// The sequence of a micro-batch cut into slices: a slice needs those before it (they attend), so forward runs from the
// first slice to the last and backward from the last to the first.
#include <algorithm>

#include "sim/schedule/orders/orders.h"

namespace stepcast::orders {
namespace {

/// The i-th unit on its way back: micro-batches in order, slices in reverse.
int backward_unit(const ScheduleSize& size, int i) {
  return i / size.slices * size.slices + (size.slices - 1 - i % size.slices);
}

/// 1F1B over units, with the n-1 more forwards ahead that the last slice's backward waits for.
Order make_seq_1f1b(const ScheduleSize& size) {
  OrderWriter writer(size);
  const int units = size.micro_batches * size.slices;
  for (int rank = 0; rank < size.ranks; ++rank) {
    const int warm_up = std::min(size.ranks - rank - 2 + size.slices, units);
    for (int i = 0; i < warm_up; ++i) writer.forward(rank, i);
    for (int i = 0; i < units; ++i) {
      if (warm_up + i < units) writer.forward(rank, warm_up + i);
      writer.backward(rank, backward_unit(size, i));
    }
    writer.end_rank();
  }
  return writer.take();
}

/// GPipe over units.
Order make_terapipe(const ScheduleSize& size) {
  OrderWriter writer(size);
  const int units = size.micro_batches * size.slices;
  for (int rank = 0; rank < size.ranks; ++rank) {
    for (int i = 0; i < units; ++i) writer.forward(rank, i);
    for (int i = 0; i < units; ++i) writer.backward(rank, backward_unit(size, i));
    writer.end_rank();
  }
  return writer.take();
}

}  // namespace

std::vector<ScheduleKind> sliced_kinds() {
  return {{.id = "seq-1f1b",
              .name = "Seq1F1B",
              .source = "Sun et al., arXiv 2406.03488; sail-sg/zero-bubble seq1f1b.py",
              .takes_slices = true,
              .make = make_seq_1f1b,
              .peak = [](const ScheduleSize& s,
                          int r) { return std::min(s.micro_batches * s.slices, s.ranks - 1 - r + s.slices); }},
      {.id = "terapipe",
          .name = "TeraPipe",
          .source = "Li et al., arXiv 2102.07988: GPipe over the slices of the sequences",
          .takes_slices = true,
          .holds_all = true,
          .make = make_terapipe,
          .peak = [](const ScheduleSize& s, int) { return s.micro_batches * s.slices; }}};
}

}  // namespace stepcast::orders
