// What torchtitan 0.2.2 cannot be told of a plan, and what it does instead.
// Sources at v0.2.2:
// torchtitan/distributed/{pipeline_parallel,parallel_dims,activation_checkpoint,dual_pipe_v,utils}.py,
// models/llama3/infra/parallelize.py.
#include <algorithm>

#include <fmt/format.h>

#include "studies/launch/emit/emit_text.h"
#include "studies/launch/emit/emit_torchtitan.h"

namespace stepcast {
namespace {

// Orders that torch lacks fall to the nearest one with the same stages on the same ranks.
constexpr TorchSchedule torch_schedules[] = {
    {"1f1b", "1F1B", true, true},
    {"gpipe", "GPipe", true, true},
    {"interleaved-1f1b", "Interleaved1F1B", false, true},
    {"interleaved-flex", "Interleaved1F1B", false, true},
    {"looped-bfs", "LoopedBFS", false, true},
    {"zb-h1", "InterleavedZeroBubble", false, true},
    {"interleaved-zb", "InterleavedZeroBubble", false, true},
    {"zb-v", "ZBVZeroBubble", false, true},
    {"dualpipev", "DualPipeV", false, true},
    {"gis", "Interleaved1F1B", false, false},
    {"zb-h2", "InterleavedZeroBubble", false, false},
    {"zb-1p", "InterleavedZeroBubble", false, false},
    {"zb-2p", "InterleavedZeroBubble", false, false},
    {"zb-auto", "InterleavedZeroBubble", false, false},
    {"v-half", "ZBVZeroBubble", false, false},
    {"v-min", "ZBVZeroBubble", false, false},
    {"v-1f1b", "ZBVZeroBubble", false, false},
    {"zb-v-auto", "ZBVZeroBubble", false, false},
    {"terapipe", "GPipe", true, false},
};

std::int64_t titan_layers(const EmitPlan& plan) { return plan.scenario->network.row.layers; }

/// Layers of each virtual stage; empty where they are not the same number and not listed either.
std::vector<std::int64_t> titan_counts(const EmitPlan& plan) {
  const std::int64_t stages = plan.split.pp * plan.split.chunks;
  if (!plan.split.layers.empty()) return plan.split.layers;
  return std::vector<std::int64_t>(static_cast<std::size_t>(stages), titan_layers(plan) / stages);
}

/// torchtitan replicates weights only where nothing else is split (models/llama3/infra/parallelize.py: DDP is one axis
/// alone).
bool titan_replicates(const Split& split) {
  return split.zero == 0 && split.dp > 1 && split.tp * split.cp * split.pp * split.ep == 1;
}

/// A single stage takes no place between the others (mapping_text.cpp); data ranks of one do, in the text of a mapping.
bool titan_usual_order(const Split& split) {
  std::vector<MeshAxis> order(split.order.begin(), split.order.end());
  if (split.pp == 1) std::erase(order, MeshAxis::pp);
  return std::is_sorted(order.begin(), order.end());
}

// Each says what is lost, or nothing.
using TitanGap = std::string (*)(const EmitPlan& plan);

std::string titan_network_gap(const EmitPlan& plan) {
  const NetworkSpec& network = plan.scenario->network.row;
  const TorchtitanModel* model = torchtitan_model(network.id);
  if (model != nullptr && model->until.empty()) return {};
  if (model != nullptr && model->until > std::string_view("2026")) return {};
  if (model != nullptr) return fmt::format("{} by a flavor: releases since {} ship none", network.name, model->until);
  return fmt::format("the geometry of {}: torchtitan ships no flavor of it, and takes one only from a model that is "
                     "registered as '{}'",
      network.name, network.id);
}

std::string titan_prediction_gap(const EmitPlan& plan) {
  if (plan.scenario->network.row.mtp_layers == 0) return {};
  return fmt::format("{} prediction module{}; it trains none", plan.scenario->network.row.mtp_layers,
      plan.scenario->network.row.mtp_layers == 1 ? "" : "s");
}

std::string titan_refusal_gap(const EmitPlan& plan) {
  const TorchtitanModel* model = torchtitan_model(plan.scenario->network.row.id);
  if (model == nullptr) return {};
  if (plan.split.pp > 1 && !model->stages)
    return fmt::format("pp {}; it refuses stages for {}", plan.split.pp, model->name);
  if (plan.split.cp > 1 && !model->context)
    return fmt::format("cp {}; it refuses context parallelism for {} {}, which runs flex attention", plan.split.cp,
        model->name, model->flavor);
  return {};
}

std::string titan_capacity_gap(const EmitPlan& plan) {
  const double factor = plan.scenario->network.row.experts.capacity_factor;
  return factor > 0 ? fmt::format("a capacity factor of {}; it drops and pads nothing", factor) : "";
}

std::string titan_order_gap(const EmitPlan& plan) {
  if (titan_usual_order(plan.split)) return {};
  return fmt::format("the mesh order {}; it lays them as {}", to_text(plan.split.order), to_text(usual_order));
}

std::string titan_sequence_gap(const EmitPlan& plan) {
  return plan.split.tp > 1 && !plan.split.sequence
             ? "tp without sequence parallelism; it always splits norms by position"
             : "";
}

std::string titan_vocabulary_gap(const EmitPlan& plan) {
  if (plan.split.tp == 1 || plan.split.vocabulary) return {};
  return fmt::format("a whole embedding and LM head beside tp; it splits the vocabulary of {} unevenly",
      plan.scenario->network.row.vocab);
}

std::string titan_context_gap(const EmitPlan& plan) {
  const bool by_heads = plan.split.cp > 1 && plan.split.context == ContextKind::ulysses;
  return by_heads ? "a core split by heads (ulysses); it sends keys and values round" : "";
}

std::string titan_divisor_gap(const EmitPlan& plan) {
  const std::int64_t sequence =
      plan.scenario->plan.sequence > 0 ? plan.scenario->plan.sequence : plan.scenario->network.row.sequence;
  const std::int64_t pieces = plan.split.tp * (plan.split.cp > 1 ? 2 * plan.split.cp : 1);
  if (sequence % pieces == 0) return {};
  return fmt::format("a sequence of {}; it wants a multiple of tp x 2 cp = {}", sequence, pieces);
}

std::string titan_zero_gap(const EmitPlan& plan) {
  const Split& split = plan.split;
  if (split.replicas > 1 && torchtitan_sharded_ranks(split) == 1)
    return fmt::format("zero {} over one rank; it keeps nothing in shards there", split.zero);
  if (split.zero >= 2 || titan_replicates(split)) return {};
  if (torchtitan_sharded_ranks(split) == 1)
    return split.zero == 1 ? "zero 1 over one rank; it keeps nothing in shards" : "";
  if (split.zero == 1)
    return "zero 1; it keeps weights and gradients in shards as well, and weights gathered from forward to backward "
           "(zero 2)";
  return "zero 0 beside another split; it replicates only where nothing else is split, and keeps all in shards here "
         "(zero 2)";
}

std::string titan_kept_gap(const EmitPlan& plan) {
  return plan.split.kept_gathers.empty() ? "" : "inputs kept gathered for backward; it gathers them again";
}

std::string titan_scatter_gap(const EmitPlan& plan) {
  return plan.split.scatter == Scatter::stated
             ? "a stream sent to the next stage in tp pieces; it sends what its layers hand on"
             : "";
}

std::string titan_recompute_gap(const EmitPlan& plan) {
  const Recompute& recompute = plan.split.recompute;
  if (recompute.kind == Recompute::Kind::selective)
    return "recomputation of the attention core alone; its selective kind keeps the core and runs pointwise operators "
           "and every "
           "second product again";
  if (recompute.kind == Recompute::Kind::full && torchtitan_recompute_every(plan) < 0)
    return fmt::format(
        "recomputation of {} layers of each stage; it takes every n-th, and all of them here", recompute.layers);
  return {};
}

std::string titan_schedule_gap(const EmitPlan& plan) {
  const Split& split = plan.split;
  const TorchSchedule schedule = torch_schedule(split);
  if (split.pp == 1 && split.schedule != "1f1b" && split.micro_batches > 1)
    return fmt::format(
        "the schedule {} without stages; it accumulates one micro-batch after the other", split.schedule);
  if (split.pp == 1 || schedule.same) return {};
  return fmt::format(
      "the schedule {}; it runs {}, or any order from a table of actions (pipeline_parallel_schedule_csv)",
      split.schedule, schedule.torch);
}

std::string titan_dual_gap(const EmitPlan& plan) {
  const bool refused = plan.split.schedule == "dualpipev" && plan.split.pp > 1 && plan.split.ep > 1 &&
                       plan.split.recompute.kind != Recompute::Kind::none;
  return refused ? "recomputation beside dualpipev and ep; it refuses the three together" : "";
}

std::string titan_precision_gap(const EmitPlan& plan) {
  const Precision precision = plan.scenario->plan.precision;
  if (precision == Precision::fp16 || precision == Precision::nvfp4)
    return fmt::format("{}; it computes in bf16", to_text(precision));
  if (precision == Precision::tf32) return "tf32; it computes in fp32";
  if (precision == Precision::fp32 || torchtitan_sharded_ranks(plan.split) > 1 || plan.split.tp * plan.split.pp == 1)
    return {};
  return fmt::format(
      "{} beside tp or pp alone; it mixes precisions only where something is in shards, and computes in fp32 here",
      to_text(precision));
}

std::string titan_adapter_gap(const EmitPlan& plan) {
  const std::int64_t rank = plan.scenario->plan.lora_rank;
  return rank > 0 ? fmt::format("adapters of rank {}; it trains all weights", rank) : "";
}

std::string titan_expert_gap(const EmitPlan& plan) {
  const Split& split = plan.split;
  if (!split.experts || split.etp == split.tp || (split.etp == 1 && split.ep > 1)) return {};
  return fmt::format(
      "etp {} beside tp {} and ep {}; it takes tp, or 1 where ep splits the experts", split.etp, split.tp, split.ep);
}

std::string titan_overlap_gap(const EmitPlan& plan) {
  const Stack& stack = plan.scenario->stack.row;
  const bool waits = stack.gradient_reduces == Manners::blocking || stack.weight_gathers == Manners::blocking;
  if (waits) return "data-parallel moves that wait; it runs them beside compute";
  if (stack.activation_moves == Manners::overlapped && stack.eager)
    return "tensor-parallel moves beside compute; it does that only in compiled layers";
  return {};
}

// clang-format off
constexpr TitanGap titan_gaps[] = {
    titan_network_gap, titan_prediction_gap, titan_refusal_gap, titan_capacity_gap, titan_order_gap, titan_sequence_gap,
    titan_vocabulary_gap, titan_context_gap, titan_divisor_gap, titan_zero_gap, titan_kept_gap, titan_scatter_gap,
    titan_recompute_gap, titan_schedule_gap, titan_dual_gap, titan_precision_gap, titan_adapter_gap, titan_expert_gap,
    titan_overlap_gap,
};
// clang-format on

}  // namespace

TorchSchedule torch_schedule(const Split& split) {
  const auto found = std::find_if(std::begin(torch_schedules), std::end(torch_schedules),
      [&](const TorchSchedule& row) { return row.ours == split.schedule; });
  return found == std::end(torch_schedules) ? TorchSchedule{split.schedule, "1F1B", true, false} : *found;
}

std::int64_t torchtitan_sharded_ranks(const Split& split) {
  return std::max(split.dp * split.cp, split.experts ? split.edp() : 1) / split.replicas;
}

TorchtitanShards torchtitan_shards(const Split& split) {
  if (titan_replicates(split)) return {split.dp, 1, ""};
  if (split.zero == 0 && torchtitan_sharded_ranks(split) == 1) return {1, split.dp, ""};
  return {split.replicas, split.dp / split.replicas, split.zero == 3 ? "always" : "never"};
}

std::int64_t torchtitan_recompute_every(const EmitPlan& plan) {
  const Recompute& recompute = plan.split.recompute;
  if (recompute.kind != Recompute::Kind::full) return 0;
  if (recompute.layers == 0) return 1;
  // torchtitan counts through all layers of a rank; the plan, through those of each stage.
  const std::vector<std::int64_t> counts = titan_counts(plan);
  const std::int64_t rank = counts.front() * plan.split.chunks;
  const bool even =
      std::all_of(counts.begin(), counts.end(), [&](std::int64_t count) { return count == counts.front(); });
  return even && recompute.layers <= rank && rank % recompute.layers == 0 ? rank / recompute.layers : -1;
}

std::vector<std::vector<std::string>> torchtitan_parts(const EmitPlan& plan) {
  const Split& split = plan.split;
  // Left to itself it gives every rank two stages of an order that can have several.
  const bool told = !split.layers.empty() || (!torch_schedule(split).one_stage && split.chunks == 1);
  if (split.pp == 1 || !told) return {};
  std::vector<std::vector<std::string>> parts;
  std::int64_t layer = 0;
  for (const std::int64_t count : titan_counts(plan)) {
    parts.emplace_back();
    for (std::int64_t i = 0; i < count; ++i) parts.back().push_back(fmt::format("layers.{}", layer++));
  }
  parts.front().insert(parts.front().begin(), "tok_embeddings");
  parts.back().insert(parts.back().end(), {"norm", "output"});
  return parts;
}

bool torchtitan_by_operator(std::string_view statement) {
  return statement.starts_with("recompute norm residual attn.");
}

std::vector<std::string> unsaid_torchtitan(const EmitPlan& plan) {
  EmitPlan others = plan;
  std::erase_if(others.apart, torchtitan_by_operator);
  std::vector<std::string> unsaid = unsaid_by_all(others, "torchtitan");
  for (const TitanGap gap : titan_gaps)
    if (std::string words = gap(plan); !words.empty()) unsaid.push_back(std::move(words));
  return unsaid;
}

}  // namespace stepcast
