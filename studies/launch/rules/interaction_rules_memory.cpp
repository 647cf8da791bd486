// Rules about what lies where: optimizer states and their overlap, ZeRO, FSDP, offload, recomputation. Refusals of
// Megatron are those of validate_args (megatron/training/arguments.py, main of 2026-08) unless another file is named.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "model/base/text.h"
#include "studies/launch/facts/text_if.h"
#include "studies/launch/rules/interaction_rule.h"

namespace stepcast::launch {
namespace {

std::string exposed_gradients(LaunchView& run) {
  if (run.shards() < 2 || run.asks(Asked::overlap_gradients) || run.prediction == nullptr) return {};
  const Phases& phases = run.prediction->step.phases;
  const double share = (phases.gradient_sync + phases.parameter_gather) / run.prediction->step.step_time;
  constexpr double worth_a_line = 0.005;
  if (share < worth_a_line) return {};
  return fmt::format("without {} the step waits {} for gradients and {} for weights ({} of it)",
      run.called(Asked::overlap_gradients), format_seconds(phases.gradient_sync),
      format_seconds(phases.parameter_gather), format_percent(share));
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

/// "emerging optimizers" of Megatron-LM, and what refuses them (megatron/training/arguments.py, validate_args).
std::string refused_optimizer(LaunchView& run) {
  constexpr std::string_view taken[] = {"sgd", "adam"},
                             sharders[] = {"use_megatron_fsdp", "use_custom_fsdp", "use_torch_fsdp2"};
  const std::string optimizer = lower_case(run.ask.text(Asked::optimizer_name).value_or("adam"));
  if (std::ranges::find(taken, optimizer) != std::end(taken)) return {};
  const auto found = std::ranges::find_if(sharders, [&](std::string_view name) { return run.has(name); });
  return found == std::end(sharders)
             ? ""
             : fmt::format("{} takes sgd or adam: Megatron refuses it beside {}", run.called(*found), optimizer);
}

/// megatron/core/transformer/transformer_config.py.
std::string method_without_full(LaunchView& run) {
  if (run.recomputes_all()) return {};
  for (const Asked asked : {Asked::recompute_method, Asked::recompute_layers}) {
    if (run.ask.answering(asked) == nullptr) continue;
    const auto granularity = run.ask.text(Asked::recompute);
    const bool selective = granularity && run.asks(Asked::recompute);
    return selective
               ? fmt::format("{} belongs to full recomputation: beside {} Megatron refuses it", run.called(asked),
                     run.called(Asked::recompute))
               : fmt::format("{} has no effect: {} full is missing", run.called(asked), run.called(Asked::recompute));
  }
  return {};
}

std::string selective_under_fused(LaunchView& run) {
  const auto granularity = run.ask.text(Asked::recompute);
  if (!granularity || run.recomputes_all() || !run.asks(Asked::recompute) || run.scenario == nullptr) return {};
  if (run.scenario->stack.row.attention != AttentionForm::fused) return {};
  const auto modules = run.ask.text(Asked::recompute_modules);
  if (modules && modules->find("core_attn") == modules->npos) return {};
  std::string others = modules.value_or("");
  if (const std::size_t at = others.find("core_attn"); at != others.npos) others.erase(at, 9);
  const bool alone = std::ranges::none_of(others, [](char c) { return std::isalpha(static_cast<unsigned char>(c)); });
  return fmt::format("{} saves little: the fused attention kernel keeps no scores that could be dropped",
      alone ? "selective recomputation" : "core_attn among the modules that run again");
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

}  // namespace

std::vector<InteractionRule> memory_rules_of_launches(LaunchView& run) {
  // NeMo 1 names the optimizer: distributed_fused_adam (Apex's), mcore_distributed_optim
  // and Megatron-LM's dist_muon lies in shards by its name
  const std::string called = lower_case(run.ask.text(Asked::optimizer_name).value_or(""));
  const bool named = called.find("distributed") != called.npos || called == "dist_muon";
  const bool in_shards = named || run.asks(Asked::sharded_optimizer) || run.asks(Asked::fully_sharded);
  const bool gathers_beside = run.asks(Asked::overlap_weights), torch = run.has("use_torch_fsdp2");
  const std::int64_t zero = run.ask.count(Asked::zero, 0);
  const GivenArgument* version = run.given("megatron_fsdp_version");
  const bool second = version != nullptr && version->value == "2";
  const std::string optimizer = run.called(Asked::sharded_optimizer), gathers = run.called(Asked::overlap_weights);
  const auto idle_alone = [&](Asked asked, const char* why) {
    return text_if(
        run.asks(asked) && run.dp == 1 && run.cp == 1, "{} has no effect at dp 1: {}", run.called(asked), why);
  };
  return {
      {"lone optimizer", any_framework, true, "sharded_optimizer",
          idle_alone(Asked::sharded_optimizer, "there is no rank to share states with")},
      {"lone gradients", any_framework, true, "overlap_gradients",
          idle_alone(Asked::overlap_gradients, "no gradient is reduced")},
      {"lone weights", any_framework, true, "overlap_weights",
          idle_alone(Asked::overlap_weights, "no weight is gathered")},
      {"gathers without shards", megatron_core, true, "overlap_weights",
          text_if(gathers_beside && !in_shards, "{} is refused without {}: whole weights are not gathered", gathers,
              optimizer)},
      {"gathers without reduces", megatron_core, true, "overlap_weights",
          text_if(gathers_beside && !run.asks(Asked::overlap_gradients), "{} is refused without {}", gathers,
              run.called(Asked::overlap_gradients))},
      // megatron/core/parallel_state.py and its callers: "Partial DistOpt cannot be used without DistOpt".
      {"copies without shards", megatron_core, true, "replicas sharded_optimizer",
          text_if(run.ask.count(Asked::replicas, 1) > 1 && !in_shards,
              "{} is refused without {}: there are no shards to hold several times", run.called(Asked::replicas),
              optimizer)},
      {"exposed gradients", megatron_core, false, "sharded_optimizer", exposed_gradients(run)},
      // deepspeed/runtime/pipe/engine.py: stages below gradients only.
      {"zero under stages", deepspeed, true, "zero pp",
          text_if(zero > 1 && run.pp > 1, "ZeRO-{} at pp {}: DeepSpeed's pipeline engine takes stage 0 and 1 only",
              zero, run.pp)},
      {"fsdp under stages", megatron_lm, true, "use_torch_fsdp2 pp ep",
          text_if(torch && (run.pp > 1 || run.ep > 1), "{} at pp {}, ep {}: Megatron takes it with neither",
              run.called("use_torch_fsdp2"), run.pp, run.ep)},
      {"fsdp and optimizer", megatron_lm, true, "use_torch_fsdp2 sharded_optimizer",
          text_if(torch && run.asks(Asked::sharded_optimizer),
              "{} and {} both shard the optimizer: Megatron refuses the two together", run.called("use_torch_fsdp2"),
              optimizer)},
      {"fsdp and other optimizers", megatron_lm, true, "use_megatron_fsdp use_torch_fsdp2 optimizer_name",
          refused_optimizer(run)},
      {"fsdp of version 2", megatron_lm, true, "megatron_fsdp_version sharded_optimizer",
          text_if(run.has("use_megatron_fsdp") && run.asks(Asked::sharded_optimizer) && second,
              "{} 2 is refused beside {}", run.called("megatron_fsdp_version"), optimizer)},
      {"offloaded", any_framework, false, "offload_weights offload_optimizer", offloaded(run)},
      {"method without full", megatron_core, true, "recompute_method recompute_layers recompute",
          method_without_full(run)},
      {"full without method", megatron_lm, true, "recompute",
          text_if(lower_case(run.ask.text(Asked::recompute).value_or("")) == "full" &&
                      run.ask.answering(Asked::recompute_method) == nullptr,
              "{} full needs {} uniform or block", run.called(Asked::recompute), run.called(Asked::recompute_method))},
      {"selective under fused", any_framework, false, "recompute recompute_modules", selective_under_fused(run)},
      {"needless recompute", any_framework, false, "recompute recompute_all", needless_recompute(run)},
  };
}

}  // namespace stepcast::launch
