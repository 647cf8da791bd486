// Rules about what lies where: optimizer states and their overlap, ZeRO, FSDP, offload, recomputation. Refusals of
// Megatron are those of validate_args (megatron/training/arguments.py, main of 2026-08) unless another file is named.
#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "model/base/text.h"
#include "studies/launch/rules/interaction_rule.h"

namespace stepcast {
namespace {

bool asks_for(LaunchView& run, Asked asked) { return run.ask.flag(asked, false); }

std::string idle_alone(LaunchView& run, Asked asked, const char* why) {
  if (!asks_for(run, asked) || run.dp != 1 || run.cp != 1) return {};
  return fmt::format("{} has no effect at dp 1: {}", run.called(asked), why);
}

std::string lone_optimizer(LaunchView& run) {
  return idle_alone(run, Asked::sharded_optimizer, "there is no rank to share states with");
}
std::string lone_gradients(LaunchView& run) {
  return idle_alone(run, Asked::overlap_gradients, "no gradient is reduced");
}
std::string lone_weights(LaunchView& run) { return idle_alone(run, Asked::overlap_weights, "no weight is gathered"); }

std::string gathers_without_shards(LaunchView& run) {
  if (!asks_for(run, Asked::overlap_weights) || asks_for(run, Asked::sharded_optimizer) ||
      asks_for(run, Asked::fully_sharded))
    return {};
  return fmt::format("{} is refused without {}: whole weights are not gathered", run.called(Asked::overlap_weights),
      run.called(Asked::sharded_optimizer));
}

std::string gathers_without_reduces(LaunchView& run) {
  if (!asks_for(run, Asked::overlap_weights) || asks_for(run, Asked::overlap_gradients)) return {};
  return fmt::format(
      "{} is refused without {}", run.called(Asked::overlap_weights), run.called(Asked::overlap_gradients));
}

/// megatron/core/parallel_state.py and its callers: "Partial DistOpt cannot be used without DistOpt".
std::string copies_without_shards(LaunchView& run) {
  if (run.ask.count(Asked::replicas, 1) < 2 || asks_for(run, Asked::sharded_optimizer) ||
      asks_for(run, Asked::fully_sharded))
    return {};
  return fmt::format("{} is refused without {}: there are no shards to hold several times", run.called(Asked::replicas),
      run.called(Asked::sharded_optimizer));
}

std::string exposed_gradients(LaunchView& run) {
  if (run.shards() < 2 || asks_for(run, Asked::overlap_gradients) || run.prediction == nullptr) return {};
  const Phases& phases = run.prediction->step.phases;
  const double share = (phases.gradient_sync + phases.parameter_gather) / run.prediction->step.step_time;
  constexpr double worth_a_line = 0.005;
  if (share < worth_a_line) return {};
  return fmt::format("without {} the step waits {} for gradients and {} for weights ({} of it)",
      run.called(Asked::overlap_gradients), format_seconds(phases.gradient_sync),
      format_seconds(phases.parameter_gather), format_percent(share));
}

/// deepspeed/runtime/pipe/engine.py: stages below gradients only.
std::string zero_under_stages(LaunchView& run) {
  const std::int64_t zero = run.ask.count(Asked::zero, 0);
  if (zero < 2 || run.pp < 2) return {};
  return fmt::format("ZeRO-{} at pp {}: DeepSpeed's pipeline engine takes stage 0 and 1 only", zero, run.pp);
}

std::string fsdp_under_stages(LaunchView& run) {
  if (!run.has("use_torch_fsdp2") || (run.pp < 2 && run.ep < 2)) return {};
  return fmt::format(
      "{} at pp {}, ep {}: Megatron takes it with neither", run.called("use_torch_fsdp2"), run.pp, run.ep);
}

std::string fsdp_and_optimizer(LaunchView& run) {
  if (!run.has("use_torch_fsdp2") || !asks_for(run, Asked::sharded_optimizer)) return {};
  return fmt::format("{} and {} both shard the optimizer: Megatron refuses the two together",
      run.called("use_torch_fsdp2"), run.called(Asked::sharded_optimizer));
}

/// What leaves the GPU by which argument.
struct OffloadRow {
  std::string_view name, what;
};
// clang-format off
constexpr OffloadRow offload_rows[] = {
    {"zero_optimization.offload_param.device", "weights"}, {"zero_optimization.cpu_offload_param", "weights"},
    {"zero_optimization.cpu_offload_params", "weights"}, {"offload_param_device", "weights"}, {"cpu_offloading_weights",
                                                                                               "weights"},
    {"fsdp_offload_params", "weights, gradients and optimizer states"},
    {"fsdp_config.cpu_offload", "weights, gradients and optimizer states"},
    {"training.enable_cpu_offload", "weights, gradients and optimizer states"},
    {"zero_optimization.offload_optimizer.device", "optimizer states"}, {"zero_optimization.cpu_offload",
                                                                         "optimizer states"},
    {"offload_optimizer_device", "optimizer states"}, {"optimizer_cpu_offload", "optimizer states"},
    {"megatron_lm_optimizer_cpu_offload", "optimizer states"}, {"cpu_optimizer", "optimizer states"},
    {"cpu_offloading", "activations"}, {"fine_grained_activation_offloading", "activations"},
    {"fsdp_config.activation_cpu_offload", "activations"}, {"compile.offload_activation", "activations"},
};
// clang-format on

std::string offloaded(LaunchView& run) {
  std::string asked;
  for (const OffloadRow& row : offload_rows)
    if (run.has(row.name)) asked += fmt::format("{}{} ({})", asked.empty() ? "" : ", ", run.called(row.name), row.what);
  return asked.empty()
             ? ""
             : asked + ": what leaves the GPU is not followed; the run needs less memory than forecast, and more time";
}

/// megatron/core/transformer/transformer_config.py.
std::string method_without_full(LaunchView& run) {
  if (run.recomputes_all()) return {};
  for (const Asked asked : {Asked::recompute_method, Asked::recompute_layers}) {
    if (run.ask.answering(asked) == nullptr) continue;
    const auto granularity = run.ask.text(Asked::recompute);
    const bool selective = granularity && run.ask.flag(Asked::recompute, false);
    return selective
               ? fmt::format("{} belongs to full recomputation: beside {} Megatron refuses it", run.called(asked),
                     run.called(Asked::recompute))
               : fmt::format("{} has no effect: {} full is missing", run.called(asked), run.called(Asked::recompute));
  }
  return {};
}

std::string full_without_method(LaunchView& run) {
  if (lower_case(run.ask.text(Asked::recompute).value_or("")) != "full" ||
      run.ask.answering(Asked::recompute_method) != nullptr)
    return {};
  return fmt::format(
      "{} full needs {} uniform or block", run.called(Asked::recompute), run.called(Asked::recompute_method));
}

std::string selective_under_fused(LaunchView& run) {
  const auto granularity = run.ask.text(Asked::recompute);
  if (!granularity || run.recomputes_all() || !run.ask.flag(Asked::recompute, false) || run.scenario == nullptr)
    return {};
  if (run.scenario->stack.row.attention != AttentionForm::fused) return {};
  const auto modules = run.ask.text(Asked::recompute_modules);
  if (modules && modules->find("core_attn") == modules->npos) return {};
  return "selective recomputation saves little: the fused attention kernel keeps no scores that could be dropped";
}

const ArgumentEffect* recompute_effect(const LaunchView& run) {
  for (const ExplainedArgument& argument : run.explained.arguments) {
    const bool asks = argument.fact != nullptr &&
                      (argument.fact->asks == Asked::recompute || argument.fact->asks == Asked::recompute_all);
    if (asks && argument.effect && argument.effect->why_not.empty()) return &*argument.effect;
  }
  return nullptr;
}

std::string needless_recompute(LaunchView& run) {
  const ArgumentEffect* effect = run.recomputes_all() && run.prediction != nullptr ? recompute_effect(run) : nullptr;
  if (effect == nullptr || effect->without_time >= effect->with_time) return {};
  const Bytes capacity = run.prediction->step.memory.capacity;
  if (effect->without_memory > capacity) return {};
  return fmt::format(
      "full recomputation costs {} a step ({}) and memory does not need it: without, the fullest rank holds {} of {}",
      format_seconds(effect->with_time - effect->without_time),
      format_percent((effect->with_time - effect->without_time) / effect->with_time),
      format_bytes(effect->without_memory), format_bytes(capacity));
}

constexpr InteractionRule memory_interaction_rules[] = {
    {"lone optimizer", any_framework, true, "sharded_optimizer", lone_optimizer},
    {"lone gradients", any_framework, true, "overlap_gradients", lone_gradients},
    {"lone weights", any_framework, true, "overlap_weights", lone_weights},
    {"gathers without shards", megatron_core, true, "overlap_weights", gathers_without_shards},
    {"gathers without reduces", megatron_core, true, "overlap_weights", gathers_without_reduces},
    {"copies without shards", megatron_core, true, "replicas sharded_optimizer", copies_without_shards},
    {"exposed gradients", megatron_core, false, "sharded_optimizer", exposed_gradients},
    {"zero under stages", deepspeed, true, "zero pp", zero_under_stages},
    {"fsdp under stages", megatron_lm, true, "use_torch_fsdp2 pp ep", fsdp_under_stages},
    {"fsdp and optimizer", megatron_lm, true, "use_torch_fsdp2 sharded_optimizer", fsdp_and_optimizer},
    {"offloaded", any_framework, false, "offload_weights offload_optimizer", offloaded},
    {"method without full", megatron_core, true, "recompute_method recompute_layers recompute", method_without_full},
    {"full without method", megatron_lm, true, "recompute", full_without_method},
    {"selective under fused", any_framework, false, "recompute recompute_modules", selective_under_fused},
    {"needless recompute", any_framework, false, "recompute recompute_all", needless_recompute},
};

}  // namespace

std::span<const InteractionRule> memory_rules_of_launches() { return memory_interaction_rules; }

}  // namespace stepcast
