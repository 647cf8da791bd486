// Small pipelines that the schedule tests share.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "sim/schedule/engine/engine.h"
#include "sim/schedule/schedule_table.h"

namespace stepcast::sim::pipelines {

/// Every stage alike: forward f, input gradient i, weight gradient w, hops c both ways.
inline StageTimes equal_times(int stages, double f, double i, double w, double c = 0, bool blocking = false) {
  const auto count = static_cast<std::size_t>(stages);
  StageTimes times;
  times.forward.assign(count, Seconds(f));
  times.input_grad.assign(count, Seconds(i));
  times.weight_grad.assign(count, Seconds(w));
  times.hop_forward.assign(count - 1, Seconds(c));
  times.hop_backward = times.hop_forward;
  times.blocking_hops = blocking;
  return times;
}

inline Order order_of(const std::string& id, const ScheduleSize& size) {
  auto order = make_order(id, size);
  if (!order) ADD_FAILURE() << to_text(order.error());
  return order.value();
}

inline Timeline timeline_of(const Order& order, const StageTimes& times) {
  auto timeline = run(order, times);
  if (!timeline) ADD_FAILURE() << to_text(timeline.error());
  return timeline.value();
}

/// "F0 F1 B0 B1": a rank's actions with micro-batches; with several chunks "F0.1" is micro-batch 0 on the rank's
/// chunk 1.
inline std::string text_of(const Order& order, int rank) {
  std::string text;
  for (const Action& action : order.of_rank(rank)) {
    if (!text.empty()) text += ' ';
    text += "FBIW"[static_cast<int>(action.kind)];
    text += std::to_string(action.micro_batch);
    if (order.chunks > 1) text += "." + std::to_string(action.stage / order.ranks);
  }
  return text;
}

/// "0F0 1I0 (0F1;1B0)": a rank's actions with stage and unit, as PyTorch writes them; pairs in brackets.
inline std::string strings_of(const Order& order, int rank) {
  std::string text;
  bool paired = false;
  for (const Action& action : order.of_rank(rank)) {
    if (!text.empty()) text += paired ? ";" : " ";
    if (action.with_next) text += "(";
    text += std::to_string(action.stage) + "FBIW"[static_cast<int>(action.kind)] + std::to_string(action.micro_batch);
    if (paired) text += ")";
    paired = action.with_next;
  }
  return text;
}

/// An order of one chunk per rank, written by hand.
inline Order written(int micro_batches, const std::vector<std::vector<Action>>& ranks) {
  Order order;
  order.ranks = static_cast<int>(ranks.size());
  order.micro_batches = micro_batches;
  order.begin = {0};
  for (int rank = 0; rank < order.ranks; ++rank) {
    order.actions.insert(order.actions.end(), ranks[rank].begin(), ranks[rank].end());
    order.begin.push_back(static_cast<std::int32_t>(order.actions.size()));
    order.rank_of.push_back(rank);
  }
  return order;
}

}  // namespace stepcast::sim::pipelines
