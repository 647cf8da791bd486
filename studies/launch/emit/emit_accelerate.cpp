// --emit accelerate: the YAML file that accelerate launch --config_file takes.
#include "studies/launch/emit/emit_accelerate.h"

#include <algorithm>

#include <fmt/format.h>

#include "studies/launch/emit/emit_text.h"
#include "studies/launch/emit/nested_settings.h"

namespace stepcast::launch {
namespace {

constexpr std::string_view accelerate_file = "accelerate.yaml", accelerate_flag = "--accelerate";

/// The file knows one word for 8 bits, and the engines' own recipes beside it.
std::string accelerate_precision(Precision precision) {
  if (precision == Precision::fp32 || precision == Precision::tf32) return "\"no\"";
  if (precision == Precision::fp16) return "fp16";
  return precision == Precision::fp8 ? "fp8" : "bf16";
}

EmittedGroup accelerate_machines(const EmitPlan& plan) {
  const std::int64_t gpus = plan.scenario->plan.gpus, machines = gpus / gpus_on_each(plan);
  EmittedGroup group;
  group.add("compute_environment", "LOCAL_MACHINE");
  group.add("distributed_type", std::string(to_text(accelerate_engine(plan.split))));
  group.add("num_machines", machines);
  group.add("num_processes", gpus, "of all machines together");
  group.add("machine_rank", 0, machines > 1 ? "another on each machine" : "");
  if (machines > 1) group.add("main_process_ip", "127.0.0.1", "address of machine 0");
  if (machines > 1) group.add("main_process_port", 29500);
  group.add("main_training_function", "main");
  group.add("mixed_precision", accelerate_precision(plan.scenario->plan.precision));
  return group;
}

EmittedGroup accelerate_fp8(const EmitPlan& plan, AccelerateEngine engine) {
  EmittedGroup group{"fp8_config", {}};
  if (plan.scenario->plan.precision == Precision::fp8)
    group.add("backend", engine == AccelerateEngine::fsdp ? "AO" : "TE",
        engine == AccelerateEngine::fsdp ? "torchao" : "Transformer Engine");
  return group;
}

EmittedGroup accelerate_fsdp(const Split& split) {
  EmittedGroup group{"fsdp_config", {}};
  group.add("fsdp_version", 2);
  group.add("fsdp_reshard_after_forward", true_false(split.zero == 3),
      split.zero == 3 ? "zero 3: weights are gathered for forward and again for backward"
                      : "zero 2: gathered weights stay until backward is done");
  group.add("fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP", "layer by layer");
  group.add("fsdp_activation_checkpointing", true_false(split.recompute.kind == Recompute::Kind::full),
      "every layer or none");
  group.add("fsdp_offload_params", "false");
  group.add("fsdp_state_dict_type", "SHARDED_STATE_DICT");
  group.add("fsdp_cpu_ram_efficient_loading", "true");
  return group;
}

EmittedGroup accelerate_mesh(const Split& split) {
  EmittedGroup group{"parallelism_config", {}};
  if (split.tp == 1 && split.cp == 1 && split.replicas == 1) return group;
  group.add("parallelism_config_dp_replicate_size", split.replicas);
  group.add("parallelism_config_dp_shard_size", split.dp / split.replicas);
  group.add("parallelism_config_tp_size", split.tp);
  group.add("parallelism_config_cp_size", split.cp);
  if (split.cp > 1)
    group.add("parallelism_config_cp_comm_strategy", split.context == ContextKind::gather ? "allgather" : "alltoall",
        split.context == ContextKind::gather ? "keys and values are gathered" : "keys and values go from rank to rank");
  return group;
}

EmittedGroup accelerate_deepspeed(const EmitPlan& plan) {
  EmittedGroup group{"deepspeed_config", {}};
  group.add("zero_stage", plan.split.zero);
  group.add("gradient_accumulation_steps", plan.split.micro_batches, "micro-batches of a step");
  group.add("gradient_clipping", "1.0");
  group.add("offload_optimizer_device", "none");
  group.add("offload_param_device", "none");
  group.add("zero3_init_flag", "false");
  return group;
}

/// Left out, the granularity is "full" and the context ranks are two (MegatronLMPlugin since 1.13): both are always
/// written.
EmittedGroup accelerate_megatron(const Split& split) {
  const auto named = [](const char* name) { return fmt::format("megatron_lm_{}", name); };
  EmittedGroup group{"megatron_lm_config", {}};
  group.add(named("tp_degree"), split.tp);
  group.add(named("pp_degree"), split.pp);
  group.add(named("context_parallel_size"), split.cp, "left out, accelerate makes it 2");
  if (split.experts) group.add(named("expert_model_parallel_size"), split.ep);
  if (split.experts) group.add(named("expert_tensor_parallel_size"), split.etp);
  group.add(named("num_micro_batches"), split.micro_batches, "of a step");
  group.add(named("sequence_parallelism"), true_false(split.sequence));
  group.add(named("use_distributed_optimizer"), true_false(split.zero > 0), "zero 1");
  group.add(named("recompute_granularity"), split.recompute.kind == Recompute::Kind::selective ? "selective" : "full",
      split.recompute.kind == Recompute::Kind::none ? "there is no word for none" : "");
  if (split.recompute.kind == Recompute::Kind::full) {
    group.add(named("recompute_method"), split.recompute.layers > 0 ? "block" : "uniform");
    group.add(named("recompute_num_layers"), std::max<std::int64_t>(1, split.recompute.layers),
        split.recompute.layers > 0 ? "layers of each stage" : "layers of a group");
  }
  if (const std::int64_t last = accelerate_last_layers(split); last > 0)
    group.add(named("decoder_last_pipeline_num_layers"), last);
  group.add(named("gradient_clipping"), "1.0");
  return group;
}

/// A setting of the file that the plan came from goes where it stood, if there is such a section now, in place of the
/// one there.
void take_carried(std::vector<EmittedGroup>& groups, const NestedSetting& setting) {
  const std::size_t dot = setting.name.find('.');
  const std::string heading = dot == setting.name.npos ? "" : setting.name.substr(0, dot);
  const std::string name = dot == setting.name.npos ? setting.name : setting.name.substr(dot + 1);
  const auto group =
      std::find_if(groups.begin(), groups.end(), [&](const EmittedGroup& row) { return row.heading == heading; });
  if (group == groups.end() || !is_plain_name(name)) return;
  const auto own = std::find_if(
      group->arguments.begin(), group->arguments.end(), [&](const EmittedArgument& row) { return row.name == name; });
  const EmittedArgument carried{name, setting.value, setting.followed ? "" : "no forecast follows it"};
  if (own == group->arguments.end()) group->arguments.push_back(carried);
  else *own = carried;
}

std::vector<EmittedGroup> accelerate_groups(const EmitPlan& plan) {
  const AccelerateEngine engine = accelerate_engine(plan.split);
  std::vector<EmittedGroup> groups = {accelerate_machines(plan), accelerate_fp8(plan, engine)};
  if (engine == AccelerateEngine::deepspeed) groups.push_back(accelerate_deepspeed(plan));
  if (engine == AccelerateEngine::megatron) groups.push_back(accelerate_megatron(plan.split));
  const bool torch = engine != AccelerateEngine::deepspeed && engine != AccelerateEngine::megatron;
  if (torch && compiled(plan.scenario->stack.row)) {
    EmittedGroup compiler{"dynamo_config", {}};
    compiler.add("dynamo_backend", "INDUCTOR", "the network is compiled");
    groups.push_back(compiler);
  }
  if (engine == AccelerateEngine::fsdp) {
    groups.push_back(accelerate_fsdp(plan.split));
    groups.push_back(accelerate_mesh(plan.split));
  }
  std::erase_if(groups, [](const EmittedGroup& group) { return group.arguments.empty(); });
  for (const NestedSetting& setting : carried_settings(plan.like, "accelerate", {})) take_carried(groups, setting);
  return groups;
}

std::string section_text(const EmittedGroup& group) {
  constexpr std::size_t comment_column = 52;
  const char* indent = group.heading.empty() ? "" : "  ";
  std::string text = group.heading.empty() ? "" : group.heading + ":\n";
  for (const EmittedArgument& row : group.arguments) {
    std::string line = fmt::format("{}{}: {}", indent, row.name, row.value);
    if (!row.comment.empty()) line = fmt::format("{:<{}}  # {}", line, comment_column, row.comment);
    text += line + "\n";
  }
  return text;
}

/// What the program says, as the Hugging Face Trainer has it and as it stands beside the file here.
std::string program_line(const EmitPlan& plan) {
  const Plan& run = plan.scenario->plan;
  return fmt::format("The program says the rest; for one with the Trainer: --per_device_train_batch_size {} "
                     "--gradient_accumulation_steps {}.",
      run.micro_batch, plan.split.micro_batches);
}

std::string accelerate_head(const EmitPlan& plan, const Emission& emission) {
  std::string text;
  for (const std::string& line : header_of(plan, "accelerate")) text += comment_lines(line);
  text += comment_lines(
      "For accelerate 1.14: accelerate launch --config_file accelerate.yaml PROGRAM. " + program_line(plan));
  text += comment_lines("Network and batch are not in this file; it is read back by");
  text += fmt::format("#   {}\n", read_back_line(plan, accelerate_flag, accelerate_file, emission.beside));
  for (const std::string& gap : emission.unsaid) text += comment_lines("It cannot say: " + gap + ".");
  return text;
}

std::string accelerate_beside(const EmitPlan& plan) {
  const Plan& run = plan.scenario->plan;
  std::string flags = fmt::format("--micro-batch {}", run.micro_batch);
  if (!accelerate_says_batches(accelerate_engine(plan.split)))
    flags += fmt::format(" --global-batch {}", run.global_batch);
  const std::string sequence = seq_beside(plan);
  return sequence.empty() ? flags : flags + " " + sequence;
}

}  // namespace

AccelerateEngine accelerate_engine(const Split& split) {
  const bool mesh = split.tp > 1 || split.cp > 1;
  if (split.pp > 1 || (split.experts && (split.ep > 1 || split.etp > 1))) return AccelerateEngine::megatron;
  if (split.zero == 3) return AccelerateEngine::fsdp;
  if (mesh) return split.zero == 2 ? AccelerateEngine::fsdp : AccelerateEngine::megatron;
  // Between micro-batches FSDP keeps whole gradients here; DeepSpeed's stage 2 keeps its part.
  if (split.zero == 2) return split.micro_batches == 1 ? AccelerateEngine::fsdp : AccelerateEngine::deepspeed;
  if (split.zero == 1) return AccelerateEngine::deepspeed;
  return split.dp > 1 ? AccelerateEngine::plain : AccelerateEngine::one;
}

std::string_view to_text(AccelerateEngine engine) {
  constexpr std::string_view names[] = {"\"NO\"", "MULTI_GPU", "DEEPSPEED", "FSDP", "MEGATRON_LM"};
  return names[static_cast<std::size_t>(engine)];
}

std::int64_t accelerate_last_layers(const Split& split) {
  if (split.layers.size() < 2 || split.chunks > 1) return 0;
  const bool same = std::all_of(split.layers.begin(), split.layers.end() - 1,
      [&](std::int64_t layers) { return layers == split.layers.front(); });
  return same ? split.layers.back() : 0;
}

bool accelerate_says_batches(AccelerateEngine engine) {
  return engine == AccelerateEngine::deepspeed || engine == AccelerateEngine::megatron;
}

Emission emit_accelerate(const EmitPlan& plan) {
  Emission emission;
  emission.beside = accelerate_beside(plan);
  emission.unsaid = unsaid_accelerate(plan);
  add_gaps(emission.refused, {predictors_gap(plan)});
  emission.text = accelerate_head(plan, emission);
  for (const EmittedGroup& group : accelerate_groups(plan)) emission.text += section_text(group);
  return emission;
}

}  // namespace stepcast::launch
