// GPipe and 1F1B: one stage per rank. Any number of micro-batches runs, also fewer than ranks.
#include <algorithm>

#include "sim/schedule/orders.h"

namespace stepcast::orders {

Expected<void> legal_flush(const ScheduleSize&) { return {}; }

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

}  // namespace stepcast::orders
