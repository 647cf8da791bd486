// Rules about ranks and axes: tensor, sequence, context and expert parallelism. Refusals of Megatron are those of
// validate_args (megatron/training/arguments.py, main of 2026-08) unless another file is named.
#include <fmt/format.h>

#include "studies/launch/read/launch.h"
#include "studies/launch/rules/interaction_rule.h"
#include "studies/launch/facts/launch_release.h"
#include "studies/launch/read/launched_run.h"

namespace stepcast {
namespace {

std::string sp_without_tp(LaunchView& run) {
  if (run.tp > 1 || !run.ask.flag(Asked::sequence_parallel, false)) return {};
  return fmt::format(
      "{} has no effect at tp 1: there is nothing beside which to split", run.called(Asked::sequence_parallel));
}

/// An assertion from core 0.5 on; megatron/core/transformer/moe/moe_layer.py from 0.7 on.
std::string experts_want_sp(LaunchView& run) {
  if (run.experts < 2 || run.tp < 2 || run.sp) return {};
  return fmt::format(
      "experts at tp {} need {}: Megatron refuses to train them without", run.tp, run.called(Asked::sequence_parallel));
}

std::string heads_over_tp(LaunchView& run) {
  if (run.heads == 0 || run.heads % run.tp == 0) return {};
  return fmt::format("tp {} does not divide {} attention heads", run.tp, run.heads);
}

/// megatron/core/transformer/transformer_config.py: a multiple or a divisor.
std::string groups_over_tp(LaunchView& run) {
  const std::int64_t groups = run.ask.count(Asked::kv_heads, 0);
  if (groups == 0 || !run.ask.flag(Asked::grouped_queries, true) || groups % run.tp == 0 || run.tp % groups == 0)
    return {};
  return fmt::format("tp {} neither divides {} query groups nor is a multiple of them", run.tp, groups);
}

std::string repeated_groups(LaunchView& run) {
  const std::int64_t groups = run.ask.count(Asked::kv_heads, 0);
  if (groups == 0 || !run.ask.flag(Asked::grouped_queries, true) || run.tp <= groups || run.tp % groups != 0) return {};
  return fmt::format(
      "tp {} over {} query groups: {} ranks each make the same keys and values", run.tp, groups, run.tp / groups);
}

std::string tp_across_nodes(LaunchView& run) {
  if (run.gpus_per_node == 0 || run.tp <= run.gpus_per_node) return {};
  return fmt::format("tp {} spans {} nodes of {} GPUs: what every layer gathers and reduces crosses the slow network",
      run.tp, (run.tp + run.gpus_per_node - 1) / run.gpus_per_node, run.gpus_per_node);
}

std::string tensor_overlap_without_sp(LaunchView& run) {
  if (!run.ask.flag(Asked::overlap_tensor, false) || (run.sp && run.tp > 1)) return {};
  return fmt::format("{} needs {} at tp 2 or more: Megatron refuses it otherwise", run.called(Asked::overlap_tensor),
      run.called(Asked::sequence_parallel));
}

constexpr const char* connections_variable = "CUDA_DEVICE_MAX_CONNECTIONS";

bool one_connection(const LaunchView& run) {
  const auto found = run.launch.environment.find(connections_variable);
  return found != run.launch.environment.end() && found->second == "1";
}

bool shards_fully(LaunchView& run) { return run.ask.flag(Asked::fully_sharded, false); }

/// Compute and communication streams then keep the order of their launches; not asked for from Blackwell on, nor before
/// 23.04. Of words on a command line, and of a file of arguments, nobody knows what is set around them.
std::string one_connection_missing(LaunchView& run) {
  const std::string chip = run.scenario != nullptr ? run.scenario->machine.row.gpu.architecture : "";
  const bool newer = chip == "blackwell" || chip.starts_with("cdna");
  const ArgumentTable& table = run.launch.framework->table();
  const bool older = table.before(release_in_force(run.launch), "23.04");
  const bool bare = !has_surroundings(run.launch.where);
  if ((run.tp < 2 && run.cp < 2) || bare || newer || older || one_connection(run) || shards_fully(run)) return {};
  return fmt::format("tp {}, cp {}: Megatron-LM stops unless {}=1 is in the environment, and nothing sets it here{}",
      run.tp, run.cp, connections_variable, chip.empty() ? " (not asked for on Blackwell)" : "");
}

std::string one_connection_under_fsdp(LaunchView& run) {
  if (!shards_fully(run) || !one_connection(run)) return {};
  return fmt::format("{} is refused beside {}=1: its gathers would wait behind the kernels",
      run.called(Asked::fully_sharded), connections_variable);
}

std::string sequence_over_cp(LaunchView& run) {
  if (run.cp < 2 || run.sequence == 0 || run.sequence % (2 * run.cp) == 0) return {};
  return fmt::format("sequence {} is no multiple of 2 x cp {} = {}: each rank holds one piece of either half",
      run.sequence, run.cp, 2 * run.cp);
}

std::string sequence_over_tp(LaunchView& run) {
  if (!run.sp || run.tp < 2 || run.sequence == 0 || run.sequence % (run.tp * run.cp) == 0) return {};
  return fmt::format("sequence {} is no multiple of tp {} x cp {}, which sequence parallelism splits it over",
      run.sequence, run.tp, run.cp);
}

std::string ep_without_experts(LaunchView& run) {
  if (run.ep < 2 || run.experts > 1) return {};
  return fmt::format("ep {} without experts: {} is missing", run.ep, run.called(Asked::experts));
}

std::string ep_over_experts(LaunchView& run) {
  if (run.experts < 2 || run.experts % run.ep == 0) return {};
  return fmt::format("ep {} does not divide {} experts", run.ep, run.experts);
}

/// megatron/core/parallel_state.py: the ranks of a stage are laid out a second time for the experts.
std::string experts_over_ranks(LaunchView& run) {
  const std::int64_t stage = run.tp * run.cp * run.dp;
  if (run.experts < 2 || stage == 0 || stage % (run.ep * run.etp) == 0) return {};
  return fmt::format(
      "ep {} x etp {} = {} does not divide the {} ranks of a stage", run.ep, run.etp, run.ep * run.etp, stage);
}

std::string ranks_over_axes(LaunchView& run) {
  const std::int64_t ways = bounded_product({run.tp, run.pp, run.cp});
  if (run.gpus == 0 || run.gpus % ways == 0) return {};
  return fmt::format("{} GPUs are no multiple of tp {} x pp {} x cp {} = {}", run.gpus, run.tp, run.pp, run.cp, ways);
}

constexpr InteractionRule split_interaction_rules[] = {
    {"ranks over axes", any_framework, true, "world tp pp cp", ranks_over_axes},
    {"sp without tp", any_framework, true, "sequence_parallel tp", sp_without_tp},
    {"experts want sp", megatron_core, true, "experts tp", experts_want_sp},
    {"heads over tp", any_framework, true, "heads tp", heads_over_tp},
    {"groups over tp", megatron_core, true, "kv_heads tp", groups_over_tp},
    {"repeated groups", megatron_core, false, "kv_heads tp", repeated_groups},
    {"tp across nodes", any_framework, false, "tp gpus_per_node", tp_across_nodes},
    {"tensor overlap without sp", megatron_core, true, "overlap_tensor sequence_parallel", tensor_overlap_without_sp},
    {"one connection missing", megatron_lm, true, "tp cp", one_connection_missing},
    {"one connection under fsdp", megatron_lm, true, "fully_sharded", one_connection_under_fsdp},
    {"sequence over cp", megatron_core, true, "sequence cp", sequence_over_cp},
    {"sequence over tp", any_framework, true, "sequence sequence_parallel tp cp", sequence_over_tp},
    {"ep without experts", any_framework, true, "ep", ep_without_experts},
    {"ep over experts", any_framework, true, "ep experts", ep_over_experts},
    {"experts over ranks", megatron_core, true, "ep etp tp", experts_over_ranks},
};

}  // namespace

std::span<const InteractionRule> split_rules_of_launches() { return split_interaction_rules; }

}  // namespace stepcast
