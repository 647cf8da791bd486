#include "sim/step.h"

#include <algorithm>
#include <utility>

#include "sim/step/parts.h"

namespace stepcast {

namespace {

// Token ids and labels reach the GPU as 8-byte integers (PyTorch int64), one share of a stage's ranks each; ranks that
// need the same tokens get them over the fabric, which is as small.
constexpr Bytes token_id{8};

StageTimes stage_times(const std::vector<ChunkTimes>& chunks, const std::vector<HopPrice>& hops,
                       const CostModel& cost) {
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

std::vector<HopPrice> hop_prices(const Program& program, const CostModel& cost) {
  std::vector<HopPrice> hops;
  hops.reserve(program.edges.size());
  for (const StageEdge& edge : program.edges) hops.push_back(hop_price(program, edge, cost));
  return hops;
}

ScheduleSize schedule_size(const Program& program) {
  return {static_cast<int>(program.stages), static_cast<int>(program.chunks_per_stage),
          static_cast<int>(program.micro_batches), 0};
}

/// What kinds that schedule by times go by: every stage's own, and the longest hop.
OrderTimes order_times(const StageTimes& times) {
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
  return out;
}

/// A V or a second copy of the model lies on other ranks than the chunks of a program that deals them round.
Expected<void> same_placement(const Program& program, const Order& order) {
  bool fits = order.rank_of.size() == program.chunks.size();
  for (std::size_t i = 0; fits && i < program.chunks.size(); ++i) fits = order.rank_of[i] == program.chunks[i].stage;
  if (fits) return {};
  return fail("schedule", "'" + program.schedule + "' places its stages otherwise than the layers were dealt out",
              "kinds with two copies of the model cannot be forecast; V kinds want the layers laid zigzag, others not");
}

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
  const double micro_batches = static_cast<double>(program.micro_batches);
  for (std::size_t i = 0; i < program.chunks.size(); ++i) {
    if (program.chunks[i].stage != view.critical) continue;
    const ChunkTimes& chunk = view.chunks[i];
    phases.forward += chunk.forward_compute * micro_batches;
    phases.backward += chunk.backward_compute * micro_batches;
    phases.exposed_communication += (chunk.exposed_forward + chunk.exposed_backward) * micro_batches;
  }
  phases.exposed_communication += view.timeline.hop_wait[view.critical];
  // A remainder: rounding may leave it a hair below nothing.
  phases.bubble = std::max(Seconds(0), view.timeline.makespan - phases.forward - phases.backward - phases.exposed_communication);
  phases.gradient_sync = tail.gradient_sync;
  phases.clip = tail.clip;
  phases.optimizer = tail.optimizer;
  phases.parameter_gather = tail.parameter_gather;
  phases.host = view.cost.stack().host_per_step;
  phases.data_wait = view.cost.stack().data_wait;
  const double ranks_per_stage = static_cast<double>(program.ranks) / static_cast<double>(program.stages);
  const BytesPerSecond link = view.cost.machine().host_link;
  if (link.value() > 0) phases.host_to_device = token_id * (program.tokens_per_step / ranks_per_stage) / link;
  return phases;
}

std::vector<StageReport> stage_reports(const Program& program, const std::vector<ChunkTimes>& chunks) {
  std::vector<StageReport> stages(static_cast<std::size_t>(program.stages));
  for (std::size_t i = 0; i < program.chunks.size(); ++i) {
    StageReport& stage = stages[program.chunks[i].stage];
    stage.forward += chunks[i].forward;
    stage.input_grad += chunks[i].input_grad;
    stage.weight_grad += chunks[i].weight_grad;
    for (const BlockRun& run : program.chunks[i].runs) {
      if (program.blocks[run.block].is_layer) stage.layers += run.count;
    }
  }
  return stages;
}

/// Executed by matrix products and attention, all ranks and micro-batches.
Flops hardware_flops(const Program& program) {
  std::vector<Flops> block_flops(program.blocks.size());
  for (std::size_t i = 0; i < block_flops.size(); ++i) {
    for (const Work& work : program.blocks[i].works) {
      if (work.kernel == KernelClass::gemm || work.kernel == KernelClass::attention) block_flops[i] += work.flops;
    }
  }
  Flops per_stage_rank;
  for (const Chunk& chunk : program.chunks) {
    for (const BlockRun& run : chunk.runs) per_stage_rank += block_flops[run.block] * static_cast<double>(run.count);
  }
  return per_stage_rank *
         (static_cast<double>(program.ranks / program.stages) * static_cast<double>(program.micro_batches));
}

void add_rates(const Program& program, StepReport& report) {
  const double ranks = static_cast<double>(program.ranks);
  report.hardware_flops = hardware_flops(program);
  report.hardware_flops_per_gpu = report.hardware_flops / report.step_time / ranks;
  report.tokens_per_s_per_gpu = program.tokens_per_step / report.step_time.value() / ranks;
}

}  // namespace

HopPrice hop_price(const Program& program, const StageEdge& edge, const CostModel& cost) {
  const std::int64_t from = program.chunks[edge.from].stage, to = program.chunks[edge.to].stage;
  HopPrice hop{cost.send(edge.bytes, from * program.stage_stride, to * program.stage_stride), {}};
  if (edge.gather && from != to) hop.gather = price_move(program, *edge.gather, cost);
  return hop;
}

Seconds Phases::sum() const {
  return data_wait + host_to_device + forward + backward + bubble + exposed_communication + gradient_sync + clip +
         optimizer + parameter_gather + host;
}

Expected<StepReport> forecast(const Program& program, const CostModel& cost_of_machine) {
  const CostModel cost(cost_of_machine.machine(), cost_of_machine.profile(), cost_of_machine.stack(),
                       cost_of_machine.precision(), program.ranks);
  const std::vector<BlockPrices> prices = price_blocks(program, cost);
  const std::vector<ChunkTimes> chunks = all_chunk_times(program, prices, cost);
  const std::vector<HopPrice> hops = hop_prices(program, cost);
  const StageTimes times = stage_times(chunks, hops, cost);
  auto order = make_order(program.schedule, schedule_size(program), order_times(times));
  if (!order) return tl::unexpected(order.error());
  if (auto ok = same_placement(program, *order); !ok) return tl::unexpected(ok.error());
  auto timeline = run(*order, times);
  if (!timeline) return tl::unexpected(timeline.error());

  const StepView view{program, cost, prices, chunks, hops, *order, *timeline, busiest(*timeline)};
  const Tail tail = step_tail(view);
  StepReport report;
  report.slowest_stage = view.critical;
  report.phases = phases_of(view, tail);
  report.step_time = report.phases.sum();
  const std::vector<LawShare> shares = law_shares(view, tail);
  const Spread interval = step_interval(cost.profile(), program, shares, report.step_time);
  report.interval_kind = spread_of_kind(program).runs;
  report.p10 = report.step_time * interval.p10;
  report.p90 = report.step_time * interval.p90;
  report.bubble_fraction = timeline->bubble_fraction();
  report.stages = stage_reports(program, chunks);
  report.collectives = collective_rows(view, tail);
  report.memory = peak_memory(program, *order, *timeline, cost.machine(), cost.stack());
  report.warnings = step_warnings(shares, report.memory, report.step_time);
  add_rates(program, report);
  report.order = std::move(*order);
  report.timeline = std::move(*timeline);
  return report;
}

}  // namespace stepcast
