// What dialects say in words of their own, in ours.
#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "calibrate/import/tables/plain_words.h"
#include "model/base/text.h"
#include "studies/launch/facts/step_words.h"
#include "studies/launch/limits/understood.h"
#include "studies/launch/read/answers.h"
#include "studies/launch/read/launch_parts.h"

namespace stepcast::launch {
namespace {

bool says_yes(const std::string& value) {
  const std::string plain = lower_case(value);
  return plain == "true" || plain == "1" || plain == "yes";
}

std::int64_t whole_number(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr std::int64_t most = 2'000'000;
  return std::clamp<std::int64_t>(value, 0, most);
}

double real_number(const std::string& text, double otherwise) {
  double value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr double most = 1000;
  return value > 0 && value < most ? value : otherwise;
}

class DialectSettler {
 public:
  explicit DialectSettler(Launch& launch) : launch_(launch), id_(launch.framework->id) {}

  Expected<void> settle() {
    if (!refused_arguments(launch_).empty()) return {};  // an error of its own, in front of all others
    if (id_ == "gpt-neox") return gpt_neox();
    if (id_ == "torchtitan") return torchtitan();
    if (id_ == "flagscale") return flagscale(), Expected<void>{};
    if (id_ == "nanotron") return nanotron();
    if (id_ == "megatron-lm") return forks_of_megatron();
    if (id_ == "megatron-deepspeed" && last("deepspeed") == nullptr && last("deepscale") == nullptr)
      launch_.notes.push_back("no --deepspeed: read as if DeepSpeed ran it, as its other arguments ask");
    const bool on_trainer = (id_ == "trainer" || id_ == "accelerate" || id_ == "deepspeed") &&
                            last("per_device_train_batch_size") != nullptr &&
                            (last("model_name_or_path") != nullptr || last("model_name") != nullptr);
    if (on_trainer) TRY(trainer_program());
    if (launch_.framework->trainer) return trainer();
    return {};
  }

 private:
  /// The last of that name; where a dialect has sections, in whichever it stands.
  GivenArgument* last(std::string_view name) {
    const bool nested = id_ == "flagscale" || id_ == "nanotron";
    const auto found = std::find_if(launch_.arguments.rbegin(), launch_.arguments.rend(),
        [&](const GivenArgument& given) { return nested ? names_argument(given.name, name) : given.name == name; });
    return found == launch_.arguments.rend() || says_none(found->value) ? nullptr : &*found;
  }
  std::string value(std::string_view name, std::string_view otherwise = "") {
    const GivenArgument* given = last(name);
    return given == nullptr ? std::string(otherwise) : given->value;
  }
  bool is_on(std::string_view name, bool otherwise = false) {
    const GivenArgument* given = last(name);
    return given == nullptr ? otherwise : says_yes(given->value);
  }
  /// As if it had been written so; a new one stands where `like` does.
  void put(std::string_view name, std::string text, std::string_view like = "") {
    if (GivenArgument* given = last(name)) return void(given->value = std::move(text));
    const GivenArgument* model = like.empty() ? nullptr : last(like);
    GivenArgument made = model == nullptr ? GivenArgument{} : *model;
    made.name = name;
    if (model == nullptr) made.spelled = name;
    made.value = std::move(text);
    launch_.arguments.push_back(std::move(made));
  }
  void drop(std::string_view name) {
    std::erase_if(launch_.arguments, [&](const GivenArgument& given) { return names_argument(given.name, name); });
  }
  [[nodiscard]] Error limit(const GivenArgument& given, std::string_view why) const {
    return {place_of(launch_, given), fmt::format("{:.60}: {}", given.value, why), "a run without it"};
  }

  // GPT-NeoX: megatron/model/transformer.py, megatron/neox_arguments/arguments.py

