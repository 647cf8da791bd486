#include "studies/launch/dialects/settle_dialect.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "calibrate/import/scripts/launch_words.h"
#include "studies/launch/dialects/adapted_modules.h"
#include "studies/launch/limits/understood.h"

namespace stepcast::launch {
namespace {

struct SettledDialect {
  std::string_view framework;
  Expected<void> (*settle)(DialectWords& words);
  bool nested = false;
};

Expected<void> settle_megatron_deepspeed(DialectWords& words) {
  if (!words.has_any({"deepspeed", "deepscale"}))
    words.note("no --deepspeed: read as if DeepSpeed ran it, as its other arguments ask");
  return {};
}

constexpr SettledDialect settled_dialects[] = {{"gpt-neox", settle_gpt_neox}, {"flagscale", settle_flagscale, true},
    {"nanotron", settle_nanotron, true}, {"torchtitan", settle_torchtitan}, {"megatron-lm", settle_megatron},
    {"megatron-deepspeed", settle_megatron_deepspeed}, {"megatron-swift", settle_megatron_swift},
    {"primus", settle_primus}, {"nemo", settle_nemo, true}, {"megatron-bridge", settle_nemo, true},
    {"litgpt", settle_litgpt}, {"olmo", settle_olmo}, {"openrlhf-sft", settle_openrlhf},
    {"torchtune", settle_torchtune}, {"verl-sft", settle_verl}, {"llama-factory", settle_llama_factory},
    {"axolotl", settle_axolotl}, {"ms-swift", settle_swift}, {"trainer", settle_trainer},
    {"accelerate", settle_trainer}, {"deepspeed", settle_trainer}};

}  // namespace

/// swift/cli/main.py, parse_yaml_args. Without a count of ranks a run is one of them.
void take_swift_environment(DialectWords& words) {
  constexpr std::string_view section = "ENV.", visible = "CUDA_VISIBLE_DEVICES";
  constexpr std::string_view counts[] = {"NPROC_PER_NODE", "NNODES"};
  Launch& launch = words.launch;
  const auto is_count = [&](std::string_view name) { return std::ranges::find(counts, name) != std::end(counts); };
  bool counted = launch.gpus > 0 || !launch.untold_gpus.empty(), sees_one = false;
  std::erase_if(launch.arguments, [&](const GivenArgument& given) {
    if (!given.name.starts_with(section)) return false;
    const std::string name = given.name.substr(section.size());
    const bool taken = launch.environment.emplace(name, given.value).second;
    if (!taken) words.note(fmt::format("{} {:.40}: the shell sets it, which comes first", given.name, given.value));
    counted = counted || is_count(name);
    sees_one = sees_one || (taken && name == visible && calibrate::visible_devices(given.value) == 1);
    return !taken && is_count(name);
  });
  if (counted || !sees_one) return;
  launch.gpus = launch.gpus_per_node = 1;
  words.note(fmt::format("{} of its ENV: 1 GPU", visible));
}

Expected<void> settle_dialect(Launch& launch) {
  if (!refused_arguments(launch).empty()) return {};  // an error of its own, in front of all others
  const auto row = std::ranges::find(settled_dialects, launch.framework->id, &SettledDialect::framework);
  const bool settled = row != std::end(settled_dialects);
  DialectWords words(launch, settled && row->nested);
  if (settled) TRY(row->settle(words));
  return settle_adapters(words);
}

}  // namespace stepcast::launch
