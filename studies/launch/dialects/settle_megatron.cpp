// Programs around Megatron-LM: its forks, FlagScale, Primus and ms-swift's `megatron`.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "calibrate/import/config/config_text.h"
#include "model/base/text.h"
#include "studies/launch/dialects/settle_dialect.h"

namespace stepcast::launch {
namespace {

Expected<void> context_of_mindspeed(DialectWords& words) {
  constexpr std::pair<std::string_view, std::string_view> kinds[] = {
      {"megatron_cp_algo", "p2p"}, {"ulysses_cp_algo", "a2a"}, {"kvallgather_cp_algo", "all_gather"}};
  const GivenArgument* kind = words.last("context_parallel_algo");
  if (kind == nullptr) return {};
  TRY(const std::int64_t cp, words.count("context_parallel_size", 1));
  if (cp <= 1) return {};
  for (const auto& [word, ours] : kinds)
    if (kind->value == word)
      return words.put("cp_comm_type", std::string(ours), "context_parallel_algo"), Expected<void>{};
  return tl::unexpected(words.limit(*kind, "a divided sequence of this kind is not read"));
}

/// By the first of these names that is given; 0 where none is.
Expected<std::int64_t> width_of_expert(DialectWords& words) {
  for (const std::string_view name : {"moe_ffn_hidden_size", "moe_intermediate_size", "ffn_hidden_size"})
    if (words.has(name)) return words.count(name);
  return 0;
}

/// alibaba/Megatron-LLaMA: megatron/arguments.py, model/llama_model.py and optimizer/overlapped_dist_optimizer.py. Its
/// optimizer in shards sums gradients and gathers weights beside the passes.
void settle_megatron_llama(DialectWords& words) {
  const std::tuple<std::string_view, std::string_view, const char*> meant[] = {{"RMSNorm", "normalization", "RMSNorm"},
      {"causal_lm", "untie_embeddings_and_output_weights", "true"},
      {"overlapped_distributed_optimizer", "use_distributed_optimizer", "true"},
      {"overlapped_distributed_optimizer", "overlap_grad_reduce", "true"},
      {"overlapped_distributed_optimizer", "overlap_param_gather", "true"}};
  for (const auto& [word, ours, value] : meant)
    if (words.is_on(word)) words.put(ours, value, word);
  for (const auto& [word, ours, value] : meant)
    if (words.has(word)) words.drop(word);  // said by what they mean
}

/// --megatron_extra_kwargs '{"name": value}': arguments of Megatron-LM that the program has no names for.
Expected<void> take_extra_settings(DialectWords& words) {
  const GivenArgument* given = words.last("megatron_extra_kwargs");
  if (given == nullptr) return {};
  if (!given->value.starts_with('{'))
    return tl::unexpected(words.limit(*given, "settings inside a text that is no JSON object are not read"));
  TRY(const auto inside, calibrate::read_config_arguments(given->value, place_of(words.launch, *given)));
  for (const GivenArgument& one : inside) {
    const bool there = words.has(one.name);
    words.put(one.name, one.value, "megatron_extra_kwargs");
    if (GivenArgument* put = words.last(one.name); put != nullptr && !there) put->spelled = one.name;
  }
  return words.drop("megatron_extra_kwargs"), Expected<void>{};
}

/// --load Qwen2.5-7B-Instruct-mcore: a folder that `swift export --to_mcore` made is called after its network, and
/// nothing else names that.
void take_converted_folder(DialectWords& words) {
  constexpr std::string_view converted = "-mcore";
  for (const std::string_view name : {"load", "mcore_model"}) {
    std::string folder = words.value(name);
    while (folder.ends_with('/')) folder.pop_back();
    if (words.has("model") || !folder.ends_with(converted)) continue;
    words.put("model", folder.substr(0, folder.size() - converted.size()), name);
    words.note(fmt::format("{:.80} is taken for weights of the network that it is called after", folder));
  }
}

/// swift/megatron/arguments/megatron_args.py, _check_megatron_fsdp.
Expected<void> check_fsdp_optimizer(DialectWords& words) {
  const std::string optimizer = words.value("optimizer", "adam");
  if (!words.is_on("use_megatron_fsdp") || optimizer == "adam" || optimizer == "sgd") return {};
  return fail(place_of(words.launch, *words.last("optimizer")),
      fmt::format("Megatron-FSDP does not take the optimizer {:.40}, and ms-swift stops", optimizer),
      "adam or sgd, or the launch without use_megatron_fsdp");
}

}  // namespace

/// The last word of a name is Megatron-LM's argument (flagscale/runner/utils.py, flatten_dict_to_args).
Expected<void> settle_flagscale(DialectWords& words) {
  constexpr std::string_view sections[] = {"system.", "model.", "data.", "train."};
  for (GivenArgument& given : words.launch.arguments) {
    const bool inside = std::any_of(std::begin(sections), std::end(sections),
        [&](std::string_view section) { return given.name.starts_with(section); });
    if (inside) given.name = given.name.substr(given.name.rfind('.') + 1);
    if (given.name.starts_with("experiment.envs."))
      words.launch.environment.emplace(given.spelled.substr(given.spelled.rfind('.') + 1), given.value);
  }
  if (!words.has("experiment.task.entrypoint")) words.note("no program is named: read as flagscale/train/train_gpt.py");
  TRY(const std::int64_t multiple, words.count("multiple_of"));
  if (multiple == 0 || words.has("ffn_hidden_size") || !words.is_on("swiglu")) return {};
  // megatron/training/arguments.py of its patches
  TRY(const std::int64_t hidden, words.count("hidden_size"));
  TRY(const double times, words.number("hidden_dim_multiplier", 1));
  const std::int64_t third = 4 * hidden * 2 / 3;
  const auto plain = static_cast<std::int64_t>(static_cast<double>(third) * times);
  const std::int64_t width = (plain + multiple - 1) / multiple * multiple;
  words.put("ffn_hidden_size", std::to_string(width), "multiple_of");
  words.note(fmt::format("MLP width {}: {} rounded up to a multiple of {}", width, plain, multiple));
  return {};
}

/// MindSpeed-LLM: mindspeed_llm/features_manager, mindspeed/features_manager; Pai-Megatron-Patch: megatron_patch/model.
Expected<void> settle_megatron(DialectWords& words) {
  settle_megatron_llama(words);
  for (const std::string_view gate : {"gelu_tanh", "geglu"})
    if (words.is_on(gate)) words.put("swiglu", "geglu", gate);
  if (const GivenArgument* dense = words.last("first_k_dense_replace")) {
    TRY(const std::int64_t first, words.count("first_k_dense_replace"));
    TRY(const std::int64_t layers, words.count("num_layers"));
    const std::string every = words.value("moe_layer_freq", "1");
    if (every != "1" && every != "-1")
      return tl::unexpected(words.limit(*dense, "dense layers in front of every n-th with experts are not read"));
    if (first > layers)
      return fail(place_of(words.launch, *dense), fmt::format("{} dense layers of {}", first, layers),
          fmt::format("at most {}", layers));
    words.put("moe_layer_freq", fmt::format("([0]*{}+[1]*{})", first, layers - first), "first_k_dense_replace");
  }
  for (const std::string_view shared : {"n_shared_experts", "num_shared_experts"}) {
    if (!words.has(shared) || words.has("moe_shared_expert_intermediate_size")) continue;
    TRY(const std::int64_t width, width_of_expert(words));
    if (width == 0)
      return tl::unexpected(words.limit(*words.last(shared), "shared experts of a width that nothing says"));
    TRY(const std::int64_t count, words.count(shared));
    words.put("moe_shared_expert_intermediate_size", std::to_string(count * width), shared);
  }
  if (words.has("moe_num_experts")) words.put_default("moe_top_k", "1");
  if (words.is_on("moe_tp_extend_ep")) {
    TRY(const std::int64_t ep, words.count("expert_model_parallel_size", 1));
    TRY(const std::int64_t tp, words.count("tensor_model_parallel_size", 1));
    words.put("expert_model_parallel_size", std::to_string(ep * tp), "moe_tp_extend_ep");
    words.put("expert_tensor_parallel_size", "1", "moe_tp_extend_ep");
  }
  return context_of_mindspeed(words);
}

/// swift/megatron/arguments/megatron_args.py: a network of Hugging Face, and defaults of its own.
Expected<void> settle_megatron_swift(DialectWords& words) {
  take_swift_environment(words);
  TRY(check_fsdp_optimizer(words));
  if (const std::string optimizer = words.value("optimizer"); optimizer.find("muon") != optimizer.npos) {
    words.put("use_distributed_optimizer", "false", "optimizer");
    words.note(fmt::format("use_distributed_optimizer false: ms-swift switches it off beside {:.40}", optimizer));
  }
  words.put_defaults({{"micro_batch_size", "1"}, {"global_batch_size", "16"}, {"recompute_granularity", "selective"},
      {"use_distributed_optimizer", "true"}, {"expert_tensor_parallel_size", "1"}});
  if (words.is_on("use_megatron_fsdp")) words.put_default("data_parallel_sharding_strategy", "optim_grads_params");
  if (words.value("recompute_granularity") == "none") words.drop("recompute_granularity");
  TRY(words.put_number_type(words.last("torch_dtype")));
  TRY(take_extra_settings(words));
  take_converted_folder(words);
  if (words.has("packing_length")) words.put("max_length", words.value("packing_length"), "packing_length");
  if (words.value("tuner_type", words.value("train_type", "full")) == "full") words.drop("lora_rank");
  else words.put_default("lora_rank", "8");
  words.ask_samples("max_length", words.is_on("packing"));
  return {};
}

/// primus/configs/modules/megatron/pre_trainer.yaml and what they extend: a preset that is named, and on top of
/// its defaults what "overrides" says.
Expected<void> settle_primus(DialectWords& words) {
  constexpr std::string_view trainer = "modules.pre_trainer.", overrides = "overrides.";
  for (GivenArgument& given : words.launch.arguments) {
    if (given.name.starts_with("modules.") && !given.name.starts_with(trainer))
      return tl::unexpected(words.limit(given, "presets of fine-tuning are not read"));
    if (!given.name.starts_with(trainer)) continue;
    given.name.erase(0, trainer.size());
    if (given.name.starts_with(overrides)) given.name.erase(0, overrides.size());
    else given.name.insert(0, "preset_");
  }
  if (const GivenArgument* engine = words.last("preset_framework"); engine != nullptr && engine->value != "megatron")
    return tl::unexpected(words.limit(*engine, "of its engines only Megatron is read"));
  if (GivenArgument* preset = words.last("preset_model")) {  // "mixtral_8x7B_v0.1.yaml"
    preset->value = preset->value.substr(preset->value.rfind('/') + 1);
    for (const std::string_view end : {".yaml", ".yml", "_v0.1"})
      if (preset->value.ends_with(end)) preset->value.resize(preset->value.size() - end.size());
  }
  words.put_defaults({{"bf16", "true"}, {"use_distributed_optimizer", "true"}, {"sequence_parallel", "true"},
      {"micro_batch_size", "2"}, {"global_batch_size", "16"}, {"seq_length", "1024"}});
  return {};
}

}  // namespace stepcast::launch
