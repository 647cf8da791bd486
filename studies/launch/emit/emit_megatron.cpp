// --emit megatron: a script that starts pretrain_gpt.py of today's Megatron-LM.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "studies/cli/shell_word.h"
#include "studies/launch/emit/carried.h"
#include "studies/launch/emit/megatron_arguments.h"

namespace stepcast::launch {
namespace {

/// A group with the name of its array in the script.
struct ScriptGroup {
  const char* array;
  EmittedGroup group;
};

/// What a run needs and the forecast says nothing about; another launch's own stands instead.
EmittedGroup run_needs(const Launch* like) {
  EmittedGroup group{"To be chosen: the step does not depend on it", {}};
  if (!gives_any(like, {"data_path", "mock_data", "train_data_path", "data_args_path", "per_split_data_args_path"}))
    group.add_flag("mock-data", "--data-path PREFIX for real text");
  if (!gives_any(like, {"train_iters", "train_samples"})) group.add("train-iters", 100);
  if (!gives_any(like, {"lr"})) group.add("lr", "1e-4");
  return group;
}

/// What stands beside the arguments in the head.
struct ScriptRemarks {
  std::vector<std::string> left_out;  ///< of the launch that the plan came from
  std::set<std::string> variables;    ///< "$DATA", which that launch took from outside
};

std::vector<ScriptGroup> megatron_groups(
    const EmitPlan& plan, const Launch* like, ScriptRemarks& remarks, Emission& emission) {
  Unsaid& unsaid = emission.unsaid;
  EmittedGroup network = megatron_network(plan, emission.refused);
  add_gaps(emission.refused, {kept_optimizer_gap(plan, like)});
  unsaid.insert(unsaid.end(), emission.refused.begin(), emission.refused.end());
  std::vector<ScriptGroup> groups = {{"NETWORK_ARGS", std::move(network)},
      {"VOCABULARY_ARGS",
          megatron_vocabulary(plan, gives_any(like, {"tokenizer_type", "tokenizer_model", "vocab_file"}), unsaid)},
      {"EXPERT_ARGS", megatron_experts(plan, unsaid)}, {"SPLIT_ARGS", megatron_split(plan, unsaid)},
      {"HOME_ARGS", megatron_homes(plan, unsaid)}, {"RECOMPUTE_ARGS", megatron_recompute(plan, unsaid)},
      {"BATCH_ARGS", megatron_batch(plan, unsaid)}, {"NUMBER_ARGS", megatron_precision(plan, unsaid)},
      {"RUN_ARGS", run_needs(like)}};
  if (like != nullptr) {
    std::set<std::string> written;
    for (const ScriptGroup& row : groups)
      for (const EmittedArgument& argument : row.group.arguments) written.insert(argument_name("--" + argument.name));
    groups.push_back({"KEPT_ARGS", carried_arguments(*like, written)});
    remarks = {not_carried(*like, written), variables_of(*like, groups.back().group)};
  }
  std::erase_if(groups, [](const ScriptGroup& row) { return row.group.arguments.empty(); });
  return groups;
}

/// Values are quoted where a shell would read them otherwise; lists ("p2p a2a") and what is quoted already stay.
std::string script_value(const EmittedArgument& argument, bool carried) {
  const bool list = argument.name == "recompute-modules";
  return argument.value.empty() || carried || list ? argument.value : shell_word(argument.value);
}

std::string array_text(const ScriptGroup& row) {
  constexpr std::size_t comment_column = 52;
  const bool carried = std::string_view(row.array) == "KEPT_ARGS";
  std::string text = comment_lines(row.group.heading) + fmt::format("{}=(\n", row.array);
  for (const EmittedArgument& argument : row.group.arguments) {
    const std::string value = script_value(argument, carried);
    std::string line = fmt::format("  --{}{}{}", argument.name, value.empty() ? "" : " ", value);
    if (!argument.comment.empty()) line = fmt::format("{:<{}}  # {}", line, comment_column, argument.comment);
    text += line + "\n";
  }
  return text + ")\n";
}

/// Megatron-LM wants one queue into the GPU where collectives overlap with products (before Blackwell), and
/// Megatron-FSDP several (validate_args of core_v0.19.0).
std::string environment_text(const EmitPlan& plan, const Launch* like) {
  const char* connections = "CUDA_DEVICE_MAX_CONNECTIONS";
  std::string text;
  if (like != nullptr)
    for (const EmittedArgument& row : carried_environment(*like))
      if (row.name != connections) text += fmt::format("export {}={}\n", row.name, row.value);
  const bool fsdp = uses_megatron_fsdp(plan.split);
  if (fsdp) return text + fmt::format("unset {}  # Megatron-FSDP refuses 1\n", connections);
  if (plan.split.tp > 1 || plan.split.cp > 1)
    text += fmt::format("export {}=1  # needed beside tp or cp on GPUs before Blackwell\n", connections);
  return text;
}

/// torchrun starts as many on each node: where the last node is not full, fewer on all.
std::string launcher_text(const EmitPlan& plan, const std::vector<ScriptGroup>& groups) {
  // core_v0.19.0: pretrain_gpt.py builds no pattern, and pretrain_hybrid.py wants one
  const bool hybrid = std::ranges::any_of(groups, [](const ScriptGroup& row) {
    return std::ranges::any_of(
        row.group.arguments, [](const EmittedArgument& one) { return one.name == "hybrid-layer-pattern"; });
  });
  const std::int64_t each = gpus_on_each(plan), nodes = plan.scenario->plan.gpus / each;
  std::string text = fmt::format("torchrun --nproc-per-node {} --nnodes {}", each, nodes);
  if (nodes > 1)
    text += " \\\n  --node-rank \"${NODE_RANK:-0}\" --master-addr \"${MASTER_ADDR:-localhost}\" --master-port "
            "\"${MASTER_PORT:-6000}\"";
  text += fmt::format(" \\\n  pretrain_{}.py", hybrid ? "hybrid" : "gpt");
  for (const ScriptGroup& row : groups) text += fmt::format(" \\\n  \"${{{}[@]}}\"", row.array);
  return text + "\n";
}

std::string remarks_text(const Launch& like, const ScriptRemarks& remarks) {
  std::string text;
  if (!remarks.left_out.empty())
    text += comment_lines(fmt::format("Left out of {}: {}.", like.where, fmt::join(remarks.left_out, "; ")));
  if (!remarks.variables.empty())
    text += comment_lines(
        fmt::format("It takes from outside, as {} did: {}.", like.where, fmt::join(remarks.variables, ", ")));
  return text;
}

std::string script_head(const EmitPlan& plan, const std::string& remarks, const Unsaid& unsaid) {
  std::string text = "#!/bin/bash\n";
  for (const std::string& line : header_of(plan, "megatron")) text += comment_lines(line);
  text += comment_lines(
      "For Megatron-LM core 0.19; run it in its checkout, on each node with NODE_RANK and MASTER_ADDR set.");
  for (const std::string& line : unsaid) text += comment_lines("It cannot say: " + line + ".");
  return text + remarks + "set -euo pipefail\n\n";
}

}  // namespace

Emission emit_megatron(const EmitPlan& plan) {
  const Launch* like = launch_of(plan.like, "megatron-lm");
  Emission emission;
  emission.unsaid = unsaid_by_all(without_megatron_modules(plan), "Megatron-LM");
  ScriptRemarks remarks;
  const std::vector<ScriptGroup> groups = megatron_groups(plan, like, remarks, emission);
  add_gaps(emission.unsaid, {node_gap(plan, "torchrun")});
  emission.beside = stack_beside(plan, "megatron-core");
  if (const Chosen<Stack>& stack = plan.scenario->stack; stack.id.empty())
    emission.unsaid.push_back(
        fmt::format("the software {}, of which the catalogue has no row; Megatron-LM is today's", stack.row.name));
  emission.text = script_head(plan, like == nullptr ? "" : remarks_text(*like, remarks), emission.unsaid);
  if (const std::string environment = environment_text(plan, like); !environment.empty())
    emission.text += environment + "\n";
  for (const ScriptGroup& row : groups) emission.text += array_text(row) + "\n";
  emission.text += launcher_text(plan, groups);
  return emission;
}

}  // namespace stepcast::launch
