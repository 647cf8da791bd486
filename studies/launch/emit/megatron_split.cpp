// Split, homes, recomputation, batch and number types in Megatron's arguments.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/schedule/layers/layer_layout.h"
#include "sim/schedule/schedule_table.h"
#include "studies/launch/emit/megatron_arguments.h"
#include "studies/run/split/layers.h"

namespace stepcast::launch {
namespace {

/// Experts lie as etp, ep, rest in Megatron, the stages where the order has them (parallel_state.py of core_v0.19.0).
void write_order(const Split& split, EmittedGroup& group, Unsaid& unsaid) {
  if (lies_as(split, usual_order)) return;
  if (!lies_as(split, stages_inside)) {
    unsaid.push_back(fmt::format(
        "the order {} of axes on the ranks; Megatron-LM has tp-cp-dp-pp and tp-cp-pp-dp, and runs the first",
        to_text(split.order)));
    return;
  }
  group.add_flag("use-tp-pp-dp-mapping", "stages lie on neighbours, data ranks far apart");
  if (split.experts && split.etp * split.ep != split.tp * split.cp)
    unsaid.push_back(fmt::format(
        "stages inside of data ranks with etp {} x ep {} experts' ranks on tp {} x cp {}; Megatron-LM refuses "
        "them where the two differ",
        split.etp, split.ep, split.tp, split.cp));
}

void write_context(const Split& split, EmittedGroup& group) {
  if (split.cp == 1) return;
  constexpr const char* words[] = {"p2p", "all_gather", "a2a"};
  constexpr const char* says[] = {"keys and values go round in a ring",
      "keys and values are gathered before the attention core", "the attention core is split by heads (Ulysses)"};
  const auto kind = static_cast<std::size_t>(split.context);
  group.add("context-parallel-size", split.cp, "the sequence is split on so many ranks");
  group.add("cp-comm-type", words[kind], says[kind]);
}

struct MegatronStages {
  std::int64_t chunks = 1;
  std::vector<std::int64_t> layers;  ///< per virtual stage; empty: even
};

/// Layers of all the chunks of a rank together. Schedules with chunks of their own run there and back.
std::vector<std::int64_t> layers_of_ranks(const Split& split) {
  const auto kind = find_schedule(split.schedule);
  const bool folded = kind && (*kind)->own_chunks == 2;
  const auto ranks = static_cast<std::size_t>(split.pp);
  std::vector<std::int64_t> layers(ranks, 0);
  for (std::size_t part = 0; part < split.layers.size(); ++part)
    layers[folded && part >= ranks ? 2 * ranks - 1 - part : part % ranks] += split.layers[part];
  return layers;
}

/// Interleaved where the plan has chunks and Megatron can run them; else one stage per rank.
MegatronStages stages_of_megatron(const EmitPlan& plan, Unsaid& unsaid) {
  const Split& split = plan.split;
  const bool runs = split.chunks == 1 ||
                    (split.pp > 1 && runs_schedule("interleaved-1f1b", split.pp, split.chunks, split.micro_batches));
  MegatronStages stages{split.chunks, split.layers};
  if (!runs) {
    stages.chunks = 1;
    stages.layers = split.layers.empty() ? split.layers : layers_of_ranks(split);
  }
  const char* own = split.chunks > 1 ? "interleaved-1f1b" : "1f1b";
  if (split.schedule != own || !runs)
    unsaid.push_back(fmt::format("the schedule {} on {} stages{}; Megatron-LM runs 1F1B{}", split.schedule, split.pp,
        split.chunks > 1 ? fmt::format(" with {} chunks", split.chunks) : "",
        stages.chunks > 1 ? fmt::format(", interleaved with {} chunks", stages.chunks) : ""));
  return stages;
}

void write_stage_split(const EmitPlan& plan, EmittedGroup& group, Unsaid& unsaid) {
  const NetworkSpec& network = plan.scenario->network.row;
  group.add("pipeline-model-parallel-size", plan.split.pp, "stages of layers");
  if (plan.split.scatter != Scatter::none && plan.split.pp > 1 && plan.split.tp > 1 && !plan.split.sequence)
    unsaid.emplace_back(
        "the stream sent between stages in tp pieces; Megatron-Core sends it whole from every rank without "
        "--sequence-parallel");
  const MegatronStages stages = stages_of_megatron(plan, unsaid);
  if (!stages.layers.empty() && plan.split.pp > 1) {
    const std::string layout = write_layer_layout(layout_of(stages.layers, network.mtp_layers));
    group.add("pipeline-model-parallel-layout", layout, "layers t of each virtual stage; E embedding, L loss");
  } else if (stages.chunks > 1) {
    group.add(
        "num-virtual-stages-per-pipeline-rank", stages.chunks, "chunks of layers per rank: the interleaved schedule");
  }
}

bool overlaps(Manners manners) { return manners == Manners::overlapped; }

/// Sends run beside compute in the interleaved schedule unless told otherwise, and never in the plain one.
void write_stage_overlap(const EmitPlan& plan, EmittedGroup& group, Unsaid& unsaid) {
  const std::optional<bool>& asked = plan.scenario->ways.pp_overlap;
  if (!asked || plan.split.pp == 1) return;
  if (!*asked && plan.split.chunks > 1)
    group.add_flag("no-overlap-p2p-communication", "stages wait for what they send");
  if (*asked && plan.split.chunks == 1)
    unsaid.emplace_back("sends between stages beside compute without chunks; Megatron-LM waits for them in plain 1F1B");
}

void write_overlap(const EmitPlan& plan, EmittedGroup& group, Unsaid& unsaid) {
  write_stage_overlap(plan, group, unsaid);
  const Stack& stack = plan.scenario->stack.row;
  const bool gradients = overlaps(stack.gradient_reduces),
             weights = overlaps(stack.weight_gathers) && plan.split.zero > 0;
  if (gradients) group.add_flag("overlap-grad-reduce", "gradients are reduced beside backward");
  if (weights && gradients) group.add_flag("overlap-param-gather", "weights are gathered beside forward");
  if (weights && !gradients)
    unsaid.emplace_back(
        "weights gathered beside compute while gradients are not; Megatron-LM overlaps both or none, and runs none");
  const Split& split = plan.split;
  if ((split.zero >= 2 && !gradients) || (split.zero == 3 && !weights))
    unsaid.emplace_back("data collectives that compute waits for; Megatron-FSDP runs them beside it");
  if (!overlaps(stack.activation_moves)) return;
  if (split.tp == 1 && (split.cp > 1 || split.ep > 1 || split.etp > 1))
    unsaid.emplace_back("moves of activations beside products without tp; Megatron-LM overlaps those of tp alone");
  if (split.tp == 1) return;
  if (split.sequence) group.add_flag("tp-comm-overlap", "gathers and scatters of activations run beside the products");
  else
    unsaid.emplace_back(
        "moves of activations beside products without sequence parallelism; Megatron-LM overlaps none of them");
}

struct MegatronNumbers {
  Precision precision;
  std::vector<EmittedArgument> arguments;
};

const std::vector<MegatronNumbers>& megatron_numbers() {
  static const std::vector<MegatronNumbers> rows = {{Precision::fp32, {}}, {Precision::tf32, {}},
      {Precision::fp16, {{"fp16", "", ""}}}, {Precision::bf16, {{"bf16", "", ""}}},
      {Precision::fp8,
          {{"bf16", "", ""}, {"fp8-format", "hybrid", ""}, {"fp8-recipe", "tensorwise", "one scale per tensor"}}},
      {Precision::mxfp8,
          {{"bf16", "", ""}, {"fp8-format", "e4m3", ""}, {"fp8-recipe", "mxfp8", "one scale per 32 numbers"}}},
      {Precision::nvfp4, {{"bf16", "", ""}, {"fp4-format", "e2m1", ""}}}};
  return rows;
}

/// What the plan has no word for but that decides what is run.
void write_software(const EmitPlan& plan, EmittedGroup& group) {
  const Stack& stack = plan.scenario->stack.row;
  const Precision precision = plan.scenario->plan.precision;
  const bool wide = gradient_bytes(stack, precision) >= 4;
  if (precision == Precision::fp16 && wide) group.add_flag("accumulate-allreduce-grads-in-fp32");
  const bool narrow = precision != Precision::fp32 && precision != Precision::tf32 && precision != Precision::fp16;
  if (narrow && !wide) group.add_flag("grad-reduce-in-bf16", "gradients are summed in two bytes");
  if (stack.attention == AttentionForm::unfused)
    group.add("attention-backend", "unfused", "scores are written to memory");
  if (std::find(stack.fused.begin(), stack.fused.end(), "loss") != stack.fused.end())
    group.add_flag("cross-entropy-loss-fusion");
}

}  // namespace

bool uses_megatron_fsdp(const Split& split) { return split.zero >= 2; }

EmittedGroup megatron_split(const EmitPlan& plan, Unsaid& unsaid) {
  const Split& split = plan.split;
  EmittedGroup group{fmt::format("Split: {} data ranks are left", split.dp), {}};
  group.add("tensor-model-parallel-size", split.tp, "heads and widths of each layer");
  write_context(split, group);
  write_stage_split(plan, group, unsaid);
  if (split.experts) {
    group.add("expert-model-parallel-size", split.ep, "experts, over the ranks of tp, cp and dp");
    group.add("expert-tensor-parallel-size", split.etp, "inside an expert; without a word it would be tp");
  }
  if (split.sequence) group.add_flag("sequence-parallel", "what tp leaves alone is split along the sequence");
  write_order(split, group, unsaid);
  if (!split.kept_gathers.empty())
    unsaid.emplace_back("gathered activations kept for backward; Megatron-LM keeps its shards and gathers them again");
  return group;
}

EmittedGroup megatron_homes(const EmitPlan& plan, Unsaid& unsaid) {
  const Split& split = plan.split;
  constexpr const char* headings[] = {"Weights, gradients and optimizer whole on every data rank",
      "Optimizer in shards over the data ranks", "Optimizer and gradients in shards over the data ranks",
      "Weights, gradients and optimizer in shards over the data ranks"};
  EmittedGroup group{headings[split.zero], {}};
  if (split.zero > 0) group.add_flag("use-distributed-optimizer");
  if (split.replicas > 1)
    group.add("num-distributed-optimizer-instances", split.replicas,
        fmt::format("copies, each in shards over {} data ranks", split.dp / split.replicas));
  if (uses_megatron_fsdp(split)) {
    group.add_flag("use-megatron-fsdp");
    group.add("data-parallel-sharding-strategy", split.zero == 2 ? "optim_grads" : "optim_grads_params");
    group.add("ckpt-format", "fsdp_dtensor", "the only one that it writes");
  }
  write_overlap(plan, group, unsaid);
  return group;
}

namespace {

/// Statements that --recompute-modules says (transformer_config.py of core_v0.19.0), printed as
/// dataflow/notation/print.cpp does.
struct RecomputedModule {
  std::string_view statement, module;
};
constexpr RecomputedModule recomputed_modules[] = {{"recompute norm", "layernorm"}, {"recompute mlp", "mlp"},
    {"recompute router dispatch expert combine", "moe"}, {"recompute shared", "shared_experts"}};

std::vector<std::string> modules_of(const EmitPlan& plan) {
  std::vector<std::string> modules;
  if (plan.split.recompute.kind == Recompute::Kind::selective) modules.emplace_back("core_attn");
  for (const RecomputedModule& row : recomputed_modules)
    if (std::find(plan.apart.begin(), plan.apart.end(), row.statement) != plan.apart.end())
      modules.emplace_back(row.module);
  return modules;
}

EmittedGroup recomputed_parts(const EmitPlan& plan, EmittedGroup group) {
  const std::vector<std::string> modules = modules_of(plan);
  if (modules.empty()) return group;
  group.add("recompute-granularity", "selective", "parts of layers");
  group.add("recompute-modules", fmt::format("{}", fmt::join(modules, " ")));
  return group;
}

}  // namespace

EmitPlan without_megatron_modules(EmitPlan plan) {
  if (plan.split.recompute.kind == Recompute::Kind::full) return plan;
  for (const RecomputedModule& row : recomputed_modules) std::erase(plan.apart, row.statement);
  return plan;
}

/// Megatron counts layers of a virtual stage, the plan those of a rank.
EmittedGroup megatron_recompute(const EmitPlan& plan, Unsaid& unsaid) {
  const Recompute& recompute = plan.split.recompute;
  EmittedGroup group{"Recomputation in backward", {}};
  if (recompute.kind != Recompute::Kind::full) return recomputed_parts(plan, std::move(group));
  const std::int64_t chunks = plan.split.chunks, layers = (recompute.layers + chunks - 1) / chunks;
  group.add("recompute-granularity", "full", "whole layers");
  group.add("recompute-method", recompute.layers > 0 ? "block" : "uniform");
  if (recompute.layers == 0) group.add("recompute-num-layers", 1, "each layer by itself");
  else group.add("recompute-num-layers", layers, "the first layers of each virtual stage; the rest are kept");
  if (recompute.layers > 0 && layers * chunks != recompute.layers)
    unsaid.push_back(
        fmt::format("recomputation of {} layers in {} chunks; Megatron-LM counts by chunk and recomputes {}",
            recompute.layers, chunks, layers * chunks));
  return group;
}

EmittedGroup megatron_batch(const EmitPlan& plan, Unsaid&) {
  const Plan& run = plan.scenario->plan;
  EmittedGroup group{"Batch", {}};
  group.add("seq-length", run.sequence);
  group.add("micro-batch-size", run.micro_batch);
  group.add("global-batch-size", run.global_batch,
      fmt::format("{} micro-batches on each of {} data ranks", plan.split.micro_batches, plan.split.dp));
  return group;
}

EmittedGroup megatron_precision(const EmitPlan& plan, Unsaid& unsaid) {
  const Plan& run = plan.scenario->plan;
  EmittedGroup group{fmt::format("Numbers: {}", to_text(run.precision)), {}};
  for (const MegatronNumbers& row : megatron_numbers())
    if (row.precision == run.precision) group.arguments = row.arguments;
  if (run.precision == Precision::tf32)
    unsaid.emplace_back("tf32; Megatron-LM has no argument for it and runs fp32 as PyTorch is set to");
  write_software(plan, group);
  if (run.lora_rank > 0)
    unsaid.push_back(fmt::format("LoRA adapters of rank {}{}; pretrain_gpt.py trains every weight", run.lora_rank,
        run.adapted.all() ? "" : " on " + run.adapted.text()));
  return group;
}

}  // namespace stepcast::launch
