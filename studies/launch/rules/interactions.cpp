// What rules see of a launch, and the run over all of them.
#include <algorithm>
#include <sstream>

#include "model/base/text.h"
#include "studies/launch/facts/argument_words.h"
#include "studies/launch/rules/interaction_rule.h"
#include "studies/launch/read/launched_run.h"
#include "studies/launch/facts/step_words.h"

namespace stepcast::launch {
namespace {

struct FrameworkBitsRow {
  std::string_view id;
  unsigned bits;
};
constexpr FrameworkBitsRow framework_bits_rows[] = {
    {"megatron-lm", megatron_lm | megatron_core},
    {"nemo", megatron_core},
    {"megatron-bridge", megatron_core},
    {"megatron-deepspeed", megatron_deepspeed | deepspeed},
    {"deepspeed", deepspeed},
    {"torchtitan", torchtitan},
};

unsigned bits_of(std::string_view framework) {
  unsigned bits = any_framework;
  for (const FrameworkBitsRow& row : framework_bits_rows)
    if (row.id == framework) bits |= row.bits;
  return bits;
}

/// Layers dealt to a rank over those of a chunk, where chunks are counted in layers.
std::int64_t said_chunks(LaunchView& run) {
  if (const auto chunks = run.ask.count(Asked::chunks)) return *chunks;
  const auto each = run.ask.count(Asked::layers_per_chunk);
  if (!each || run.layers == 0) return 1;
  return std::max<std::int64_t>(1, run.layers / run.pp / *each);
}

void take_view_axes(LaunchView& run) {
  LaunchAnswers& ask = run.ask;
  run.tp = ask.count(Asked::tp, 1);
  run.pp = ask.flag(Asked::no_stages, false) ? 1 : ask.count(Asked::pp, 1);
  run.cp = bounded_product({ask.count(Asked::cp, 1), ask.count(Asked::ulysses, 1)});
  run.ep = ask.count(Asked::ep, 1);
  run.etp = ask.count(Asked::etp, run.launch.framework->expert_tp ? run.tp : 1);
  run.sp = ask.flag(Asked::sequence_parallel, run.launch.framework->sequence_parallel);
  const Scenario* scenario = run.scenario;
  run.gpus = scenario != nullptr ? scenario->plan.gpus : ask.count(Asked::world, run.launch.gpus);
  constexpr std::int64_t most_gpus = 10'000'000;  // as --gpus: a launcher of more has a slip in it
  if (run.gpus > most_gpus) run.gpus = 0;
  run.gpus_per_node = scenario != nullptr ? scenario->machine.row.levels.front().gpus : run.launch.gpus_per_node;
  const std::int64_t ways = bounded_product({run.tp, run.pp, run.cp});
  run.dp = run.gpus % ways == 0 ? run.gpus / ways : 0;
}

void take_network(LaunchView& run) {
  LaunchAnswers& ask = run.ask;
  const NetworkSpec* spec = run.scenario != nullptr ? &run.scenario->network.row : nullptr;
  run.layers = spec != nullptr ? spec->layers : ask.count(Asked::layers, 0);
  run.heads = spec != nullptr ? spec->heads : ask.count(Asked::heads, 0);
  run.experts = spec != nullptr ? spec->experts.count : ask.count(Asked::experts, 0);
  run.sequence = spec != nullptr ? run.scenario->plan.sequence : ask.count(Asked::sequence, 0);
}

/// Without a word Megatron takes one micro-batch per step; torchtitan's stages cut a rank's batch into pieces of one
/// sequence.
void take_batch(LaunchView& run) {
  LaunchAnswers& ask = run.ask;
  run.micro_batch = ask.count(Asked::micro_batch, 0);
  run.global_batch = ask.count(Asked::global_batch, 0);
  const std::int64_t each = bounded_product({run.micro_batch, run.dp});
  if (run.scenario != nullptr) run.micro_batches = run.scenario->micro_batches;
  else if (each > 0)
    run.micro_batches = run.global_batch > 0 ? run.global_batch / each : ask.count(Asked::accumulation, 1);
  const bool cuts = (run.framework_bits & torchtitan) != 0 && run.pp > 1;
  if (run.scenario == nullptr && cuts) run.micro_batches *= run.micro_batch / ask.count(Asked::stage_batch, 1);
}

/// Arguments of a rule that stand in the launch, by question or by name.
std::vector<std::string> names_about(const LaunchView& run, std::string_view about) {
  std::istringstream words{std::string(about)};
  std::vector<std::string> names;
  for (std::string word; words >> word;) {
    const auto asked = asked_of(word);
    const GivenArgument* given = asked ? run.ask.answering(*asked) : run.given(word);
    if (given != nullptr && std::find(names.begin(), names.end(), given->name) == names.end())
      names.push_back(given->name);
  }
  return names;
}

}  // namespace

LaunchView::LaunchView(const ExplainedLaunch& of)
    : explained(of), launch(*of.launch), ask(*of.launch), scenario(of.scenario ? &*of.scenario : nullptr),
      prediction(of.prediction ? &*of.prediction : nullptr), framework_bits(bits_of(of.launch->framework->id)) {
  take_view_axes(*this);
  take_network(*this);
  chunks = said_chunks(*this);
  take_batch(*this);
}

const GivenArgument* LaunchView::given(std::string_view name) const {
  const GivenArgument* last = nullptr;
  for (const GivenArgument& argument : launch.arguments)
    if (names_argument(argument.name, name) && !says_none(argument.value)) last = &argument;
  return last;
}

bool LaunchView::has(std::string_view name) const {
  const GivenArgument* argument = given(name);
  return argument != nullptr && !is_switched_off(argument->value);
}

std::string LaunchView::called(Asked asked) const {
  if (const GivenArgument* argument = ask.answering(asked)) return spelled_argument(*argument);
  for (const ArgumentFact* fact : launch.framework->table().answering(asked))
    if (launch.framework->table().knows(*fact, launch.release)) return spelled_name(*launch.framework, fact->name);
  return std::string(asked_name(asked));
}

std::string LaunchView::called(std::string_view name) const {
  const GivenArgument* argument = given(name);
  return argument != nullptr ? spelled_argument(*argument) : spelled_name(*launch.framework, name);
}

bool LaunchView::recomputes_all() {
  return ask.flag(Asked::recompute_all, false) || lower_case(ask.text(Asked::recompute).value_or("")) == "full";
}

std::vector<Interaction> interactions_of(const ExplainedLaunch& explained) {
  LaunchView run(explained);
  std::vector<Interaction> found;
  for (const auto rules_of :
      {split_rules_of_launches, pipeline_rules_of_launches, memory_rules_of_launches, network_rules_of_launches})
    for (InteractionRule& rule : rules_of(run))
      if ((rule.frameworks & run.framework_bits) != 0 && !rule.text.empty())
        found.push_back({rule.id, names_about(run, rule.about), std::move(rule.text), rule.wrong});
  return found;
}

}  // namespace stepcast::launch
