#include "calibrate/measure/plan/phases.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace stepcast::calibrate {
namespace {

// Shares: three minutes of an H100 hold 64 products forward and a third of them backward, 24 in each other precision,
// attention at six lengths, each memory-bound operator nine times, and 17 s of sustained work.
constexpr std::array phase_table{
    PlannedPhase{
        {"launch", "kernels, graphs and events that do nothing: what starting work costs", 0.01}, launch_candidates},
    PlannedPhase{{"bandwidth", "device memory, level-2 cache, and copies between pinned host memory and the GPU", 0.07},
        bandwidth_candidates},
    PlannedPhase{{"gemm", "products as in forward (TN): own shapes, then shapes far apart", 0.13}, gemm_candidates},
    PlannedPhase{
        {"gemm-backward", "input gradients (NN) and accumulating weight gradients (NT)", 0.08}, backward_candidates},
    PlannedPhase{
        {"precisions", "24 of these shapes in fp8, tf32, fp16 and whatever else the GPU has; casts apart", 0.10},
        precision_candidates},
    PlannedPhase{{"skinny", "products of 1 to 256 rows: decoding, small experts", 0.04}, skinny_works},
    PlannedPhase{{"edges", "one row past a tile, vocabularies and widths that no tile divides", 0.03}, edge_works},
    PlannedPhase{
        {"batched", "strided batches: scores and contexts of attention that is not fused", 0.03}, batched_candidates},
    PlannedPhase{{"warm", "products whose operands stay in the level-2 cache", 0.01}, warm_candidates},
    PlannedPhase{
        {"attention", "fused attention forward and backward, 512 to 16384 positions", 0.12}, attention_candidates},
    PlannedPhase{
        {"decode", "attention of one query for each sequence, over batches and contexts", 0.05}, decode_candidates},
    PlannedPhase{
        {"membound", "norms, activations, softmax, loss, embedding, optimizer: three sizes, three row lengths", 0.17},
        membound_candidates},
    PlannedPhase{{"sustained", "products back to back for seconds, and in turn with lighter kernels", 0.11},
        sustained_candidates},
    PlannedPhase{{"beside", "products and copies at the same time", 0.02}, beside_candidates},
    PlannedPhase{{"repeat", "things measured early once more: drift", 0.03}, nullptr},
    PlannedPhase{{"collectives", "NCCL over the GPUs of this machine, or of all nodes: time of its own", 0}, nullptr},
};

Precision training_precision(const PlanRequest& request) {
  const auto has = [&](Precision precision) { return request.gpu.peak[static_cast<int>(precision)].value() > 0; };
  if (has(Precision::bf16) && request.capability_major >= 8) return Precision::bf16;
  return has(Precision::fp16) ? Precision::fp16 : Precision::fp32;
}

// A fit gains little from more than 256 shapes of one kind (5.2 % of error at 64 of them on an H100, 4.4 % at 256, 4.6
// % at 1024; own study on the tables of aiconfigurator 095f58a, roofline with a residual interpolation).
constexpr std::size_t most_shapes = 256;

struct PhaseOf {
  const PhaseContext& context;
  std::string_view operator()(const GemmQuery& g) const {
    if (g.precision != context.precision || g.block_scaled) return "precisions";
    if (g.batch > 1) return "batched";
    return g.layout == GemmLayout::tn ? "gemm" : "gemm-backward";
  }
  std::string_view operator()(const AttentionQuery& a) const {
    return a.pass == AttentionPass::decode ? "decode" : "attention";
  }
  std::string_view operator()(const MemoryQuery&) const { return "membound"; }
  std::string_view operator()(const TransferQuery&) const { return "bandwidth"; }
  std::string_view operator()(const LaunchQuery&) const { return "launch"; }
  std::string_view operator()(const MoeQuery&) const { return ""; }
  std::string_view operator()(const CollectiveQuery&) const { return ""; }
};

}  // namespace

std::span<const PlannedPhase> planned_phases() { return phase_table; }

std::span<const MeasurePhase> measure_phases() {
  static const auto phases = [] {
    std::array<MeasurePhase, phase_table.size()> out;
    std::transform(
        phase_table.begin(), phase_table.end(), out.begin(), [](const PlannedPhase& row) { return row.phase; });
    return out;
  }();
  return phases;
}

int phase_index(std::string_view id) {
  const auto found =
      std::find_if(phase_table.begin(), phase_table.end(), [&](const PlannedPhase& row) { return row.phase.id == id; });
  return found == phase_table.end() ? -1 : static_cast<int>(found - phase_table.begin());
}

int phase_of(const Query& query, const PhaseContext& context) {
  return phase_index(std::visit(PhaseOf{context}, query));
}

PlannedWork sampled_work(const Query& query, bool warm) {
  PlannedWork out;
  out.works = {Work{query, usual_source(query), warm, {}}};
  return out;
}

PlannedWork sampled_beside(const Query& query, const Query& beside) {
  PlannedWork out = sampled_work(query);
  out.works.front().beside = beside;
  return out;
}

PhaseContext phase_context(const PlanRequest& request) {
  // A context and libraries take some of the memory before anything is allocated.
  constexpr double for_us = 0.95;
  PhaseContext context{
      request, training_precision(request), request.gpu.memory * (request.rules.memory_share * for_us), {}, {}};
  const auto product = [&](const Shape& s) {
    return Query(GemmQuery{.m = s[0], .n = s[1], .k = s[2], .precision = context.precision});
  };
  for (const Query& query : request.own)
    if (const auto* g = std::get_if<GemmQuery>(&query);
        g != nullptr && phase_of(query, context) == phase_index("gemm") && context.fits(query))
      context.own.push_back({g->m, g->n, g->k});
  std::vector<Shape> candidates = training_candidates();
  std::erase_if(
      candidates, [&](const Shape& s) { return !context.fits(product(s)) || !context.short_enough(product(s)); });
  context.design = farthest_points(candidates, context.own, most_shapes);
  return context;
}

}  // namespace stepcast::calibrate
