// NVIDIA-NeMo/Megatron-Bridge@067f987df0: src/megatron/bridge/recipes.
#include <algorithm>
#include <charconv>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/base/text.h"
#include "studies/launch/dialects/dialect_words.h"
#include "studies/launch/dialects/python_recipes.h"
#include "studies/launch/facts/framework.h"
#include "studies/launch/facts/step_words.h"

namespace stepcast::launch {
namespace {

using Setting = std::pair<std::string_view, std::string_view>;

// What recipes start from (recipes/common.py); the optimizer of all lies in shards (recipes/utils/optimizer_utils.py).
constexpr Setting of_pretraining[] = {{"train.global_batch_size", "32"}, {"train.micro_batch_size", "2"},
    {"seq_length", "4096"}, {"ddp.use_distributed_optimizer", "true"}, {"ddp.overlap_grad_reduce", "true"},
    {"ddp.overlap_param_gather", "true"}, {"mixed_precision", "bf16_mixed"}};
constexpr Setting of_tuning[] = {{"train.global_batch_size", "128"}, {"train.micro_batch_size", "1"},
    {"seq_length", "2048"}, {"ddp.use_distributed_optimizer", "true"}, {"mixed_precision", "bf16_mixed"}};
constexpr Setting of_adapters[] = {{"train.global_batch_size", "128"}, {"train.micro_batch_size", "1"},
    {"seq_length", "2048"}, {"ddp.use_distributed_optimizer", "true"}, {"mixed_precision", "bf16_mixed"},
    {"peft.dim", "32"}};

// of networks with images: nothing is reduced beside backward
constexpr Setting of_vision_tuning[] = {{"train.global_batch_size", "32"}, {"train.micro_batch_size", "2"},
    {"seq_length", "4096"}, {"ddp.use_distributed_optimizer", "true"}, {"ddp.overlap_grad_reduce", "false"},
    {"ddp.overlap_param_gather", "false"}, {"mixed_precision", "bf16_mixed"}};
constexpr Setting of_vision_adapters[] = {{"train.global_batch_size", "32"}, {"train.micro_batch_size", "2"},
    {"seq_length", "4096"}, {"ddp.use_distributed_optimizer", "true"}, {"ddp.overlap_grad_reduce", "false"},
    {"ddp.overlap_param_gather", "false"}, {"mixed_precision", "bf16_mixed"}, {"peft.dim", "32"}};

struct Base {
  std::string_view function;
  std::span<const Setting> settings;
};
constexpr Base bases[] = {{"_pretrain_common", of_pretraining}, {"_sft_common", of_tuning},
    {"_peft_common", of_adapters}, {"_sft_common_vlm", of_vision_tuning}, {"_peft_common_vlm", of_vision_adapters}};

/// "None" for what the base sets, or for the part that it is in: what holds then stands in Python.
Expected<void> check_taken_away(DialectWords& words, const Base& base) {
  for (const auto& [name, value] : base.settings)
    for (const std::string_view part : {name, name.substr(0, name.find('.'))})
      if (const GivenArgument* given = words.launch.find(part); given != nullptr && says_none(given->value))
        return fail(place_of(words.launch, *given),
            fmt::format("None for what {} sets: what holds then is not read", base.function),
            fmt::format("a value, such as {} for {}", value, name));
  return {};
}

/// A part that the base has set, and that is made anew, has defaults that are not read.
void name_new_parts(DialectWords& words, const Base& base) {
  for (const std::string_view part : {"ddp", "train"})
    if (const GivenArgument* maker = words.launch.find(fmt::format("{}.class", part)))
      words.launch.unfollowed.push_back(fmt::format("{}: {:.60} makes {} anew, without what {} sets of it, and that is "
                                                    "not read",
          place_of(words.launch, *maker), maker->value, part, base.function));
}

Expected<void> put_base(DialectWords& words) {
  const GivenArgument* given = words.last("config_base");
  if (given == nullptr) return {};
  const auto base = std::ranges::find(bases, given->value, &Base::function);
  if (base == std::end(bases))
    return fail(place_of(words.launch, *given), fmt::format("starts from {:.60}, which is not read", given->value),
        "a recipe that starts from _pretrain_common(), _sft_common() or _peft_common(), or from one of its own file");
  TRY(check_taken_away(words, *base));
  name_new_parts(words, *base);
  for (const auto& [name, value] : base->settings)
    if (!words.has(name)) words.put(name, std::string(value), "config_base");
  words.note(fmt::format("what {} sets is taken from Megatron-Bridge's recipes/common.py", base->function));
  return {};
}

/// AutoBridge.from_hf_pretrained("meta-llama/Llama-3.1-8B").get_model_config()
Expected<void> put_bridged_network(DialectWords& words) {
  const GivenArgument* of = words.last("model.of.class");
  const GivenArgument* name = words.last("model.of.0");
  if (of == nullptr || of->value != "AutoBridge.from_hf_pretrained" || name == nullptr || !name->unset.empty())
    return fail(words.launch.where, "the recipe names no network of Hugging Face",
        "cfg.model = AutoBridge.from_hf_pretrained(\"ORGANISATION/NETWORK\")...");
  words.put("model", name->value, "model.of.0");
  return {};
}

/// "bf16_mixed()" and get_mixed_precision_config("bf16_mixed").
void put_precision(DialectWords& words) {
  const std::string maker = words.value("mixed_precision.class");
  if (maker.empty()) return;
  words.put("mixed_precision", maker == "get_mixed_precision_config" ? words.value("mixed_precision.0", maker) : maker,
      "mixed_precision.class");
}

/// training/mixed_precision.py: the precision settings overrule what DDP is told of gradients, and sum them in 32 bits
/// unless told otherwise, but those of fp16.
void put_gradient_type(DialectWords& words) {
  constexpr std::string_view of_precision = "mixed_precision.grad_reduce_in_fp32", of_ddp = "ddp.grad_reduce_in_fp32";
  if (!words.has("mixed_precision")) return;
  const bool half = words.value("mixed_precision").starts_with("fp16");
  if (!words.has(of_precision)) words.put(of_precision, half ? "false" : "true", "mixed_precision");
  words.drop(of_ddp);
}

/// Pretraining takes the vocabulary of its tokenizer (training/setup.py, use_tokenizer_vocab_size), which is one
/// without words of its own (recipes/utils/tokenizer_utils.py) unless told; fine-tuning that of the network, as does
/// pretraining that is told so.
void settle_words(DialectWords& words) {
  GivenArgument* size = words.last("tokenizer.vocab_size");
  if (size == nullptr) return;
  const bool networks = lower_case(words.value("tokenizer.use_tokenizer_vocab_size")) == "false";
  if (networks || words.value("config_base") != "_pretrain_common") return words.drop("tokenizer.vocab_size");
  if (size->unset != std::vector<std::string>{"DEFAULT_NULL_TOKENIZER_VOCAB_SIZE"}) return;
  size->value = "32000", size->unset.clear();
  words.note("the recipe's tokenizer has 32000 words, and the network that it pretrains as many");
}

/// Functions that change what they are handed (training/flex_dispatcher_backend.py).
void take_helpers(DialectWords& words) {
  if (!words.has("apply_flex_dispatcher_backend")) return;
  if (words.has("model.moe_flex_dispatcher_backend"))
    words.put("model.moe_token_dispatcher_type", "flex", "apply_flex_dispatcher_backend");
  words.drop("apply_flex_dispatcher_backend");
}

/// float(cfg.model.rotary_base) and int(40): the number that stands, in another type.
void take_number_types(DialectWords& words) {
  std::vector<std::string> typed;
  for (const GivenArgument& given : words.launch.arguments)
    if (given.name.ends_with(".class") && (given.value == "float" || given.value == "int"))
      typed.push_back(given.name.substr(0, given.name.size() - std::string_view(".class").size()));
  for (const std::string& name : typed) {
    const std::string number = words.value(name + ".0");
    if (!number.empty()) words.put(name, number, name + ".0");
    words.drop(name + ".0"), words.drop(name + ".class");
  }
}

/// recipes/kimi/h100/kimi_k2.py: the optimizer by its word.
Expected<void> take_kimi_optimizer(DialectWords& words) {
  const GivenArgument* given = words.last("_apply_kimi_k2_optimizer");
  if (given == nullptr) return {};
  const bool muon = given->value.find("\"muon\"") != given->value.npos;
  if (!muon && given->value.find("\"adam\"") == given->value.npos)
    return tl::unexpected(words.limit(*given, "an optimizer that is not known here"));
  words.put("optimizer.optimizer", muon ? "dist_muon" : "adam");
  for (const std::string_view name : {"ddp.use_distributed_optimizer", "ddp.overlap_param_gather"})
    words.put(name, muon ? "false" : "true");
  words.put("ddp.grad_reduce_in_fp32", muon ? "true" : "false");
  if (words.has("mixed_precision.class")) words.put("mixed_precision.grad_reduce_in_fp32", muon ? "true" : "false");
  words.drop("_apply_kimi_k2_optimizer");
  return {};
}

/// default_peft_config("lora", dim=8): adapters of LoRA with the settings that stand behind (recipes/utils/
/// dataset_utils.py). Error: another scheme, or one that is not known.
Expected<void> take_adapter_scheme(DialectWords& words) {
  const GivenArgument* scheme = words.last("peft.0");
  if (words.value("peft.class") != "default_peft_config" || scheme == nullptr) return {};
  if (!scheme->unset.empty() || lower_case(scheme->value) != "lora")
    return tl::unexpected(words.limit(*scheme, "of the schemes of adapters lora alone is forecast"));
  words.drop("peft.0");
  return {};
}

/// "qwen3_30b_a3b_pretrain_8gpu_h100_bf16_config" is for 8 GPUs.
void put_gpus(Launch& launch, std::string_view function) {
  const std::size_t end = function.find("gpu_");
  const std::size_t begin = end == function.npos ? end : function.rfind('_', end);
  if (begin == function.npos) return;
  std::int64_t gpus = 0;
  std::from_chars(function.data() + begin + 1, function.data() + end, gpus);
  constexpr std::int64_t most = 1 << 20;
  if (gpus <= 0 || gpus > most) return;
  launch.gpus = gpus;
  const std::string_view rest = function.substr(end + 4);
  launch.gpu_kind = rest.substr(0, rest.find('_'));
  launch.notes.push_back(fmt::format("{} GPUs, as the name of the recipe has it", gpus));
}

/// Of Python alone: what makes a part, the optimizer that its function gave, the environment.
bool says_nothing(const GivenArgument& given) {
  constexpr std::string_view whole[] = {"optimizer", "scheduler", "env_vars", "config_base", "model.load_weights"};
  return given.name.ends_with(".class") || given.name.starts_with("model.of.") || given.name == "mixed_precision.0" ||
         std::ranges::find(whole, given.name) != std::end(whole);
}

}  // namespace

Expected<void> open_bridge_recipe(
    Launch& launch, const std::string& function, const std::vector<GivenArgument>& overrides) {
  launch.framework = find_framework("megatron-bridge");  // whose table says where "none" is a choice
  DialectWords words(launch);
  put_gpus(launch, function);
  TRY(put_base(words));
  TRY(put_bridged_network(words));
  put_precision(words);
  TRY(take_adapter_scheme(words));
  settle_words(words);
  take_helpers(words);
  take_number_types(words);
  TRY(take_kimi_optimizer(words));
  put_gradient_type(words);
  TRY(take_bridge_layout(words, overrides));
  std::erase_if(launch.arguments, says_nothing);
  return {};
}

}  // namespace stepcast::launch
