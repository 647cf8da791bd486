#include "sim/serving/iteration.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/profile/kernel_law.h"

namespace stepcast::sim {
namespace {

using dataflow::KernelClass, dataflow::KernelWork, dataflow::Move, dataflow::MoveKind, dataflow::Program;

/// Experts that rows reach, and the rows of each of them: of E experts T tokens that choose k each leave one alone with
/// a probability of (1 - k / E)^T.
GemmQuery of_experts(GemmQuery query, double experts, double tokens, double choices) {
  const double hit = 1 - std::pow(1 - std::min(1.0, choices / experts), tokens);
  query.batch *= hit;
  query.m = std::max(1.0, tokens * choices / (experts * hit));
  return query;
}

Price price_of(const KernelTime& time, const char* law) {
  return {time.time, time.source, time.spread, law, time.extrapolated, 0};
}

std::string shape_of(const KernelWork& work) {
  switch (work.kernel) {
    case KernelClass::gemm: return fmt::format("{:.0f} x {:.0f} x {:.0f}", work.m, work.n, work.k);
    case KernelClass::attention:
      return fmt::format("{:.0f} x {:.0f} queries, {:.0f} keys", work.sequences, work.queries, work.sequence);
    default: return "pointwise";
  }
}

}  // namespace

IterationCost::IterationCost(
    const CostModel& moves, const Profile& profile, const Engine& engine, const IterationTypes& types)
    : moves_(&moves), profile_(&profile), engine_(&engine),
      tuning_(find_tuning(engine, moves.machine().gpu.architecture, to_text(types.products))), types_(types) {}

Price IterationCost::product(const KernelWork& work, const Program& program) const {
  const Precision precision = work.keeps_width ? Precision::bf16 : types_.products;
  GemmQuery query{work.m, work.n, work.k, work.batch, precision, types_.block_scaled && !work.keeps_width};
  if (work.experts > 0)
    query = of_experts(query, work.experts, engine_->same_experts ? 1 : program.tokens_per_step, program.choices);
  if (work.experts > 0 && engine_->same_experts) query.m = std::max(1.0, program.tokens_per_step);
  const auto asked = [&]() -> std::optional<KernelTime> {
    const RooflineLaw* law = find_gemm(*profile_, query.precision, query.block_scaled);
    if (law == nullptr) return std::nullopt;
    if (tuning_->products == 1) return gemm_time(*law, profile_->units, query);
    RooflineLaw slower = *law;
    slower.compute = law->compute / tuning_->products;
    return gemm_time(slower, profile_->units, query);
  };
  auto time = asked();
  if (!time) {
    query.precision = Precision::bf16, query.block_scaled = false;
    time = asked();
  }
  if (!time) return moves_->work(work);
  // Weights that are narrower than what is multiplied: their bytes are saved, at the rate of the wide product's.
  const double saved = operand_bytes(query.precision) - types_.weight_bytes;
  if (!work.keeps_width && saved > 0) {
    const double share = 1 - saved * query.batch * query.n * query.k / bytes_of(query).value();
    if (time->bound == Bound::memory) time->time = time->time * std::max(0.1, share);
  }
  return price_of(*time, "gemm");
}

/// Sequences x heads from which kernels that do not always split the keys do not.
constexpr double split_below = 512;

/// The engine's own kernels, of whatever release, else vLLM's; "": anybody's.
std::string_view IterationCost::software_of(AttentionPass pass) const {
  for (const std::string_view whose : {std::string_view(engine_->kernels), std::string_view("vllm")})
    for (const AttentionLaw& law : profile_->attention_kernels)
      if (law.decode == (pass == AttentionPass::decode) && law.refinement.software.starts_with(whose))
        return law.refinement.software;
  return {};
}

Price IterationCost::attention(const KernelWork& work) const {
  AttentionQuery query;
  query.batch = work.sequences, query.queries = work.queries, query.keys = work.sequence;
  query.heads = work.heads, query.kv_heads = work.kv_heads, query.head_dim = work.head_dim;
  query.precision = types_.attention;
  if (work.walked > 0) query.keys = std::max(work.queries, std::min(work.sequence, work.walked));
  query.pass = work.queries <= 1 ? AttentionPass::decode : AttentionPass::forward;
  const bool whole = query.pass == AttentionPass::decode && query.batch * query.heads > split_below;
  const double again = whole ? 1 + tuning_->keys_read_again * (query.heads / query.kv_heads - 1) : 1;
  auto time = attention_time(*profile_, query, software_of(query.pass));
  if (!time) {  // nobody timed decoding here: its bytes, as any kernel's
    const Seconds streamed = memory_time(profile_->memory, bytes_of(query)).time;
    return {streamed * again, Source::assumed, profile_->memory.spread, "memory stream", false, 0};
  }
  // Tables ask for the same keys again and again, which a large L2 holds; an engine's layers have keys of their own.
  if (query.pass == AttentionPass::decode) {
    AttentionQuery few = query;
    few.keys = std::min(query.keys, 16.0);
    constexpr double cold_share = 0.95;  // of the memory's rate: 7.3 of 7.7 TB/s on B200 (vLLM's blog of 2026-04-22)
    if (const auto start = attention_time(*profile_, few, software_of(query.pass)))
      time->time =
          std::max(time->time, start->time + bytes_of(query) / (cold_share * moves_->machine().gpu.memory_bandwidth));
  }
  time->time = time->time * again;
  return price_of(*time, query.pass == AttentionPass::decode ? "attention decode" : "attention");
}

Price IterationCost::kernel(const KernelWork& work, const Program& program) const {
  switch (work.kernel) {
    case KernelClass::gemm: return product(work, program);
    case KernelClass::attention: return attention(work);
    default: return price_of(memory_time(profile_->memory, work.bytes), "memory stream");
  }
}

Price IterationCost::move(const Move& move, const Program& program, bool graph) const {
  Price price = move.group < 0 ? Price{} : moves_->move(move, program.groups[move.group]);
  if (move.kind != MoveKind::all_reduce || move.group < 0) return price;
  const dataflow::Group& group = program.groups[move.group];
  const Span span = span_of(group, moves_->machine(), moves_->ranks());
  const auto* law =
      span.nodes > 1 ? nullptr : find_all_reduce(*profile_, engine_->kernels, graph, static_cast<int>(group.size));
  if (law == nullptr) return price;
  return {all_reduce_time(*law, move.local_before), law->source, law->spread, "engine all-reduce", false, price.tier};
}

IterationTime IterationCost::time(const Program& program, double sequences, bool graph) const {
  IterationTime out;
  const auto add = [&](const std::string& label, std::string shape, bool is_move, double calls, const Price& price,
                       Bytes bytes, Flops flops) {
    (is_move ? out.moves : out.kernels) += price.time * calls;
    const auto same = std::ranges::find_if(out.parts, [&](const IterationPart& part) {
      return part.label == label && part.shape == shape && part.is_move == is_move;
    });
    IterationPart& part = same != out.parts.end() ? *same : out.parts.emplace_back();
    part.label = label, part.shape = std::move(shape), part.is_move = is_move;
    part.calls += calls, part.time += price.time * calls, part.bytes += bytes * calls, part.flops += flops * calls;
    part.source = price.source, part.extrapolated = part.extrapolated || price.extrapolated;
  };
  for (const dataflow::Chunk& chunk : program.chunks)
    for (const dataflow::BlockRun& run : chunk.runs) {
      const dataflow::ProgramBlock& block = program.blocks[run.block];
      const auto times = static_cast<double>(run.count);
      for (const dataflow::Item& item : block.forward) {
        if (item.is_move) {
          const Move& move = block.moves[item.index];
          if (move.group < 0) continue;
          add(fmt::format("{}", move.label), "", true, times, this->move(move, program, graph), move.received,
              Flops(0));
        } else {
          const KernelWork& work = block.works[item.index];
          add(work.label, shape_of(work), false, times, kernel(work, program), work.bytes, work.flops);
        }
        out.launches += times;
      }
    }
  for (const dataflow::StageEdge& edge : program.edges)
    if (edge.bytes.value() > 0)
      add("boundary", "", true, 1, moves_->send(edge.bytes, edge.rank_distance), edge.bytes, Flops(0));
  out.kernels = out.kernels * tuning_->kernels;
  for (IterationPart& part : out.parts)
    if (!part.is_move) part.time = part.time * tuning_->kernels;
  const Seconds gpu = out.kernels + out.moves;
  out.launched = graph ? 0 : out.launches;
  const Seconds launching = tuning_->host_per_launch * out.launched;
  const Seconds before = tuning_->host_per_iteration + tuning_->host_per_sequence * sequences;
  // Launches run ahead of the GPU: the longer of the two counts. What prepares an iteration comes before it.
  const Seconds busy = std::max(gpu, launching);
  out.time = engine_->host_beside ? std::max(busy, before) : busy + before;
  out.host = out.time - gpu;
  out.spread = tuning_->spread;
  return out;
}

}  // namespace stepcast::sim
