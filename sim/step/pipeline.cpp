// The schedule's order for the stages at hand, run in time.
#include <algorithm>

#include <fmt/format.h>

#include "sim/schedule/engine/engine.h"
#include "sim/schedule/schedule_table.h"
#include "sim/step/paired.h"
#include "sim/step/parts.h"

namespace stepcast::sim {

namespace {

StageTimes stage_times(
    const std::vector<ChunkTimes>& chunks, const std::vector<HopPrice>& hops, const CostModel& cost) {
  StageTimes times;
  times.blocking_hops = cost.stack().boundary_sends == Manners::blocking;
  for (const ChunkTimes& chunk : chunks) {
    times.forward.push_back(chunk.forward);
    times.input_grad.push_back(chunk.input_grad);
    times.weight_grad.push_back(chunk.weight_grad);
  }
  for (const HopPrice& hop : hops) {
    times.hop_forward.push_back(hop.time());
    times.hop_backward.push_back(hop.time());
  }
  return times;
}

/// What kinds that schedule by times go by: every stage's own, and the longest hop.
OrderTimes order_times(const StageTimes& times, double memory_cap) {
  OrderTimes out;
  const auto values = [](const std::vector<Seconds>& of) {
    std::vector<double> seconds;
    for (const Seconds& time : of) seconds.push_back(time.value());
    return seconds;
  };
  out.forward = values(times.forward);
  out.input_grad = values(times.input_grad);
  out.weight_grad = values(times.weight_grad);
  for (const Seconds& hop : times.hop_forward) out.hop = std::max(out.hop, hop.value());
  out.memory_cap = memory_cap;
  return out;
}

Expected<void> under_cap(const Order& order, const Timeline& timeline, const std::string& schedule, double cap) {
  const auto most = std::ranges::max_element(timeline.peak_in_flight);
  if (cap <= 0 || *most <= cap) return {};
  const bool chunks = order.stages() > order.ranks * order.directions;
  const char* unit = order.slices > 1 ? "slices" : chunks ? "chunks" : "micro-batches";
  return fail("memory-cap",
      fmt::format("{} holds the activations of {} {} on rank {}, above {:g}", schedule, *most, unit,
          most - timeline.peak_in_flight.begin(), cap),
      fmt::format("memory-cap {} or more, or schedule zb-auto or zb-v-auto", *most));
}

}  // namespace

Expected<void> same_placement(const Program& program, const Order& order) {
  bool fits = order.rank_of.size() == program.chunks.size();
  for (std::size_t i = 0; fits && i < program.chunks.size(); ++i) fits = order.rank_of[i] == program.chunks[i].stage;
  if (fits) return {};
  return fail("schedule", "'" + program.schedule + "' places its stages otherwise than the layers were dealt out",
      "V kinds want the layers laid zigzag, others not");
}

HopPrice hop_price(const Program& program, const StageEdge& edge, const StageCosts& costs) {
  const std::int64_t from = program.chunks[edge.from].stage, to = program.chunks[edge.to].stage;
  HopPrice hop{costs.send(edge.bytes, from, to, program.stage_stride), {}};
  if (edge.gather && from != to) hop.gather = price_move(program, *edge.gather, costs.of(to));
  return hop;
}

std::vector<HopPrice> hop_prices(const Program& program, const StageCosts& costs) {
  std::vector<HopPrice> hops;
  hops.reserve(program.edges.size());
  for (const StageEdge& edge : program.edges) hops.push_back(hop_price(program, edge, costs));
  return hops;
}

Expected<Pipeline> run_pipeline(const Program& program, const PricedUnits& priced, const std::vector<HopPrice>& hops,
    const CostModel& cost, double memory_cap) {
  StageTimes times = stage_times(priced.chunks, hops, cost);
  const int slices = std::max(1, static_cast<int>(priced.by_slice.size()));
  TRY(auto order, make_order(program.schedule, schedule_size(program, slices), order_times(times, memory_cap)));
  TRY(same_placement(program, order));
  if (!priced.by_slice.empty()) set_slice_times(priced.by_slice, order, times);
  TRY(auto timeline, run(order, times));
  TRY(under_cap(order, timeline, program.schedule, memory_cap));
  return Pipeline{std::move(order), std::move(times), std::move(timeline)};
}

}  // namespace stepcast::sim