  Expected<void> gpt_neox() {
    for (const GivenArgument& given : launch_.arguments)
      if (given.name.starts_with("attention_config"))
        if (const std::string kind = other_attention(given.value); !kind.empty())
          return tl::unexpected(limit(given, fmt::format("attention '{:.30}' is not forecast", kind)));
    TRY(width_of_mlp());
    const bool mlp = is_on("use_bias_in_mlp", true), attention = is_on("use_bias_in_attn_linear", true);
    if (mlp == attention) return {};
    put("use_bias_in_mlp", "false", "use_bias_in_attn_linear");
    launch_.notes.push_back(
        fmt::format("biases of {} alone are not forecast: it has none", mlp ? "the MLP" : "attention"));
    return {};
  }

  /// The first word of "[[[flash], 32]]" that is neither a count nor full attention; "" where there is none.
  static std::string other_attention(std::string_view text) {
    std::string word;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      const char c = i < text.size() ? text[i] : ' ';
      if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') {
        word += c;
        continue;
      }
      if (!word.empty() && word != "flash" && word != "global") return word;
      word.clear();
    }
    return {};
  }

  /// A gated MLP takes two thirds of the width that is told, or of 4 h, and each half of it is rounded up.
  Expected<void> width_of_mlp() {
    constexpr std::string_view gated[] = {"geglu", "reglu", "swiglu", "bilinear", "glu"};
    const std::string activation = lower_case(value("activation"));
    const bool gate = std::find(std::begin(gated), std::end(gated), activation) != std::end(gated);
    const std::int64_t hidden = whole_number(value("hidden_size")),
                       multiple = std::max<std::int64_t>(1, whole_number(value("mlp_multiple_of", "1")));
    std::int64_t told = whole_number(value("intermediate_size"));
    if (const GivenArgument* factor = last("expansion_factor"); factor != nullptr && told == 0)
      told = static_cast<std::int64_t>(real_number(factor->value, 4) * static_cast<double>(hidden));
    if (told == 0) told = 4 * hidden;
    const auto rounded = [](std::int64_t of, std::int64_t to) { return (of + to - 1) / to * to; };
    const std::int64_t all = gate ? told * 2 / 3 : told, width = rounded(gate ? all / 2 : all, multiple);
    // what goes in is cut in two, and both halves are as wide as what comes out takes
    if (const std::int64_t half = rounded(all, 2 * multiple) / (gate ? 2 : 1); half != width)
      return fail(launch_.where,
          fmt::format("GPT-NeoX builds an MLP of {} columns and {} rows of this, and stops", half, width),
          gate ? fmt::format("intermediate_size {}, for a gated MLP of width {}", 3 * told, told)
               : "mlp_multiple_of 1");
    if (width == 0 || (width == told && last("intermediate_size") != nullptr)) return {};
    if (width == 4 * hidden && !gate) return {};
    put("intermediate_size", std::to_string(width), gate ? "activation" : "expansion_factor");
    if (gate)
      launch_.notes.push_back(fmt::format("MLP width {}: GPT-NeoX gives each half of a gated MLP a third of {}{}",
          width, told, multiple > 1 ? fmt::format(", rounded up to a multiple of {}", multiple) : ""));
    return {};
  }

  // FlagScale: the last word of a name is Megatron-LM's argument (flagscale/runner/utils.py, flatten_dict_to_args)

  void flagscale() {
    constexpr std::string_view sections[] = {"system.", "model.", "data.", "train."};
    for (GivenArgument& given : launch_.arguments) {
      const bool inside = std::any_of(std::begin(sections), std::end(sections),
          [&](std::string_view section) { return given.name.starts_with(section); });
      if (inside) given.name = given.name.substr(given.name.rfind('.') + 1);
      if (given.name.starts_with("experiment.envs."))
        launch_.environment.emplace(given.spelled.substr(given.spelled.rfind('.') + 1), given.value);
    }
    const std::int64_t multiple = whole_number(value("multiple_of"));
    if (multiple == 0 || last("ffn_hidden_size") != nullptr || !is_on("swiglu")) return;
    // megatron/training/arguments.py of its patches
    const std::int64_t third = 4 * whole_number(value("hidden_size")) * 2 / 3;
    const std::int64_t plain =
        static_cast<std::int64_t>(static_cast<double>(third) * real_number(value("hidden_dim_multiplier"), 1));
    const std::int64_t width = (plain + multiple - 1) / multiple * multiple;
    put("ffn_hidden_size", std::to_string(width), "multiple_of");
    launch_.notes.push_back(fmt::format("MLP width {}: {} rounded up to a multiple of {}", width, plain, multiple));
  }

