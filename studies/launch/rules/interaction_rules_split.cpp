// Rules about ranks and axes: tensor, sequence, context and expert parallelism. Refusals of Megatron are those of
// validate_args (megatron/training/arguments.py, main of 2026-08) unless another file is named.
#include <algorithm>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "model/base/text.h"
#include "model/machine/gpu_words.h"
#include "studies/launch/facts/launch_release.h"
#include "studies/launch/facts/text_if.h"
#include "studies/launch/read/launch.h"
#include "studies/launch/read/launched_run.h"
#include "studies/launch/rules/interaction_rule.h"

namespace stepcast::launch {
namespace {

constexpr const char* connections_variable = "CUDA_DEVICE_MAX_CONNECTIONS";

bool one_connection(const LaunchView& run) {
  const auto found = run.launch.environment.find(connections_variable);
  return found != run.launch.environment.end() && found->second == "1";
}

/// Do its arguments tell all of the network? One that they name, and that is not found yet, may have experts.
bool tells_network(LaunchView& run) {
  const bool named = run.ask.answering(Asked::model_name) != nullptr ||
                     run.ask.answering(Asked::config_file) != nullptr ||
                     run.ask.answering(Asked::config_name) != nullptr;
  return run.scenario != nullptr || (run.layers > 0 && !named);
}

/// Compute and communication streams then keep the order of their launches; not asked for from Blackwell on, nor before
/// 23.04. Of words on a command line, and of a file of arguments, nobody knows what is set around them.
std::string one_connection_missing(LaunchView& run) {
  if ((run.framework_bits & megatron_lm) == 0) return {};
  const std::string chip = run.scenario != nullptr ? run.scenario->machine.row.gpu.architecture : "";
  const bool newer = chip == "blackwell" || chip.starts_with("cdna");
  const ArgumentTable& table = run.launch.framework->table();
  const bool older = table.before(release_in_force(run.launch), "23.04");
  const bool bare = !has_surroundings(run.launch.where);
  if ((run.tp < 2 && run.cp < 2) || bare || newer || older || one_connection(run) || run.asks(Asked::fully_sharded))
    return {};
  return fmt::format("tp {}, cp {}: Megatron-LM stops unless {}=1 is in the environment, and nothing sets it here{}",
      run.tp, run.cp, connections_variable, chip.empty() ? " (not asked for on Blackwell)" : "");
}

/// "p2p a2a", "['p2p', 'a2a']": how keys and values travel in each layer, or one word for all of them.
std::vector<std::string> words_of_context(LaunchView& run) {
  std::string text = lower_case(run.ask.text_or_default(Asked::context_kind).value_or(""));
  std::ranges::replace_if(
      text, [](char c) { return std::string_view("[]'\",").find(c) != std::string_view::npos; }, ' ');
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

/// megatron/core/transformer/transformer_config.py, __post_init__.
std::string kinds_over_layers(LaunchView& run) {
  const auto kinds = static_cast<std::int64_t>(words_of_context(run).size());
  return text_if(run.cp > 1 && kinds > 1 && run.layers > 0 && kinds != run.layers,
      "{} has {} kinds for {} layers: Megatron wants one for each layer, or one for all",
      run.called(Asked::context_kind), kinds, run.layers);
}

/// NVIDIA/TransformerEngine: transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py, of the
/// heads that a tensor rank holds.
std::string heads_over_all_to_all(LaunchView& run, std::int64_t groups) {
  if (run.cp < 2 || run.heads == 0 || run.heads % run.tp != 0) return {};
  const auto kinds = words_of_context(run);
  if (std::ranges::find(kinds, "a2a") == kinds.end()) return {};
  const std::int64_t heads = run.heads / run.tp, pairs = std::max<std::int64_t>(1, groups / run.tp);
  const bool grouped = groups > 0 && pairs % run.cp != 0;
  return text_if(heads % run.cp != 0 || grouped,
      "cp {} by all-to-all does not divide the {} query heads and {} key heads of a rank at tp {}: Transformer Engine "
      "refuses it",
      run.cp, heads, groups > 0 ? pairs : heads, run.tp);
}

}  // namespace

std::vector<std::string> other_gpus(const Launch& launch, const Machine& machine) {
  std::vector<std::string> doubts;
  if (names_other_gpu(launch.gpu_kind, machine))
    doubts.push_back(fmt::format("the job asks for GPUs '{:.40}', and the forecast is for {}: --machine chooses others",
        launch.gpu_kind, machine.name));
  std::string_view chip = chip_of_environment(launch.environment);
  if (const auto vendor = vendor_of_environment(launch.environment); chip.empty() && is_other_vendor(vendor, machine))
    chip = vendor;
  if (!chip.empty())
    doubts.push_back(fmt::format("its environment is for {}, and the forecast is for {}", chip, machine.name));
  return doubts;
}

std::vector<InteractionRule> split_rules_of_launches(LaunchView& run) {
  const std::int64_t ways = bounded_product({run.tp, run.pp, run.cp});
  const std::int64_t groups = run.ask.flag(Asked::grouped_queries, true) ? run.ask.count(Asked::kv_heads, 0) : 0;
  const std::int64_t ranks_of_group = groups > 0 ? run.tp / groups : 0;
  const std::int64_t node = std::max<std::int64_t>(1, run.gpus_per_node);
  const std::int64_t stage = run.tp * run.cp * run.dp;
  const std::string sequence_parallel = run.called(Asked::sequence_parallel);
  return {
      {"ranks over axes", any_framework, true, "world tp pp cp",
          text_if(run.gpus % ways != 0, "{} GPUs are no multiple of tp {} x pp {} x cp {} = {}", run.gpus, run.tp,
              run.pp, run.cp, ways)},
      {"sp without tp", any_framework, true, "sequence_parallel tp",
          text_if(run.tp == 1 && run.asks(Asked::sequence_parallel),
              "{} has no effect at tp 1: there is nothing beside which to split", sequence_parallel)},
      // An assertion from core 0.5 on; megatron/core/transformer/moe/moe_layer.py from 0.7 on.
      {"experts want sp", megatron_core, true, "experts tp",
          text_if(run.experts > 1 && run.tp > 1 && !run.sp,
              "experts at tp {} need {}: Megatron refuses to train them without", run.tp, sequence_parallel)},
      {"heads over tp", any_framework, true, "heads tp",
          text_if(run.heads % run.tp != 0, "tp {} does not divide {} attention heads", run.tp, run.heads)},
      // megatron/core/transformer/transformer_config.py: a multiple or a divisor.
      {"groups over tp", megatron_core, true, "kv_heads tp",
          text_if(groups > 0 && groups % run.tp != 0 && run.tp % groups != 0,
              "tp {} neither divides {} query groups nor is a multiple of them", run.tp, groups)},
      {"repeated groups", megatron_core, false, "kv_heads tp",
          text_if(ranks_of_group > 1 && run.tp % groups == 0,
              "tp {} over {} query groups: {} ranks each make the same keys and values", run.tp, groups,
              ranks_of_group)},
      {"tp across nodes", any_framework, false, "tp gpus_per_node",
          text_if(run.gpus_per_node > 0 && run.tp > node,
              "tp {} spans {} nodes of {} GPUs: what every layer gathers and reduces crosses the slow network", run.tp,
              (run.tp + node - 1) / node, node)},
      {"tensor overlap without sp", megatron_core, true, "overlap_tensor sequence_parallel",
          text_if(run.asks(Asked::overlap_tensor) && (!run.sp || run.tp == 1),
              "{} needs {} at tp 2 or more: Megatron refuses it otherwise", run.called(Asked::overlap_tensor),
              sequence_parallel)},
      {"one connection missing", megatron_lm, true, "tp cp", one_connection_missing(run)},
      {"one connection under fsdp", megatron_lm, true, "fully_sharded",
          text_if(run.asks(Asked::fully_sharded) && one_connection(run),
              "{} is refused beside {}=1: its gathers would wait behind the kernels", run.called(Asked::fully_sharded),
              connections_variable)},
      {"kinds of cp over layers", megatron_core, true, "context_kind layers", kinds_over_layers(run)},
      {"heads over cp", megatron_core, true, "context_kind cp heads kv_heads", heads_over_all_to_all(run, groups)},
      {"sequence over cp", megatron_core, true, "sequence cp",
          text_if(run.cp > 1 && run.sequence % (2 * run.cp) != 0,
              "sequence {} is no multiple of 2 x cp {} = {}: each rank holds one piece of either half", run.sequence,
              run.cp, 2 * run.cp)},
      {"sequence over tp", any_framework, true, "sequence sequence_parallel tp cp",
          text_if(run.sp && run.tp > 1 && run.sequence % (run.tp * run.cp) != 0,
              "sequence {} is no multiple of tp {} x cp {}, which sequence parallelism splits it over", run.sequence,
              run.tp, run.cp)},
      {"ep without experts", any_framework, true, "ep",
          text_if(run.ep > 1 && run.experts < 2 && tells_network(run), "ep {} without experts: {} is missing", run.ep,
              run.called(Asked::experts))},
      {"ep over experts", any_framework, true, "ep experts",
          text_if(
              run.experts > 1 && run.experts % run.ep != 0, "ep {} does not divide {} experts", run.ep, run.experts)},
      // megatron/core/parallel_state.py: the ranks of a stage are laid out a second time for the experts.
      {"experts over ranks", megatron_core, true, "ep etp tp",
          text_if(run.experts > 1 && stage % (run.ep * run.etp) != 0,
              "ep {} x etp {} = {} does not divide the {} ranks of a stage", run.ep, run.etp, run.ep * run.etp, stage)},
  };
}

}  // namespace stepcast::launch
