// What torchtitan 0.2.2 cannot be told of a plan, and what it does instead.
// Sources at v0.2.2:
// torchtitan/distributed/{pipeline_parallel,parallel_dims,activation_checkpoint,dual_pipe_v,utils}.py,
// models/llama3/infra/parallelize.py.
#include <algorithm>

#include <fmt/format.h>

#include "studies/launch/emit/emit_text.h"
#include "studies/launch/emit/emit_torchtitan.h"
#include "studies/launch/emit/refused_plans.h"
#include "studies/launch/facts/text_if.h"

namespace stepcast::launch {
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

/// Layers of each virtual stage; empty where they are not the same number and not listed either.
std::vector<std::int64_t> titan_counts(const EmitPlan& plan) {
  const std::int64_t stages = plan.split.pp * plan.split.chunks;
  if (!plan.split.layers.empty()) return plan.split.layers;
  return std::vector<std::int64_t>(static_cast<std::size_t>(stages), plan.scenario->network.row.layers / stages);
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

void add_titan_network_gaps(std::vector<std::string>& unsaid, const EmitPlan& plan) {
  const Split& split = plan.split;
  const NetworkSpec& network = plan.scenario->network.row;
  const TorchtitanModel* model = torchtitan_model(network.id);
  const TorchtitanModel known = model != nullptr ? *model : TorchtitanModel{};
  const bool left = !known.until.empty() && known.until <= std::string_view("2026");
  const bool refuses_stages = split.pp > 1 && !known.stages;
  const double factor = network.experts.capacity_factor;
  add_gaps(unsaid,
      {text_if(left, "{} by a flavor: releases since {} ship none", network.name, known.until),
          text_if(model == nullptr,
              "the geometry of {}: torchtitan ships no flavor of it, and takes one only from a model that is "
              "registered as '{}'",
              network.name, network.id),
          predictors_gap(plan), text_if(refuses_stages, "pp {}; it refuses stages for {}", split.pp, known.name),
          text_if(split.cp > 1 && !known.context && !refuses_stages,
              "cp {}; it refuses context parallelism for {} {}, which runs flex attention", split.cp, known.name,
              known.flavor),
          text_if(factor > 0, "a capacity factor of {}; it drops and pads nothing", factor)});
}

void add_titan_split_gaps(std::vector<std::string>& unsaid, const EmitPlan& plan) {
  const Split& split = plan.split;
  const std::int64_t pieces = split.tp * (split.cp > 1 ? 2 * split.cp : 1);
  const bool one_rank = torchtitan_sharded_ranks(split) == 1;
  const bool whole_copies = split.replicas > 1 && one_rank;
  const bool other_zero = !whole_copies && split.zero < 2 && !titan_replicates(split);
  add_gaps(unsaid,
      {text_if(!titan_usual_order(split), "the mesh order {}; it lays them as {}", to_text(split.order),
           to_text(usual_order)),
          text_if(
              split.tp > 1 && !split.sequence, "tp without sequence parallelism; it always splits norms by position"),
          text_if(split.tp > 1 && !split.vocabulary,
              "a whole embedding and LM head beside tp; it splits the vocabulary of {} unevenly",
              plan.scenario->network.row.vocab),
          text_if(split.cp > 1 && split.context == ContextKind::ulysses,
              "a core split by heads (ulysses); it sends keys and values round"),
          text_if(sequence_of(plan) % pieces != 0, "a sequence of {}; it wants a multiple of tp x 2 cp = {}",
              sequence_of(plan), pieces),
          text_if(whole_copies, "zero {} over one rank; it keeps nothing in shards there", split.zero),
          text_if(other_zero && one_rank && split.zero == 1, "zero 1 over one rank; it keeps nothing in shards"),
          text_if(other_zero && !one_rank && split.zero == 1,
              "zero 1; it keeps weights and gradients in shards as well, and weights gathered from forward to backward "
              "(zero 2)"),
          text_if(other_zero && !one_rank && split.zero == 0,
              "zero 0 beside another split; it replicates only where nothing else is split, and keeps all in shards "
              "here (zero 2)"),
          text_if(!split.kept_gathers.empty(), "inputs kept gathered for backward; it gathers them again"),
          text_if(split.scatter == Scatter::stated,
              "a stream sent to the next stage in tp pieces; it sends what its layers hand on")});
}

void add_titan_way_gaps(std::vector<std::string>& unsaid, const EmitPlan& plan) {
  const Split& split = plan.split;
  const Stack& stack = plan.scenario->stack.row;
  const Plan& run = plan.scenario->plan;
  const Recompute& recompute = split.recompute;
  const TorchSchedule schedule = torch_schedule(split);
  const bool no_bf16 = run.precision == Precision::fp16 || run.precision == Precision::nvfp4,
             wide = run.precision == Precision::fp32 || run.precision == Precision::tf32;
  const bool unmixed = torchtitan_sharded_ranks(split) == 1 && split.tp * split.pp > 1;
  const bool waits = stack.gradient_reduces == Manners::blocking || stack.weight_gathers == Manners::blocking;
  add_refusals(unsaid, "torchtitan", plan);
  add_gaps(unsaid,
      {text_if(recompute.kind == Recompute::Kind::selective,
           "recomputation of the attention core alone; its selective kind keeps the core and runs pointwise operators "
           "and every second product again"),
          text_if(recompute.kind == Recompute::Kind::full && torchtitan_recompute_every(plan) < 0,
              "recomputation of {} layers of each stage; it takes every n-th, and all of them here", recompute.layers),
          text_if(split.pp == 1 && split.schedule != "1f1b" && split.micro_batches > 1,
              "the schedule {} without stages; it accumulates one micro-batch after the other", split.schedule),
          text_if(split.pp > 1 && !schedule.same,
              "the schedule {}; it runs {}, or any order from a table of actions (pipeline_parallel_schedule_csv)",
              split.schedule, schedule.torch),
          text_if(no_bf16, "{}; it computes in bf16", to_text(run.precision)),
          text_if(run.precision == Precision::tf32, "tf32; it computes in fp32"),
          text_if(!no_bf16 && !wide && unmixed,
              "{} beside tp or pp alone; it mixes precisions only where something is in shards, and computes in fp32 "
              "here",
              to_text(run.precision)),
          text_if(run.lora_rank > 0, "adapters of rank {}{}; it trains all weights", run.lora_rank,
              run.adapted.all() ? "" : " on " + run.adapted.text()),
          text_if(split.experts && split.etp != split.tp && (split.etp > 1 || split.ep == 1),
              "etp {} beside tp {} and ep {}; it takes tp, or 1 where ep splits the experts", split.etp, split.tp,
              split.ep),
          text_if(waits, "data-parallel moves that wait; it runs them beside compute"),
          text_if(!waits && stack.activation_moves == Manners::overlapped && !compiled(stack),
              "tensor-parallel moves beside compute; it does that only in compiled layers")});
}

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
  for (const auto add : {add_titan_network_gaps, add_titan_split_gaps, add_titan_way_gaps}) add(unsaid, plan);
  return unsaid;
}

}  // namespace stepcast::launch
