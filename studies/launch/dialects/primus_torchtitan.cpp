#include "studies/launch/dialects/primus_torchtitan.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/catalog.h"
#include "studies/launch/dialects/dialect_words.h"
#include "studies/launch/facts/framework.h"
#include "studies/launch/facts/torchtitan_models.h"

namespace stepcast::launch {
namespace {

constexpr std::string_view trainer = "modules.pre_trainer.", overrides = "overrides.";

/// A preset of a network (AMD-AGI/Primus@fd1eeabbad: primus/configs/models/torchtitan).
struct Preset {
  std::string_view file, name, flavor;
  bool in_8_bits = true;  ///< "-fp8" behind its name is the same one with linear layers in 8 bits
};
constexpr Preset network_presets[] = {{"deepseek_v3_16b", "deepseek_v3", "16B"},
    {"deepseek_v3_236b", "deepseek_v3", "236B"}, {"deepseek_v3_671b", "deepseek_v3", "671B"},
    {"gpt_oss_120b", "gpt_oss", "120b"}, {"gpt_oss_20b", "gpt_oss", "20b"}, {"llama3.1_405B", "llama3", "405B"},
    {"llama3.1_70B", "llama3", "70B"}, {"llama3.1_8B", "llama3", "8B"}, {"llama3.2_1B", "llama3", "1B", false},
    {"llama3.3_70B", "llama3", "70B"}, {"llama3_70B", "llama3", "70B"}, {"llama3_8B", "llama3", "8B"},
    {"llama4_17Bx128E", "llama4", "17bx128e"}, {"llama4_17Bx16E", "llama4", "17bx16e"},
    {"qwen3_0.6b", "qwen3", "0.6B", false}, {"qwen3_1.7b", "qwen3", "1.7B", false},
    {"qwen3_14b", "qwen3", "14B", false}, {"qwen3_32b", "qwen3", "32B", false}, {"qwen3_4b", "qwen3", "4B", false},
    {"qwen3_8b", "qwen3", "8B", false}};

/// Of the training (primus/configs/modules/torchtitan/pre_trainer.yaml), where torchtitan itself has another value.
constexpr std::pair<std::string_view, std::string_view> training_preset[] = {{"activation_checkpoint.mode", "none"},
    {"compile.enable", "true"}, {"training.local_batch_size", "8"}, {"training.seq_len", "2048"}};

/// Its own arguments without a section, beside torchtitan's sections.
bool is_own(std::string_view name) { return name.find('.') == name.npos; }

/// "llama3.1_8B" of "models/llama3.1_8B.yaml".
std::string_view preset_file(std::string_view path) {
  path.remove_prefix(path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1);
  for (const std::string_view end : {".yaml", ".yml"})
    if (path.ends_with(end)) path.remove_suffix(end.size());
  return path;
}

Expected<const Preset*> preset_of(const Launch& launch, const GivenArgument& given, bool& eight_bits) {
  std::string_view file = preset_file(given.value);
  if (eight_bits = file.ends_with("-fp8"); eight_bits) file.remove_suffix(4);
  const auto row = std::ranges::find(network_presets, file, &Preset::file);
  if (row != std::end(network_presets) && (row->in_8_bits || !eight_bits)) return &*row;
  std::vector<std::string> known;
  for (const Preset& one : network_presets)
    if (one.in_8_bits || !eight_bits) known.push_back(std::string(one.file) + (eight_bits ? "-fp8" : ""));
  return fail(place_of(launch, given), fmt::format("'{:.60}' is no preset of a network that is known", given.value),
      name_hint(preset_file(given.value), known));
}

Expected<void> put_network(DialectWords& words, const GivenArgument& given) {
  bool eight_bits = false;
  TRY(const Preset* preset, preset_of(words.launch, given, eight_bits));
  std::vector<std::pair<std::string_view, std::string_view>> said = {
      {"model.name", preset->name}, {"model.flavor", preset->flavor}};
  if (eight_bits) said.emplace_back("model.converters", "quantize.linear.float8");
  for (const auto& [name, value] : said)
    if (!words.has(name)) words.put(name, std::string(value), "preset_model");
  return {};
}

/// The preset of training is the only one whose values are known here.
Expected<void> check_training(DialectWords& words) {
  const GivenArgument* preset = words.last("preset_config");
  if (preset == nullptr || preset_file(preset->value) == "pre_trainer") return {};
  return fail(place_of(words.launch, *preset), fmt::format("the preset '{:.60}' is not read", preset->value),
      "pre_trainer.yaml; presets of fine-tuning are not forecast");
}

bool has_experts(DialectWords& words) {
  const TorchtitanModel* model = torchtitan_model(words.value("model.name"), words.value("model.flavor"));
  if (model == nullptr) return false;
  const auto network = find_row(built_in().networks, std::string(model->network), "network");
  return network && (*network)->experts.count > 0;
}

/// Grouped products of Primus-Turbo run in 8 bits unless told otherwise (patches/turbo/moe_grouped_mm_patches.py), and
/// torchtitan's where their modules are named; the converter of linear layers leaves those of experts as they are.
Expected<void> check_experts(DialectWords& words) {
  const bool turbo = words.is_on("primus_turbo.enable_primus_turbo", true) &&
                     words.is_on("primus_turbo.use_turbo_grouped_mm") && words.is_on("primus_turbo.use_moe_fp8", true);
  const GivenArgument* converters = words.last("model.converters");
  const bool linear = converters != nullptr && converters->value.find("linear.float8") != std::string::npos;
  const bool named = words.value("quantize.grouped_mm.float8.fqns", "[]").find_first_not_of("[] ") != std::string::npos;
  if (linear && !turbo && !named && has_experts(words))
    return tl::unexpected(words.limit(*converters,
        "linear layers alone in 8 bits are not forecast for networks with experts; with "
        "primus_turbo.use_turbo_grouped_mm and use_moe_fp8 products of experts are in 8 bits, too"));
  if (linear || !turbo) return {};
  return tl::unexpected(words.limit(*words.last("primus_turbo.use_turbo_grouped_mm"),
      "products of experts alone in 8 bits are not forecast; with primus_turbo.use_moe_fp8: false they are in 16"));
}

}  // namespace

bool is_primus_torchtitan(const Launch& launch) {
  const GivenArgument* engine = launch.find("modules.pre_trainer.framework");
  return engine != nullptr && engine->value == "torchtitan";
}

Expected<void> open_primus_torchtitan(Launch& launch) {
  for (GivenArgument& given : launch.arguments) {
    if (!given.name.starts_with(trainer)) continue;
    given.name.erase(0, trainer.size());
    if (given.name.starts_with(overrides)) given.name.erase(0, overrides.size());
    else if (is_own(given.name)) given.name.insert(0, "preset_");
  }
  launch.framework = find_framework("torchtitan");  // whose table says where "none" is a choice
  DialectWords words(launch);
  TRY(check_training(words));
  const GivenArgument* network = words.last("preset_model");
  if (network == nullptr)
    return fail(launch.where, "no preset of a network", "modules.pre_trainer.model: llama3.1_8B.yaml");
  TRY(put_network(words, GivenArgument(*network)));
  std::vector<std::string> put;
  for (const auto& [name, value] : training_preset)
    if (!words.has(name))
      words.put(name, std::string(value), "preset_config"), put.push_back(fmt::format("{} {}", name, value));
  if (!put.empty()) words.note(fmt::format("{}: as Primus' preset of training has it", fmt::join(put, ", ")));
  return check_experts(words);
}

}  // namespace stepcast::launch
