// GPipe and 1F1B: one stage per rank. Any number of micro-batches runs, also fewer than ranks.
#include <algorithm>

#include "sim/schedule/orders/orders.h"

namespace stepcast::orders {
namespace {

/// All forwards, then all backwards in the same micro-batch order (the paper's figure drains in reverse order;
/// DeepSpeed and PyTorch do not, and the makespan is the same).
Order make_gpipe(const ScheduleSize& size) {
  OrderWriter writer(size);
  for (int rank = 0; rank < size.ranks; ++rank) {
    for (int u = 0; u < size.micro_batches; ++u) writer.forward(rank, u);
    for (int u = 0; u < size.micro_batches; ++u) writer.backward(rank, u);
    writer.end_rank();
  }
  return writer.take();
}

/// Rank r runs min(p-1-r, m) forwards ahead, then one forward and one backward in turn, then the backwards left.
Order make_1f1b(const ScheduleSize& size) {
  OrderWriter writer(size);
  const int m = size.micro_batches;
  for (int rank = 0; rank < size.ranks; ++rank) {
    const int warm_up = std::min(size.ranks - 1 - rank, m);
    for (int u = 0; u < warm_up; ++u) writer.forward(rank, u);
    for (int u = 0; u < m - warm_up; ++u) {
      writer.forward(rank, warm_up + u);
      writer.backward(rank, u);
    }
    for (int u = m - warm_up; u < m; ++u) writer.backward(rank, u);
    writer.end_rank();
  }
  return writer.take();
}

/// Rank r runs min(2(p-r)-1, m) forwards ahead, then one backward and one forward in turn: a hop's time there and back
/// is covered by micro-batches that are already here.
Order make_eager_1f1b(const ScheduleSize& size) {
  OrderWriter writer(size);
  const int m = size.micro_batches;
  for (int rank = 0; rank < size.ranks; ++rank) {
    const int warm_up = std::min(2 * (size.ranks - rank) - 1, m);
    for (int u = 0; u < warm_up; ++u) writer.forward(rank, u);
    for (int u = 0; u < m; ++u) {
      writer.backward(rank, u);
      if (warm_up + u < m) writer.forward(rank, warm_up + u);
    }
    writer.end_rank();
  }
  return writer.take();
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

}  // namespace stepcast::orders