  // MindSpeed-LLM: mindspeed_llm/features_manager, mindspeed/features_manager; Pai-Megatron-Patch: megatron_patch/model

  Expected<void> forks_of_megatron() {
    for (const std::string_view gate : {"gelu_tanh", "geglu"})
      if (is_on(gate)) put("swiglu", "geglu", gate);
    if (const GivenArgument* dense = last("first_k_dense_replace")) {
      const std::int64_t first = whole_number(dense->value), layers = whole_number(value("num_layers"));
      const std::string every = value("moe_layer_freq", "1");
      if ((every != "1" && every != "-1") || first > layers)
        return tl::unexpected(limit(*dense, "dense layers in front of every n-th with experts are not read"));
      put("moe_layer_freq", fmt::format("([0]*{}+[1]*{})", first, layers - first), "first_k_dense_replace");
    }
    for (const std::string_view shared : {"n_shared_experts", "num_shared_experts"}) {
      const std::int64_t width =
          whole_number(value("moe_ffn_hidden_size", value("moe_intermediate_size", value("ffn_hidden_size"))));
      if (last(shared) == nullptr || last("moe_shared_expert_intermediate_size") != nullptr) continue;
      if (width <= 0) return tl::unexpected(limit(*last(shared), "shared experts of a width that nothing says"));
      put("moe_shared_expert_intermediate_size", std::to_string(whole_number(value(shared)) * width), shared);
    }
    if (is_on("moe_tp_extend_ep")) {
      const std::int64_t ep = whole_number(value("expert_model_parallel_size", "1"));
      put("expert_model_parallel_size", std::to_string(ep * whole_number(value("tensor_model_parallel_size", "1"))),
          "moe_tp_extend_ep");
      put("expert_tensor_parallel_size", "1", "moe_tp_extend_ep");
    }
    return context_of_mindspeed();
  }

  Expected<void> context_of_mindspeed() {
    constexpr std::pair<std::string_view, std::string_view> words[] = {
        {"megatron_cp_algo", "p2p"}, {"ulysses_cp_algo", "a2a"}, {"kvallgather_cp_algo", "all_gather"}};
    const GivenArgument* kind = last("context_parallel_algo");
    if (kind == nullptr || whole_number(value("context_parallel_size", "1")) <= 1) return {};
    for (const auto& [word, ours] : words)
      if (kind->value == word) return put("cp_comm_type", std::string(ours), "context_parallel_algo"), Expected<void>{};
    return tl::unexpected(limit(*kind, "a divided sequence of this kind is not read"));
  }

  // Nanotron: src/nanotron/config/parallelism_config.py, src/nanotron/parallel/context.py

  Expected<void> nanotron() {
    std::erase_if(launch_.arguments, [](const GivenArgument& given) { return given.name.starts_with("lighteval."); });
    if (const GivenArgument* mode = last("parallelism.tp_mode"))
      put("parallelism.tp_mode", lower_case(mode->value) == "reduce_scatter" ? "true" : "false");
    if (last("parallelism.pp_engine") == nullptr) put("parallelism.pp_engine", "afab", "parallelism.pp");
    const std::int64_t experts = whole_number(value("parallelism.expert_parallel_size", "1"));
    if (experts > 1 && last("parallelism.dp") != nullptr)  // its data ranks are beside those of experts
      put("parallelism.dp", std::to_string(whole_number(value("parallelism.dp")) * experts));
    if (!is_on("model_config.moe_config.enable_shared_expert"))
      drop("model_config.moe_config.shared_expert_intermediate_size");
    const GivenArgument* layers = last("model_config.moe_config.layers");
    if (layers != nullptr && layers->value.find("-1") == std::string::npos)
      return tl::unexpected(limit(*layers, "experts in some layers alone are not read"));
    return {};
  }

