// --emit deepspeed: the JSON file that deepspeed.initialize takes.
//
// JSON has no comments. DeepSpeed accepts unknown keys at the top of the file (DeepSpeedConfig._initialize_params of
// deepspeed/runtime/config.py asks for the keys that it knows, and nothing looks at the rest) and refuses them inside
// its sections (DeepSpeedConfigModel of config_utils.py: extra="forbid"), so comments stand in one key at the top that
// begins with an underscore.
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "studies/launch/emit/emit_beside.h"
#include "studies/launch/emit/emit_text.h"
#include "studies/launch/emit/nested_settings.h"

namespace stepcast {
namespace {

constexpr std::string_view ds_file = "ds_config.json", ds_flag = "--deepspeed";

/// Experts over ranks of their own (deepspeed/module_inject/auto_ep_config.py); AutoTP alone splits each expert over
/// tp.
bool ds_spreads_experts(const Split& split) { return split.experts && (split.ep > 1 || split.etp != split.tp); }
/// Both halves of a sequence mesh, of deepspeed/__init__.py; there is no third axis in it.
bool ds_has_ulysses(const Split& split) {
  return split.cp > 1 && split.context == ContextKind::ulysses && split.tp == 1 && split.pp == 1;
}
/// deepspeed/runtime/zero/mics.py.
bool ds_has_copies(const Split& split) { return split.replicas > 1 && split.zero == 3 && !ds_spreads_experts(split); }
/// pipeline.activation_checkpoint_interval of deepspeed/runtime/pipe/engine.py.
bool ds_recomputes(const Split& split) {
  return split.pp > 1 && split.recompute.kind == Recompute::Kind::full && split.recompute.layers == 0;
}
bool ds_reduces_beside(const EmitPlan& plan) {
  return plan.scenario->stack.row.gradient_reduces == Manners::overlapped;
}
bool ds_is_told_of_tensor_overlap(const EmitPlan& plan) {
  return plan.split.tp > 1 || plan.scenario->ways.tp_overlap.has_value();
}

std::string ds_precision_gap(const EmitPlan& plan) {
  const Precision precision = plan.scenario->plan.precision;
  const bool narrow = precision == Precision::fp8 || precision == Precision::mxfp8 || precision == Precision::nvfp4;
  return narrow ? fmt::format("{} products; it trains in bf16, unless the model brings layers of Transformer Engine",
                      to_text(precision))
                : "";
}

std::string ds_stages_gap(const EmitPlan& plan) {
  if (plan.split.pp == 1) return {};
  return fmt::format("pp {}; stages are made in the model's code, PipelineModule(num_stages={}), else every rank runs "
                     "all layers and all "
                     "ranks are data ranks",
      plan.split.pp, plan.split.pp);
}

std::string ds_stage_tensor_gap(const EmitPlan& plan) {
  if (plan.split.pp == 1 || plan.split.tp == 1) return {};
  return fmt::format(
      "tp {} beside stages; AutoTP splits Hugging Face models, and a PipelineModule brings split layers of its own",
      plan.split.tp);
}

std::string ds_stage_homes_gap(const EmitPlan& plan) {
  if (plan.split.pp == 1 || plan.split.zero < 2) return {};
  return fmt::format("zero {} beside stages; its pipeline engine refuses stages 2 and 3 of ZeRO", plan.split.zero);
}

std::string ds_copies_gap(const EmitPlan& plan) {
  const Split& split = plan.split;
  if (split.replicas == 1 || ds_has_copies(split)) return {};
  return fmt::format("{} copies of what zero {} keeps in shards; MiCS has them of dense models in stage 3 alone, and "
                     "shards lie over all data ranks",
      split.replicas, split.zero);
}

std::string ds_schedule_gap(const EmitPlan& plan) {
  if (plan.split.pp == 1 || (plan.split.schedule == "1f1b" && plan.split.chunks == 1)) return {};
  return fmt::format(
      "the schedule {}; its pipeline engine runs 1f1b with one run of layers per stage", plan.split.schedule);
}

std::string ds_layers_gap(const EmitPlan& plan) {
  return plan.split.pp == 1 || plan.split.layers.empty()
             ? ""
             : "layers dealt out unevenly; PipelineModule(partition_method) does it, by parameters unless told";
}

std::string ds_context_gap(const EmitPlan& plan) {
  const Split& split = plan.split;
  if (split.cp == 1 || ds_has_ulysses(split)) return {};
  if (split.context == ContextKind::ulysses)
    return fmt::format(
        "cp {} beside tp or pp; sequence_parallel_size goes with data ranks alone, and all ranks take whole sequences",
        split.cp);
  return fmt::format(
      "cp {} by {}; it splits sequences by heads around attention (ulysses), else each rank takes whole ones", split.cp,
      to_text(split.context));
}

std::string ds_expert_gap(const EmitPlan& plan) {
  if (!ds_spreads_experts(plan.split) || plan.split.etp == 1) return {};
  return fmt::format(
      "etp {} beside ep {} and tp {}; experts that are spread over ranks stay whole (expert_tensor_parallel_size 1)",
      plan.split.etp, plan.split.ep, plan.split.tp);
}

std::string ds_sequence_gap(const EmitPlan& plan) {
  return plan.split.sequence
             ? "sequence parallelism beside tp; AutoTP keeps the stream whole on every rank and all-reduces it"
             : "";
}

std::string ds_vocabulary_gap(const EmitPlan& plan) {
  return plan.split.vocabulary
             ? "a vocabulary split over tp; AutoTP keeps the embedding whole on every rank, and gathers logits"
             : "";
}

std::string ds_recompute_gap(const EmitPlan& plan) {
  const Recompute& recompute = plan.split.recompute;
  if (recompute.kind == Recompute::Kind::none || ds_recomputes(plan.split)) return {};
  return fmt::format("{}; the program turns it on (gradient_checkpointing of the Trainer, "
                     "deepspeed.checkpointing.checkpoint in a model), and "
                     "only for whole layers; without it nothing is recomputed",
      recompute_in_words(recompute));
}

std::string ds_order_gap(const EmitPlan& plan) {
  return lies_as_usual(plan.split)
             ? ""
             : fmt::format("the mesh order {}; it lays ranks as {}", to_text(plan.split.order), to_text(usual_order));
}

/// deepspeed/runtime/engine.py: stage 0 reduces behind backward, and pipelines switch the overlap off.
std::string ds_overlap_gap(const EmitPlan& plan) {
  const bool apart = plan.scenario->stack.row.gradient_reduces != plan.scenario->stack.row.weight_gathers;
  if (apart) return "gradients and weights that move in different manners; overlap_comm says one for both";
  if (!plan.scenario->ways.dp_overlap.value_or(false)) return {};
  if (plan.split.zero == 0) return "gradients reduced beside backward without ZeRO; it reduces them behind backward";
  return plan.split.pp > 1
             ? "gradients reduced beside a pipeline's backward; its pipeline engine switches overlap_comm off"
             : "";
}

/// Stages send the stream in pieces where pipeline.pipe_partitioned says so.
std::string ds_boundary_gap(const EmitPlan& plan) {
  const Stack* habit = habit_of(plan);
  const bool waits_alike = habit == nullptr || habit->boundary_sends == plan.scenario->stack.row.boundary_sends;
  return plan.split.pp > 1 && plan.split.tp > 1 && waits_alike ? "" : boundary_gap(plan);
}

// One setting each, by its dotted name; "" = it is not written.
struct DsSetting {
  const char* name;
  std::string (*value)(const EmitPlan& plan);
};

std::string ds_count(std::int64_t count) { return std::to_string(count); }
std::string ds_number_type(const EmitPlan& plan, bool fp16) {
  const Precision precision = plan.scenario->plan.precision;
  if (precision == Precision::fp32 || precision == Precision::tf32) return {};
  return fp16 == (precision == Precision::fp16) ? "true" : "";
}
/// Unset, overlap_comm is on in stage 3 only; a plan means what it says.
std::string ds_overlap(const EmitPlan& plan) {
  return plan.split.zero > 0 || plan.scenario->ways.dp_overlap ? true_false(ds_reduces_beside(plan)) : "";
}
std::string ds_shard_ranks(const EmitPlan& plan) {
  return ds_has_copies(plan.split) ? ds_count(plan.split.dp / plan.split.replicas * plan.split.cp) : "";
}
std::string ds_tensor_overlap(const EmitPlan& plan) {
  return ds_is_told_of_tensor_overlap(plan)
             ? true_false(plan.scenario->stack.row.activation_moves == Manners::overlapped)
             : "";
}
std::string ds_interval(const EmitPlan& plan) {
  return plan.split.pp > 1 ? ds_count(ds_recomputes(plan.split) ? 1 : 0) : "";
}
std::string ds_pieces(const EmitPlan& plan) {
  return plan.split.pp > 1 && plan.split.tp > 1 ? true_false(plan.split.scatter != Scatter::none) : "";
}

constexpr DsSetting ds_settings[] = {
    {"train_batch_size", [](const EmitPlan& plan) { return ds_count(plan.scenario->plan.global_batch); }},
    {"train_micro_batch_size_per_gpu", [](const EmitPlan& plan) { return ds_count(plan.scenario->plan.micro_batch); }},
    {"gradient_accumulation_steps", [](const EmitPlan& plan) { return ds_count(plan.split.micro_batches); }},
    {"bf16.enabled", [](const EmitPlan& plan) { return ds_number_type(plan, false); }},
    {"fp16.enabled", [](const EmitPlan& plan) { return ds_number_type(plan, true); }},
    {"zero_optimization.stage", [](const EmitPlan& plan) { return ds_count(plan.split.zero); }},
    {"zero_optimization.mics_shard_size", ds_shard_ranks},
    {"zero_optimization.overlap_comm", ds_overlap},
    {"tensor_parallel.autotp_size",
        [](const EmitPlan& plan) { return ds_is_told_of_tensor_overlap(plan) ? ds_count(plan.split.tp) : ""; }},
    {"tensor_parallel.tp_overlap_comm", ds_tensor_overlap},
    {"expert_parallel.enabled",
        [](const EmitPlan& plan) { return std::string(ds_spreads_experts(plan.split) ? "true" : ""); }},
    {"expert_parallel.autoep_size",
        [](const EmitPlan& plan) { return ds_spreads_experts(plan.split) ? ds_count(plan.split.ep) : ""; }},
    {"expert_parallel.expert_tensor_parallel_size",
        [](const EmitPlan& plan) { return std::string(ds_spreads_experts(plan.split) ? "1" : ""); }},
    {"sequence_parallel_size",
        [](const EmitPlan& plan) { return ds_has_ulysses(plan.split) ? ds_count(plan.split.cp) : ""; }},
    {"data_parallel_size",
        [](const EmitPlan& plan) { return ds_has_ulysses(plan.split) ? ds_count(plan.split.dp) : ""; }},
    {"pipeline.activation_checkpoint_interval", ds_interval},
    {"pipeline.pipe_partitioned", ds_pieces},
};

/// Settings of the plan, then what the file that it came from says beside the step.
std::vector<NestedSetting> ds_file_settings(const EmitPlan& plan) {
  std::vector<NestedSetting> settings;
  std::set<std::string> written;
  for (const DsSetting& row : ds_settings) {
    written.insert(row.name);
    if (std::string value = row.value(plan); !value.empty()) settings.push_back({row.name, std::move(value)});
  }
  std::vector<NestedSetting> carried = carried_settings(plan.like, "deepspeed", written);
  if (carried.empty()) carried.push_back({"gradient_clipping", "1.0"});
  settings.insert(settings.end(), std::make_move_iterator(carried.begin()), std::make_move_iterator(carried.end()));
  return settings;
}

std::vector<std::string> ds_comment(const EmitPlan& plan, const Emission& emission) {
  std::vector<std::string> lines = header_of(plan, "deepspeed");
  lines.push_back("Neither the network nor the number of GPUs is in this file: " +
                  read_back_line(plan, ds_flag, ds_file, emission.beside));
  if (plan.split.tp > 1)
    lines.push_back(fmt::format("tensor_parallel needs a Hugging Face model and DeepSpeed {} or later.",
        plan.split.zero == 3 ? "0.19.4" : "0.16.4"));
  if (ds_has_ulysses(plan.split))
    lines.emplace_back(
        "sequence_parallel_size needs a model whose attention is deepspeed.sequence.layer.DistributedAttention.");
  for (const std::string& gap : emission.unsaid) lines.push_back("It cannot say: " + gap + ".");
  return lines;
}

std::string ds_list(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += fmt::format("{}    {}", text.empty() ? "" : ",\n", json_quoted(line));
  return "[\n" + text + "\n  ]";
}

std::string ds_text(const EmitPlan& plan, const Emission& emission) {
  std::vector<NestedSetting> settings = ds_file_settings(plan);
  std::vector<std::string> comment = ds_comment(plan, emission);
  for (const NestedSetting& setting : settings)
    if (!setting.followed) comment.push_back(fmt::format("No forecast follows {}.", setting.name));
  settings.insert(settings.begin(), {"_comment", ds_list(comment)});
  return nested_json(settings);
}

}  // namespace

Emission emit_deepspeed(const EmitPlan& plan) {
  Emission emission;
  const std::string sequence = seq_beside(plan);
  emission.beside = fmt::format("--gpus {}{}{}", plan.scenario->plan.gpus, sequence.empty() ? "" : " ", sequence);
  emission.unsaid = beside_unsaid(plan, "DeepSpeed");
  add_gaps(emission.unsaid, plan,
      {ds_precision_gap, ds_stages_gap, ds_stage_tensor_gap, ds_stage_homes_gap, ds_copies_gap, ds_schedule_gap,
          ds_layers_gap, ds_context_gap, ds_expert_gap, ds_sequence_gap, ds_vocabulary_gap, ds_recompute_gap,
          ds_order_gap, ds_overlap_gap, ds_boundary_gap});
  emission.text = ds_text(plan, emission);
  return emission;
}

}  // namespace stepcast
