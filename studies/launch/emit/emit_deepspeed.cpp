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
#include "studies/launch/emit/refused_plans.h"
#include "studies/launch/facts/text_if.h"

namespace stepcast::launch {
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

std::vector<std::string> ds_gaps(const EmitPlan& plan) {
  const Split& split = plan.split;
  const Stack& stack = plan.scenario->stack.row;
  const Precision precision = plan.scenario->plan.precision;
  const bool narrow = precision == Precision::fp8 || precision == Precision::mxfp8 || precision == Precision::nvfp4;
  const bool other_context = split.cp > 1 && !ds_has_ulysses(split), by_heads = split.context == ContextKind::ulysses;
  // deepspeed/runtime/engine.py: stage 0 reduces behind backward, and pipelines switch the overlap off.
  const bool apart = stack.gradient_reduces != stack.weight_gathers;
  const bool beside = !apart && plan.scenario->ways.dp_overlap.value_or(false);
  // Stages send the stream in pieces where pipeline.pipe_partitioned says so.
  const Stack* habit = habit_of(plan);
  const bool waits_alike = habit == nullptr || habit->boundary_sends == stack.boundary_sends;
  const bool says_boundary = split.pp > 1 && split.tp > 1 && waits_alike;
  std::vector<std::string> unsaid = beside_unsaid(plan, "DeepSpeed");
  add_refusals(unsaid, "deepspeed", plan);
  add_gaps(unsaid,
      {text_if(narrow, "{} products; it trains in bf16, unless the model brings layers of Transformer Engine",
           to_text(precision)),
          text_if(split.pp > 1,
              "pp {}; stages are made in the model's code, PipelineModule(num_stages={}), else every rank runs all "
              "layers and all ranks are data ranks",
              split.pp, split.pp),
          text_if(split.pp > 1 && split.tp > 1,
              "tp {} beside stages; AutoTP splits Hugging Face models, and a PipelineModule brings split layers of its "
              "own",
              split.tp),
          text_if(split.replicas > 1 && !ds_has_copies(split),
              "{} copies of what zero {} keeps in shards; MiCS has them of dense models in stage 3 alone, and shards "
              "lie over all data ranks",
              split.replicas, split.zero),
          text_if(needs_schedule(split),
              "the schedule {}; its pipeline engine runs 1f1b with one run of layers per stage", split.schedule),
          text_if(split.pp > 1 && !split.layers.empty(),
              "layers dealt out unevenly; PipelineModule(partition_method) does it, by parameters unless told"),
          text_if(other_context && by_heads,
              "cp {} beside tp or pp; sequence_parallel_size goes with data ranks alone, and all ranks take whole "
              "sequences",
              split.cp),
          text_if(other_context && !by_heads,
              "cp {} by {}; it splits sequences by heads around attention (ulysses), else each rank takes whole ones",
              split.cp, to_text(split.context)),
          text_if(ds_spreads_experts(split) && split.etp > 1,
              "etp {} beside ep {} and tp {}; experts that are spread over ranks stay whole "
              "(expert_tensor_parallel_size 1)",
              split.etp, split.ep, split.tp),
          text_if(split.sequence,
              "sequence parallelism beside tp; AutoTP keeps the stream whole on every rank and all-reduces it"),
          text_if(split.vocabulary,
              "a vocabulary split over tp; AutoTP keeps the embedding whole on every rank, and gathers logits"),
          text_if(split.recompute.kind != Recompute::Kind::none && !ds_recomputes(split),
              "{}; the program turns it on (gradient_checkpointing of the Trainer, deepspeed.checkpointing.checkpoint "
              "in a model), and only for whole layers; without it nothing is recomputed",
              recompute_in_words(split.recompute)),
          order_gap(split),
          text_if(apart, "gradients and weights that move in different manners; overlap_comm says one for both"),
          text_if(beside && split.zero == 0,
              "gradients reduced beside backward without ZeRO; it reduces them behind backward"),
          text_if(beside && split.zero > 0 && split.pp > 1,
              "gradients reduced beside a pipeline's backward; its pipeline engine switches overlap_comm off"),
          says_boundary ? "" : boundary_gap(plan)});
  return unsaid;
}

/// The plan's settings; an empty value is not written.
std::vector<NestedSetting> ds_settings(const EmitPlan& plan) {
  const Split& split = plan.split;
  const Plan& run = plan.scenario->plan;
  const Stack& stack = plan.scenario->stack.row;
  const bool fp16 = run.precision == Precision::fp16,
             wide = run.precision == Precision::fp32 || run.precision == Precision::tf32;
  const bool tells_tensor = split.tp > 1 || plan.scenario->ways.tp_overlap.has_value();
  const bool spreads = ds_spreads_experts(split), ulysses = ds_has_ulysses(split);
  // Unset, overlap_comm is on in stage 3 only; a plan means what it says.
  const bool tells_overlap = split.zero > 0 || plan.scenario->ways.dp_overlap;
  return {
      {"train_batch_size", std::to_string(run.global_batch)},
      {"train_micro_batch_size_per_gpu", std::to_string(run.micro_batch)},
      {"gradient_accumulation_steps", std::to_string(split.micro_batches)},
      {"bf16.enabled", text_if(!wide && !fp16, "true")},
      {"fp16.enabled", text_if(fp16, "true")},
      {"zero_optimization.stage", std::to_string(split.zero)},
      {"zero_optimization.mics_shard_size", text_if(ds_has_copies(split), "{}", split.dp / split.replicas * split.cp)},
      {"zero_optimization.overlap_comm", text_if(tells_overlap, "{}", stack.gradient_reduces == Manners::overlapped)},
      {"tensor_parallel.autotp_size", text_if(tells_tensor, "{}", split.tp)},
      {"tensor_parallel.tp_overlap_comm", text_if(tells_tensor, "{}", stack.activation_moves == Manners::overlapped)},
      {"expert_parallel.enabled", text_if(spreads, "true")},
      {"expert_parallel.autoep_size", text_if(spreads, "{}", split.ep)},
      {"expert_parallel.expert_tensor_parallel_size", text_if(spreads, "1")},
      {"sequence_parallel_size", text_if(ulysses, "{}", split.cp)},
      {"data_parallel_size", text_if(ulysses, "{}", split.dp)},
      {"pipeline.activation_checkpoint_interval", text_if(split.pp > 1, "{}", ds_recomputes(split) ? 1 : 0)},
      {"pipeline.pipe_partitioned", text_if(split.pp > 1 && split.tp > 1, "{}", split.scatter != Scatter::none)},
  };
}

/// Settings of the plan, then what the file that it came from says beside the step.
std::vector<NestedSetting> ds_file_settings(const EmitPlan& plan) {
  std::vector<NestedSetting> settings = ds_settings(plan);
  std::set<std::string> written;
  for (const NestedSetting& row : settings) written.insert(row.name);
  std::erase_if(settings, [](const NestedSetting& row) { return row.value.empty(); });
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
  emission.unsaid = ds_gaps(plan);
  add_gaps(emission.refused, {predictors_gap(plan)});
  emission.text = ds_text(plan, emission);
  const std::string stack = stack_beside(plan, "deepspeed-zero");  // the line in the file has it anyway
  if (!stack.empty()) emission.beside += " " + stack;
  return emission;
}

}  // namespace stepcast::launch