  // torchtitan's Python: torchtitan/distributed/activation_checkpoint.py, torchtitan/components/quantization

  Expected<void> torchtitan() {
    if (GivenArgument* kind = last("activation_checkpoint.class")) {
      const std::string word = lower_case(kind->value);
      const bool selective = word.starts_with("selective");
      if (!selective && !word.starts_with("full"))
        return tl::unexpected(limit(*kind, "what it recomputes is not known here"));
      kind->value = selective ? "selective" : "full";
      if (selective) put("activation_checkpoint.policy", "op", "activation_checkpoint.class");
    }
    const GivenArgument* parts = last("compile.components");
    if (parts != nullptr && parts->value.find("model") == std::string::npos && last("compile.enable") != nullptr) {
      put("compile.enable", "false");
      launch_.notes.push_back("compiled is only what compile.components names: the network runs operator by operator");
    }
    constexpr std::string_view known[] = {"float8linear", "mxfp8linear", "nvfp4linear"};
    const GivenArgument* converters = last("model_spec.converters");
    if (converters == nullptr) return {};
    const std::string words = lower_case(converters->value);
    for (std::size_t at = words.find("converter"); at != words.npos; at = words.find("converter", at + 1))
      if (std::none_of(std::begin(known), std::end(known),
              [&](std::string_view word) { return std::string_view(words).substr(0, at).ends_with(word); }))
        return tl::unexpected(limit(*converters, "a conversion of the network that is not forecast"));
    for (std::size_t at = words.find("fqns="); at != words.npos; at = words.find("fqns=", at + 1)) {
      const std::string_view all = "fqns=[\"layers\"]", here = std::string_view(words).substr(at);
      if (!here.starts_with(all) && !std::string_view(words).substr(0, at).ends_with("filter_"))
        return tl::unexpected(limit(*converters, "a conversion of some layers alone is not forecast"));
    }
    return {};
  }
  // Hugging Face's Trainer, under LLaMA-Factory and Axolotl

  Expected<void> trainer() {
    if (id_ == "llama-factory") TRY(llama_factory());
    else if (id_ == "axolotl") TRY(axolotl());
    const GivenArgument* file = launch_.find("deepspeed");
    const bool read = std::any_of(launch_.arguments.begin(), launch_.arguments.end(),
        [](const GivenArgument& given) { return given.name.starts_with("zero_optimization."); });
    if (file != nullptr && !says_none(file->value) && !says_yes(file->value) && !read)
      return fail(place_of(launch_, *file),
          fmt::format("{:.80} is not beside the launch, and it says the stage of ZeRO", file->value),
          "the file beside it, or -- --zero_optimization.stage N at the end of the command");
    return {};
  }

