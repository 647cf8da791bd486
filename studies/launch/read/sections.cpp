#include "studies/launch/read/sections.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/contains.h"
#include "model/base/text.h"
#include "studies/launch/facts/launch_release.h"

namespace stepcast::launch {
namespace {

/// Arguments that begin with `section` count only where `chooser` has one of `values` (lower case, between blanks).
struct SectionRule {
  std::string_view framework, section, chooser, values;
};
constexpr SectionRule section_rules[] = {
    // accelerate: utils/dataclasses.py and commands/launch.py hand a section over for its own distributed_type only
    {"accelerate", "fsdp_config.", "distributed_type", " fsdp "},
    {"accelerate", "deepspeed_config.", "distributed_type", " deepspeed "},
    {"accelerate", "megatron_lm_config.", "distributed_type", " megatron_lm "},
    // DeepSpeed: runtime/config.py, expert_parallel and torch_autocast do nothing unless enabled
    {"deepspeed", "torch_autocast.", "torch_autocast.enabled", " true 1 "},
    {"deepspeed", "expert_parallel.", "expert_parallel.enabled", " true 1 "},
};

/// Sections of a configuration that are of other data or programs than the training: NeMo's and NeMo-Aligner's
/// validation and test sets, generation while training, models beside the one that is trained.
constexpr std::string_view other_sections[] = {"validation_ds", "test_ds", "predict_ds", "validation", "test",
    "inference", "generate", "generation", "speculative", "draft", "critic", "reward_model", "ref_policy",
    "evaluation"};

/// The path up to such a section, where the argument is known by its end alone: "model.data.validation_ds" of its
/// micro_batch_size; "" of others.
std::string other_section(const Launch& launch, const GivenArgument& given) {
  const ArgumentFact* fact = launch.framework->table().find(given.name);
  if (fact == nullptr || !given.name.ends_with(fact->name)) return {};
  const std::string_view name = std::string_view(given.name).substr(0, given.name.size() - fact->name.size());
  for (std::size_t begin = 0, dot = name.find('.'); dot != name.npos; begin = dot + 1, dot = name.find('.', begin))
    if (contains(other_sections, name.substr(begin, dot - begin))) return std::string(name.substr(0, dot));
  return {};
}

/// What an engine does where it is told nothing: without `name` and any of `instead`, where `chooser` has `value`, it
/// is as if `name` were `becomes`; from release `since` on, and only beside `beside`, where those are not empty.
struct EngineDefault {
  std::string_view framework, chooser, value, name, becomes, since = {}, beside = {};
  std::array<std::string_view, 2> instead = {};
};
constexpr EngineDefault engine_defaults[] = {
    {"accelerate", "distributed_type", "deepspeed", "deepspeed_config.zero_stage", "2", "", "",
        {"zero_optimization.stage", "deepspeed_config.deepspeed_config_file"}},
    {"accelerate", "distributed_type", "fsdp", "fsdp_config.fsdp_sharding_strategy", "FULL_SHARD"},
    {"accelerate", "distributed_type", "fsdp", "parallelism_config.parallelism_config_cp_comm_strategy", "allgather",
        "", "parallelism_config.parallelism_config_cp_size"},
    // utils/dataclasses.py, MegatronLMPlugin
    {"accelerate", "distributed_type", "megatron_lm", "megatron_lm_config.megatron_lm_recompute_granularity", "full",
        "1.13.0"},
    {"accelerate", "distributed_type", "megatron_lm", "megatron_lm_config.megatron_lm_context_parallel_size", "2",
        "1.13.0"},
    // runtime/zero/config.py: overlap_comm is on in stage 3 only
    {"deepspeed", "zero_optimization.stage", "3", "zero_optimization.overlap_comm", "true"},
    {"deepspeed", "zero_optimization.stage", "2", "zero_optimization.overlap_comm", "false"},
    {"deepspeed", "zero_optimization.stage", "1", "zero_optimization.overlap_comm", "false"},
};

std::string value_or_nothing(const Launch& launch, std::string_view name) {
  const GivenArgument* given = launch.find(name);
  return given == nullptr ? "" : lower_case(given->value);
}

bool is_counted(const Launch& launch, const GivenArgument& given) {
  return std::none_of(std::begin(section_rules), std::end(section_rules), [&](const SectionRule& rule) {
    if (rule.framework != launch.framework->id || !given.name.starts_with(rule.section) || given.name == rule.chooser)
      return false;
    return rule.values.find(fmt::format(" {} ", value_or_nothing(launch, rule.chooser))) == rule.values.npos;
  });
}

bool is_default_here(const EngineDefault& row, const Launch& launch, const std::string& release) {
  if (row.framework != launch.framework->id || value_or_nothing(launch, row.chooser) != row.value) return false;
  if (!row.since.empty() && launch.framework->table().before(release, row.since)) return false;
  const auto given = [&](std::string_view name) { return !name.empty() && launch.find(name) != nullptr; };
  return !given(row.name) && std::ranges::none_of(row.instead, given) && (row.beside.empty() || given(row.beside));
}

/// FSDP 2 takes no sharding strategy: what it keeps gathered says it all. FSDP 1 takes a strategy's name there too.
void settle_fsdp(Launch& launch) {
  if (launch.framework->id != "accelerate" || value_or_nothing(launch, "distributed_type") != "fsdp") return;
  const std::string strategy = "fsdp_config.fsdp_sharding_strategy", reshard = "fsdp_config.fsdp_reshard_after_forward";
  const std::string kept = value_or_nothing(launch, reshard);
  const bool second = value_or_nothing(launch, "fsdp_config.fsdp_version") == "2";
  if (second) launch = without(std::move(launch), strategy);
  if (second || kept.empty() || kept == "true" || kept == "false") return;
  GivenArgument named = *launch.find(reshard);
  launch = without(std::move(launch), reshard);
  named.name = strategy;
  if (launch.find(strategy) == nullptr) launch.arguments.push_back(std::move(named));
}

}  // namespace

Launch counting_sections(Launch launch, std::vector<std::string>& notes) {
  std::set<std::string> passed_over;
  for (const GivenArgument& given : launch.arguments)
    if (!is_counted(launch, given)) passed_over.insert(given.name.substr(0, given.name.find('.')));
  if (!passed_over.empty())
    notes.push_back(fmt::format("switched off, so passed over: {}", fmt::join(passed_over, ", ")));
  std::set<std::string> others;
  for (const GivenArgument& given : launch.arguments)
    if (std::string section = other_section(launch, given); !section.empty()) others.insert(std::move(section));
  if (!others.empty()) notes.push_back(fmt::format("not of the training, so passed over: {}", fmt::join(others, ", ")));
  Launch counted = launch;
  std::erase_if(counted.arguments,
      [&](const GivenArgument& given) { return !is_counted(launch, given) || !other_section(launch, given).empty(); });
  settle_fsdp(counted);
  const std::string release = release_in_force(counted);
  for (const EngineDefault& row : engine_defaults)
    if (is_default_here(row, counted, release)) {
      counted.arguments.push_back({std::string(row.name), std::string(row.name), std::string(row.becomes), 0, {}});
      notes.push_back(
          fmt::format("{} {}, as {} has it there unless told", row.name, row.becomes, counted.framework->name));
    }
  return counted;
}

}  // namespace stepcast::launch
