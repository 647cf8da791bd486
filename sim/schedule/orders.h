// The generators behind the rows of the schedule table (order.cpp), one file per family, and what they write with.
#pragma once

#include "sim/schedule/order.h"

namespace stepcast::orders {

/// Fills an Order rank by rank. Stage s sits on rank s % p.
class OrderWriter {
 public:
  explicit OrderWriter(const ScheduleSize& size);
  void forward(int stage, int micro_batch) { add(ActionKind::forward, stage, micro_batch); }
  void backward(int stage, int micro_batch) { add(ActionKind::backward, stage, micro_batch); }
  void end_rank() { order_.begin.push_back(static_cast<std::int32_t>(order_.actions.size())); }
  Order take() { return std::move(order_); }

 private:
  void add(ActionKind kind, int stage, int micro_batch) { order_.actions.push_back({kind, stage, micro_batch}); }
  Order order_;
};

// orders_flush.cpp: one stage per rank, all micro-batches drained before the weights change.
Expected<void> legal_flush(const ScheduleSize& size);
Order make_gpipe(const ScheduleSize& size);
Order make_1f1b(const ScheduleSize& size);

// orders_interleaved.cpp: several chunks per rank, blocks of `group` micro-batches.
Expected<void> legal_interleaved(const ScheduleSize& size);
Order make_interleaved_1f1b(const ScheduleSize& size);

}  // namespace stepcast::orders
