#include "sim/step.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/memory.h"
#include "sim/schedule/schedule_table.h"
#include "sim/step/around.h"
#include "sim/step/paired.h"
#include "sim/step/step_memory.h"
#include "sim/step/parts.h"

namespace stepcast::sim {

namespace {

Seconds occupied(const Timeline& timeline, int rank) { return timeline.busy[rank] + timeline.hop_wait[rank]; }

int busiest(const Timeline& timeline) {
  int rank = 0;
  for (int i = 1; i < static_cast<int>(timeline.busy.size()); ++i) {
    if (occupied(timeline, i) > occupied(timeline, rank)) rank = i;
  }
  return rank;
}

Phases phases_of(const StepView& view, const Tail& tail) {
  Phases phases;
  const Program& program = view.program;
  const CostModel& cost = view.costs.of(view.critical);
  for (std::size_t i = 0; i < program.chunks.size(); ++i) {
    if (program.chunks[i].stage != view.critical) continue;
    const ChunkTimes& chunk = view.chunks[i];
    phases.forward += chunk.forward_compute * view.units;
    phases.backward += chunk.backward_compute * view.units;
    phases.exposed_communication += (chunk.exposed_forward + chunk.exposed_backward) * view.units;
  }
  phases.exposed_communication += view.timeline.hop_wait[view.critical];
  // A remainder: rounding may leave it a hair below nothing.
  phases.bubble =
      std::max(Seconds(0), view.timeline.makespan - phases.forward - phases.backward - phases.exposed_communication);
  phases.gradient_sync = tail.gradient_sync;
  phases.clip = tail.clip;
  phases.optimizer = tail.optimizer;
  phases.parameter_gather = tail.parameter_gather;
  phases.host = host_time(cost);
  phases.data_wait = data_wait(cost);
  phases.host_to_device = host_to_device(program, cost);
  return phases;
}

std::vector<StageReport> stage_reports(const StepView& view) {
  const Program& program = view.program;
  std::vector<StageReport> stages(static_cast<std::size_t>(program.stages));
  for (std::size_t i = 0; i < program.chunks.size(); ++i) {
    StageReport& stage = stages[program.chunks[i].stage];
    stage.forward += view.chunks[i].forward * view.order.slices;
    stage.input_grad += view.chunks[i].input_grad * view.order.slices;
    stage.weight_grad += view.chunks[i].weight_grad * view.order.slices;
    for (const BlockRun& run : program.chunks[i].runs) {
      if (program.blocks[run.block].is_layer) stage.layers += run.count;
    }
  }
  return stages;
}

/// Executed by matrix products, attention and scans on all ranks, `units` of each chunk.
Flops hardware_flops(const Program& program, double units) {
  std::vector<Flops> block_flops(program.blocks.size());
  for (std::size_t i = 0; i < block_flops.size(); ++i) {
    for (const KernelWork& work : program.blocks[i].works) {
      if (multiplies(work)) block_flops[i] += work.flops;
    }
  }
  Flops per_stage_rank;
  for (const Chunk& chunk : program.chunks) {
    for (const BlockRun& run : chunk.runs) per_stage_rank += block_flops[run.block] * static_cast<double>(run.count);
  }
  return per_stage_rank * (static_cast<double>(program.ranks / program.stages) * units);
}

Seconds kernel_time(const StepView& view) {
  Seconds all;
  for (const ChunkTimes& chunk : view.chunks) all += (chunk.forward_compute + chunk.backward_compute) * view.units;
  return all / static_cast<double>(view.order.ranks);
}

void add_rates(const Program& program, StepReport& report) {
  const double ranks = static_cast<double>(program.ranks);
  report.hardware_flops_per_gpu = report.hardware_flops / report.step_time / ranks;
  report.tokens_per_s_per_gpu = program.tokens_per_step / report.step_time.value() / ranks;
}

int directions_of(const std::string& schedule) {
  const auto kinds = schedule_kinds();
  const auto kind = std::ranges::find(kinds, schedule, &ScheduleKind::id);
  return kind == kinds.end() ? 1 : kind->directions;
}

}  // namespace

namespace {

/// Runs the step in time and hands what is known of it to `tell`.
template <typename Tell>
auto in_time(std::span<const Program> slices, const StageCosts& costs_of_machines, double memory_cap, const Tell& tell)
    -> Expected<decltype(tell(std::declval<const StepView&>(), std::declval<Pipeline&>()))> {
  const Program& one_copy = slices.front();
  std::optional<StageCosts> of_ranks;
  if (costs_of_machines.of(0).ranks() != one_copy.ranks) of_ranks = costs_of_machines.with_ranks(one_copy.ranks);
  const StageCosts& costs = of_ranks ? *of_ranks : costs_of_machines;
  const CostModel& any = costs.of(0);  // the software is the same on all ranks
  const int directions = directions_of(one_copy.schedule);
  std::optional<Program> doubled;
  if (directions == 2 && slices.size() == 1) {
    doubled = both_ways(one_copy, gradient_bytes(any.stack(), any.precision()));
    slices = {&*doubled, 1};
  }
  const Program& program = slices.front();
  const PricedUnits priced = price_units(slices, costs);
  const std::vector<HopPrice> hops = hop_prices(program, costs);
  TRY(auto pipeline, run_pipeline(program, priced, hops, any, memory_cap));
  const double units = static_cast<double>(pipeline.order.units()) / directions;
  const StepView view{program, costs, priced.prices, priced.chunks, priced.outer(), hops, pipeline.order,
      pipeline.timeline, units, busiest(pipeline.timeline)};
  return tell(view, pipeline);
}

/// Of the ranks of each stage.
std::vector<Bytes> capacities(const StageCosts& costs, const Order& order) {
  std::vector<Bytes> capacity;
  for (int stage = 0; stage < order.ranks; ++stage) capacity.push_back(costs.of(stage).machine().gpu.memory);
  return capacity;
}

StepReport report_of(const StepView& view, Pipeline& pipeline, std::span<const Program> slices) {
  const Program& program = view.program;
  const CostModel& cost = view.costs.of(view.critical);
  const Tail tail = step_tail(view);
  StepReport report;
  report.slowest_stage = view.critical;
  report.phases = phases_of(view, tail);
  report.step_time = report.phases.sum();
  const std::vector<LawShare> shares = law_shares(view, tail);
  report.collectives = collective_rows(view, tail);
  const Spread interval = widened(step_interval(cost, program, shares, report.step_time),
      doubt_of_moves(cost, program, report.collectives, view.critical, report.step_time));
  report.interval_kind = cost.tuning().fitted() && !program.unlike_measured ? "" : spread_of_kind(program).runs;
  report.p10 = report.step_time * interval.p10;
  report.p90 = report.step_time * interval.p90;
  report.bubble_fraction = view.timeline.bubble_fraction();
  report.kernel_time = kernel_time(view);
  report.stages = stage_reports(view);
  report.memory = peak_memory(program, view.order, view.timeline, capacities(view.costs, view.order), cost.stack());
  report.doubts = price_doubts(shares, report.step_time);
  report.warnings = step_warnings(report.doubts, report.memory);
  if (slices.size() > 1) {
    for (const Program& slice : slices) report.hardware_flops += hardware_flops(slice, view.units / view.order.slices);
  } else {
    report.hardware_flops = hardware_flops(program, view.units / view.order.slices);
  }
  add_rates(program, report);
  report.notes = schedule_notes(view);
  report.order = std::move(pipeline.order);
  report.times = std::move(pipeline.times);
  report.timeline = std::move(pipeline.timeline);
  return report;
}

}  // namespace

Expected<StepReport> forecast(const Program& program, const StageCosts& costs, double memory_cap) {
  return forecast_slices({&program, 1}, costs, memory_cap);
}

Expected<StepReport> forecast_slices(std::span<const Program> slices, const StageCosts& costs, double memory_cap) {
  return in_time(slices, costs, memory_cap,
      [&](const StepView& view, Pipeline& pipeline) { return report_of(view, pipeline, slices); });
}

Expected<Seconds> step_time(const Program& program, const StageCosts& costs) {
  return in_time(
      {&program, 1}, costs, 0, [](const StepView& view, Pipeline&) { return phases_of(view, step_tail(view)).sum(); });
}

Expected<MemoryReport> step_memory(const Program& program, const StageCosts& costs) {
  TRY(const ScheduleKind* const kind, find_schedule(program.schedule));
  if (kind->make == nullptr || kind->directions == 2) {  // by times, or with a second copy of the model
    TRY(StepReport report, forecast(program, costs));
    return std::move(report.memory);
  }
  TRY(const Order order, make_order(program.schedule, schedule_size(program)));
  TRY(same_placement(program, order));
  return peak_memory(program, order, {}, capacities(costs, order), costs.of(0).stack());
}

}  // namespace stepcast::sim