  /// run_clm.py, FastChat's and Qwen's train.py, TRL's sft.py, DeepSpeed-Chat's main.py: adapters are theirs to switch
  /// on, and so is how samples fill a sequence.
  Expected<void> trainer_program() {
    constexpr std::string_view switches[] = {"use_lora", "use_peft", "lora_enable"};
    const bool by_name =
        launch_.program.find("lora") != std::string::npos || launch_.program.find("peft") != std::string::npos;
    const bool given = std::ranges::any_of(switches, [&](std::string_view name) { return last(name) != nullptr; });
    const bool on = by_name || std::ranges::any_of(switches, [&](std::string_view name) { return is_on(name); });
    const bool ranked = last("lora_r") != nullptr || last("lora_rank") != nullptr;
    if (given && !on) drop("lora_r"), drop("lora_rank");
    else if (on && !ranked)
      return fail(launch_.where, fmt::format("{} trains adapters, and nothing says of which rank", launch_.program),
          "-- --lora_r N at the end of the command");
    // DeepSpeed-Chat, training/utils/utils.py and its programs' --dtype
    const bool chat = last("zero_stage") != nullptr && last("data_split") != nullptr;
    if (chat && value("dtype", "fp16") == "fp16") put("fp16", "true", "zero_stage");
    if (chat && value("dtype") == "bf16") put("bf16", "true", "zero_stage");
    for (GivenArgument& one : launch_.arguments) {
      if (one.name != "fsdp") continue;
      const std::string words = lower_case(one.value);
      if (words.find("offload") != words.npos)
        return tl::unexpected(limit(one, "what is kept in host memory is not forecast"));
      for (const std::string_view kind :
          {"hybrid_shard_zero2", "hybrid_shard", "full_shard", "shard_grad_op", "no_shard"})
        if (words.find(kind) != words.npos && words.front() == 'a') one.value = kind;  // "auto_wrap full_shard"
    }
    for (const std::string_view name :
        {"max_seq_length", "max_seq_len", "model_max_length", "max_length", "cutoff_len"})
      if (last(name) != nullptr) note_samples(name, is_on("packing"));
    return {};
  }

  Expected<void> llama_factory() {
    if (value("finetuning_type", "lora") != "lora") drop("lora_rank");
    else if (last("lora_rank") == nullptr) put("lora_rank", "8", "finetuning_type");
    if (last("lora_rank") != nullptr && value("lora_target", "all") != "all") note_targets("lora_target");
    drop("gradient_checkpointing");
    put("gradient_checkpointing", is_on("disable_gradient_checkpointing") ? "false" : "true",
        "disable_gradient_checkpointing");
    note_samples("cutoff_len", is_on("packing", value("stage", "sft") == "pt"));
    return {};
  }

  Expected<void> axolotl() {
    if (last("adapter") == nullptr) drop("lora_r");
    else if (last("lora_r") == nullptr)
      return fail(place_of(launch_, *last("adapter")), "adapters without a rank", "lora_r");
    else if (last("lora_target_linear") == nullptr) note_targets("lora_target_modules");
    for (GivenArgument& given : launch_.arguments) {
      if (given.name == "fsdp")  // "[full_shard, auto_wrap]"
        std::erase_if(given.value, [](char c) { return c == '[' || c == ']' || c == ','; });
      if (given.name == "bf16" && (given.value == "auto" || given.value == "full")) given.value = "true";
    }
    constexpr std::string_view fused[] = {"liger", "cut_cross_entropy"};
    for (const GivenArgument& given : launch_.arguments) {
      const bool kernels = std::any_of(std::begin(fused), std::end(fused),
          [&](std::string_view word) { return lower_case(given.value).find(word) != std::string::npos; });
      if (given.name.starts_with("plugins") && !says_none(given.value) && !kernels)
        return tl::unexpected(limit(given, "what this extension does to a step is not known"));
    }
    note_samples("sequence_len", is_on("sample_packing") || is_on("pad_to_sequence_len"));
    return {};
  }

  void note_targets(std::string_view name) {
    launch_.notes.push_back(fmt::format(
        "adapters on {:.60} alone: forecast with adapters on all projections", value(name, "some of them")));
  }
  void note_samples(std::string_view name, bool full) {
    if (!full)
      launch_.notes.push_back(
          fmt::format("samples are not packed: those shorter than {} make shorter batches than are forecast", name));
  }

  Launch& launch_;
  std::string_view id_;
};

}  // namespace

Expected<void> settle_dialect(Launch& launch) { return DialectSettler(launch).settle(); }

}  // namespace stepcast::launch
