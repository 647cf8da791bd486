#include "studies/launch/dialects/settle_dialect.h"

#include <algorithm>

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

Expected<void> settle_dialect(Launch& launch) {
  if (!refused_arguments(launch).empty()) return {};  // an error of its own, in front of all others
  const auto row = std::ranges::find(settled_dialects, launch.framework->id, &SettledDialect::framework);
  const bool settled = row != std::end(settled_dialects);
  DialectWords words(launch, settled && row->nested);
  if (settled) TRY(row->settle(words));
  return settle_adapters(words);
}

}  // namespace stepcast::launch
