// Methods of src/transformers/utils/quantization_config.py of transformers, vllm/model_executor/layers/quantization of
// vLLM (compressed-tensors, modelopt, fp8). The Model Optimizer up to 0.29 wrote no quantization_config but a file of
// its own, hf_quant_config.json, which vLLM (transformers_utils/config.py, get_config), SGLang
// (configs/model_config.py) and TensorRT-LLM (_torch/model_config.py) read.
#include "model/network/hf/stored_weights.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/json_reader.h"
#include "model/base/text.h"
#include "model/network/hf/modules/quark.h"
#include "model/network/hf/modules/stored_form.h"

namespace stepcast {
namespace {

using detail::LeftWide;
using detail::Said;
using detail::SaidSizes;
using detail::WideModules;

constexpr IntegerRange counts{0, 1 << 20};

/// Sizes of blocks, as [128, 128]; a block of one row, [1, 128], is a run of its numbers.
void take_blocks(JsonObject& object, const char* key, Said& said) {
  std::vector<std::int64_t> sides;
  if (object.type_of(key) == "list") object.read(key, sides, counts);
  said.blocks = sides.size() == 2 && sides[0] > 1;
  said.run = sides.size() == 2 && sides[0] == 1 ? sides[1] : 0;
}

/// Groups of layers of compressed-tensors: all must have the same form, and hold all products.
void take_groups(JsonObject& config, Said& said) {
  if (config.type_of("config_groups") != "object") return;
  JsonObject groups = config.object("config_groups");
  groups.allow_unknown_keys();
  bool first = true;
  for (const std::string& name : groups.keys()) {
    JsonObject group = groups.object(name);
    group.allow_unknown_keys();
    if (group.type_of("weights") != "object") continue;
    JsonObject weights = group.object("weights");
    weights.allow_unknown_keys();
    Said one = said;
    one.bits = one.group = 0, one.kind.clear();
    weights.optional("num_bits", one.bits, counts);
    if (weights.type_of("group_size") == "number") {
      double size = 0;  // -1: a whole row
      weights.read("group_size", size, NumberRange{-1, 1 << 20});
      one.group = size > 0 ? static_cast<std::int64_t>(size) : 0;
    }
    weights.optional("type", one.kind);
    bool even = true;
    if (weights.type_of("symmetric") == "boolean") weights.read("symmetric", even);
    one.zeros = !even;
    take_blocks(weights, "block_structure", one);
    one.narrow_inputs = group.type_of("input_activations") == "object";
    const bool same = one.bits == said.bits && one.group == said.group && one.kind == said.kind &&
                      one.blocks == said.blocks && one.run == said.run && one.narrow_inputs == said.narrow_inputs;
    std::vector<std::string> targets;
    if (group.type_of("targets") == "list") group.read("targets", targets);
    const bool all = targets.empty() || contains(targets, "Linear");
    const bool several = said.several || (!first && !same) || !all;
    if (first) said = one;
    said.several = several, first = false;
  }
}

/// Modules that stay as they were.
std::vector<std::string> wide_names(JsonObject& config) {
  std::vector<std::string> all;
  for (const char* key : {"ignore", "ignored_layers", "modules_to_not_convert", "exclude_modules", "exclude"}) {
    std::vector<std::string> modules;
    if (config.type_of(key) == "list") config.read(key, modules);
    all.insert(all.end(), modules.begin(), modules.end());
  }
  // GPTQModel (README, "dynamic"): what a search from the name's beginning finds is left out.
  if (config.type_of("dynamic") == "object")
    for (const std::string& key : config.object("dynamic").keys())
      if (key.starts_with("-:")) all.push_back("re:" + key.substr(2));
  return all;
}

/// compressed_tensors/config/base.py: the forms of 2:4 patterns; other patterns are dense when products read them.
bool is_sparse(JsonObject& config) {
  std::string format, zeros;
  if (config.type_of("format") == "string") config.read("format", format);
  if (config.type_of("sparsity_config") == "object") {
    JsonObject pattern = config.object("sparsity_config");
    pattern.allow_unknown_keys();
    if (pattern.type_of("format") == "string") pattern.read("format", zeros);
  }
  return format == "marlin-24" || zeros == "sparse-24-bitmask";
}

/// Modules with bits of their own (GPTQModel's "dynamic"; AutoRound's "extra_config", auto_round/export).
bool has_exceptions(JsonObject& config) {
  if (config.type_of("extra_config") == "object" && !config.object("extra_config").keys().empty()) return true;
  if (config.type_of("dynamic") != "object") return false;
  JsonObject dynamic = config.object("dynamic");
  dynamic.allow_unknown_keys();
  return std::ranges::any_of(dynamic.keys(), [&](const std::string& key) {
    if (key.starts_with("-:")) return false;
    return dynamic.type_of(key) != "object" || !dynamic.object(key).keys().empty();
  });
}

/// AWQ and GPTQ say their groups beside the bits; -1 is a whole row. Files of GPTQ have zero points in any case
/// (auto_gptq/nn_modules/qlinear, qzeros), those of AWQ where they say so or nothing (AutoAWQ awq/models/_config.py).
void take_run_of_integers(JsonObject& config, Said& said) {
  double size = 0;
  if (config.type_of("group_size") == "number") config.read("group_size", size, NumberRange{-1, 1 << 20});
  if (config.type_of("q_group_size") == "number") config.read("q_group_size", size, NumberRange{-1, 1 << 20});
  if (said.method != "awq" && said.method != "gptq" && said.method != "auto-round") return;
  said.zeros = true;
  if (said.method == "awq" && config.type_of("zero_point") == "boolean") config.read("zero_point", said.zeros);
  said.scaled = size > 0 ? static_cast<std::int64_t>(size) : 0;
}

Said said_in(JsonObject& config, const SaidSizes& built) {
  Said said;
  const std::vector<std::string> names = wide_names(config);
  said.wide = detail::wide_modules(names, built);
  said.held = detail::weights_of_modules(names, built.layers, built.expert_count);
  said.experts_in = built.experts_in;
  said.experts = built.experts, said.layers = built.layers;
  // GPTQ and AWQ: model_executor/layers/quantization, gptq_marlin.py and awq_marlin.py, lm_head_quantized
  if (config.type_of("lm_head") == "boolean") config.read("lm_head", said.head);
  std::string algorithm;
  if (config.type_of("quant_method") == "string") config.read("quant_method", said.method);
  if (config.type_of("quant_algo") == "string") config.read("quant_algo", algorithm);
  const bool groups = config.type_of("config_groups") == "object";
  // the Model Optimizer tells the form by its algorithm where it tells no groups
  const bool by_algorithm = said.method.empty() || (lower_case(said.method) == "modelopt" && !groups);
  said.method = lower_case(by_algorithm ? algorithm : said.method);
  said.several = said.several || lower_case(algorithm) == "mixed_precision" || has_exceptions(config);
  said.sparse = is_sparse(config);
  if (config.type_of("bits") == "number") config.read("bits", said.bits, counts);
  if (config.type_of("data_type") == "string") config.read("data_type", said.kind);
  take_run_of_integers(config, said);
  take_blocks(config, "weight_block_size", said);
  take_groups(config, said);
  detail::take_quark(config, said);
  return said;
}

/// Where most of the network's weights stay wide, a type is none of all of them.
std::string stays_wide(const Said& said) {
  if (const std::int64_t wide = said.wide.layers; 2 * wide > said.layers && said.layers > 0)
    return fmt::format("{} of {} layers", wide, said.layers);
  if (said.experts) return said.wide.experts == LeftWide::all ? "experts" : "";
  return said.wide.mlp == LeftWide::all ? "the MLP" : "";
}

/// What stays wide of a type: "attention with part of the MLP". Of one of experts alone: what they are left out of.
std::string wide_in_words(const WideModules& wide, std::int64_t layers, bool of_experts_alone) {
  std::string words;
  if (wide.layers > 0) words = fmt::format("{} of {} layers", wide.layers, layers);
  if (wide.layers < 0) words = "layers of a pattern that is not read";
  if (of_experts_alone) return words;
  for (const auto& [left, name] : {std::pair{wide.attention, "attention"}, {wide.mlp, "the MLP"},
           {wide.shared_expert, "the shared expert"}, {wide.experts, "the experts"}}) {
    if (left == LeftWide::nothing) continue;
    words += fmt::format("{}{}{}", words.empty() ? "" : " with ", left == LeftWide::part ? "part of " : "", name);
  }
  return words;
}

/// What is wide in any case, or next to nothing: tables, heads, routers, indexers, gates of decays.
constexpr std::string_view wide_anyway[] = {
    "head", "embed", "router", "shared.gate.score", "index.", "mixer.in.beta", "mixer.in.decay"};

/// Modules may be other operators' in networks of other kinds: the commonest is named, if it is wide too.
struct NamedInstead {
  std::string_view of, by;
};
constexpr NamedInstead named_instead[] = {{"attn.qkv.G", "attn.qkv.Q"}, {"attn.up.Q", "attn.qkv.Q"},
    {"attn.absorb.K", "attn.up.K"}, {"attn.absorb.V", "attn.up.V"}};

/// Products that stay wide by themselves, "attn.qkv.K and mlp.down". Modules of attention may be a mixer's too, which
/// is named where it is all.
std::string wide_products(const std::vector<WeightsOfLayers>& weights) {
  std::vector<std::string> own, mixers;
  for (const WeightsOfLayers& one : weights) {
    const bool anyway = std::ranges::any_of(wide_anyway,
        [&](std::string_view name) { return one.name == name || (name.back() == '.' && one.name.starts_with(name)); });
    const bool other = std::ranges::any_of(named_instead, [&](const NamedInstead& row) {
      return one.name.starts_with(row.of) &&
             std::ranges::any_of(weights, [&](const WeightsOfLayers& by) { return by.name == row.by; });
    });
    if (anyway || other) continue;
    (one.name.starts_with("mixer.") ? mixers : own).push_back(one.name + (one.all ? "" : " of some layers"));
  }
  constexpr std::size_t most = 6;
  return some_of(own.empty() ? mixers : own, most);
}

/// Parts of a file that may say it: the file, and what tells of its text.
std::vector<JsonObject> parts_that_say_it(JsonObject& file) {
  std::vector<JsonObject> parts{file};
  for (const char* key : {"text_config", "llm_config", "language_config"}) {
    if (file.type_of(key) != "object") continue;
    parts.push_back(file.object(key));
    parts.back().allow_unknown_keys();
  }
  return parts;
}

/// DeepSeek V4: "fp4" beside what quantization_config says.
std::string experts_apart(std::vector<JsonObject>& parts) {
  for (JsonObject& part : parts) {
    std::string type;
    if (part.type_of("expert_dtype") == "string") part.read("expert_dtype", type);
    if (!type.empty() && type != "fp8") return type;
  }
  return "";
}

/// Its layers, and whether some have experts.
SaidSizes built_as(std::vector<JsonObject>& parts) {
  SaidSizes built;
  built.experts_in = experts_apart(parts);
  const auto number = [](JsonObject& part, const char* key) {
    std::int64_t value = 0;
    if (part.type_of(key) == "number") part.read(key, value, counts);
    return value;
  };
  for (JsonObject& part : parts) {
    for (const char* key : {"num_hidden_layers", "num_layers", "n_layers", "n_layer"})
      built.layers = std::max(built.layers, number(part, key));
    for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts", "num_routed_experts",
             "moe_num_experts", "num_moe_experts"}) {
      built.expert_count = std::max(built.expert_count, number(part, key));
      built.experts = built.experts || built.expert_count > 1 || part.type_of(key) == "list";
    }
  }
  return built;
}

/// Of the cache: compressed-tensors and the Model Optimizer write "kv_cache_scheme", the latter "kv_cache_quant_algo"
/// too. Both are fp8 where vLLM is told nothing (attention/layer.py, get_kv_cache_quant_algo_string of torch_utils.py).
void take_cache(JsonObject& config, StoredWeights& stored) {
  std::int64_t bits = 0;
  std::string kind, algorithm;
  if (config.type_of("kv_cache_scheme") == "object") {
    JsonObject scheme = config.object("kv_cache_scheme");
    scheme.allow_unknown_keys();
    if (scheme.type_of("num_bits") == "number") scheme.read("num_bits", bits, counts);
    if (scheme.type_of("type") == "string") scheme.read("type", kind);
    stored.cache_how = fmt::format("{:.40} of {} bits", kind.empty() ? "numbers" : kind, bits);
  } else if (bits = detail::quark_cache_bits(config); bits > 0) {
    kind = "float", stored.cache_how = fmt::format("float of {} bits", bits);
  } else if (config.type_of("kv_cache_quant_algo") == "string") {
    config.read("kv_cache_quant_algo", algorithm);
    stored.cache_how = fmt::format("{:.40}", algorithm);
  }
  const bool narrow = (kind == "float" && bits == 8) || lower_case(algorithm) == "fp8";
  stored.cache = narrow ? "fp8" : "";
}

StoredWeights weights_said(const Said& said) {
  const std::string_view type = detail::stored_type(said);
  if (type.empty() || said.several || said.sparse) return {"", detail::in_words(said), "", "", ""};
  if (const std::string most = stays_wide(said); !most.empty())
    return {"", fmt::format("{}, {} left wide", detail::in_words(said), most), "", "", ""};
  const bool by_name = detail::of_experts(type);
  StoredWeights stored{std::string(type), detail::in_words(said), wide_in_words(said.wide, said.layers, by_name), "",
      "", said.head ? "the LM head" : ""};
  stored.wide_weights = said.held.weights, stored.wide_experts = said.held.of_experts;
  stored.unknown = said.held.unknown;
  if (stored.wide.empty() && !by_name) stored.wide = wide_products(stored.wide_weights);
  stored.element_bytes = detail::integer_bytes(said, type);
  return stored;
}

/// Under the key that `show` writes.
StoredWeights shown_weights(JsonObject& file) {
  StoredWeights stored;
  JsonObject said = file.object("stored_weights");
  said.read("type", stored.type);
  said.read("how", stored.how);
  said.read("wide", stored.wide);
  said.optional("cache", stored.cache);
  said.optional("cache_how", stored.cache_how);
  said.optional("narrow", stored.narrow);
  said.optional("told_by", stored.told_by);
  said.optional("element_bytes", stored.element_bytes, NumberRange{0, 2});
  said.optional("unknown", stored.unknown);
  if (said.type_of("wide_weights") == "object") {
    JsonObject wide = said.object("wide_weights");
    for (const std::string& name : wide.keys()) {
      WeightsOfLayers& weights = stored.wide_weights.emplace_back();
      weights.name = name;
      wide.read(name.c_str(), weights.layers, counts);
      weights.all = weights.layers.empty();
    }
  }
  if (said.type_of("wide_experts") == "object") {
    JsonObject wide = said.object("wide_experts");
    for (const std::string& name : wide.keys()) {
      std::vector<std::int64_t> counts_by_layer;  // experts of each layer
      wide.read(name.c_str(), counts_by_layer, counts);
      for (std::size_t layer = 0; layer < counts_by_layer.size(); ++layer)
        if (counts_by_layer[layer] > 0)
          stored.wide_experts.push_back({name, static_cast<std::int64_t>(layer), counts_by_layer[layer]});
    }
  }
  return file.failed() ? StoredWeights{} : stored;
}

/// Of what a quantization_config holds. One that tells of the cache alone leaves the weights as they are.
StoredWeights told_in(JsonObject& config, const SaidSizes& built) {
  const Said said = said_in(config, built);
  StoredWeights weights;
  const bool unnamed = config.names("quant_algo") && config.type_of("quant_algo") == "nothing";
  const bool nothing = said.method.empty() && said.bits == 0 && !said.several && unnamed;
  if (!nothing) weights = weights_said(said);
  take_cache(config, weights);
  return weights;
}

/// Of hf_quant_config.json: its part "quantization" is what a quantization_config holds.
StoredWeights told_beside(const std::string& text, const SaidSizes& built) {
  constexpr const char* name = "hf_quant_config.json";
  const StoredWeights unread{"", "a form that is none", "", "", "", "", name};
  JsonObject file(text, "");
  if (file.failed()) return unread;
  file.allow_unknown_keys();
  if (file.type_of("quantization") != "object") return unread;
  JsonObject config = file.object("quantization");
  config.allow_unknown_keys();
  StoredWeights weights = told_in(config, built);
  weights.told_by = name;
  return file.failed() ? unread : weights;
}

/// A sweep asks the same file for each of its engines, and searches through the names of all modules take a while.
StoredWeights remembered(const std::string& config, const std::string& beside) {
  static std::mutex alone;
  static std::map<std::pair<std::string, std::string>, StoredWeights> known;
  constexpr std::size_t most = 16;
  const std::scoped_lock lock(alone);
  const auto found = known.find({config, beside});
  if (found != known.end()) return found->second;
  if (known.size() >= most) known.clear();
  return known[{config, beside}] = stored_weights(config, beside);
}

}  // namespace

StoredWeights stored_weights_of_file(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path file(path);
  if (std::filesystem::is_directory(file, ignored)) file /= "config.json";
  const auto text = read_text_file(file.string());
  if (!text) return {};
  const std::filesystem::path beside = file.parent_path() / "hf_quant_config.json";
  if (file.filename() != "config.json" || !std::filesystem::exists(beside, ignored)) return remembered(*text, "");
  const auto told = read_text_file(beside.string());
  return remembered(*text, told ? *told : "not read");
}

StoredWeights stored_weights(const std::string& config, const std::string& beside) {
  JsonObject file(config, "");
  if (file.failed()) return {};
  file.allow_unknown_keys();
  if (file.type_of("stored_weights") == "object") return shown_weights(file);
  std::vector<JsonObject> parts = parts_that_say_it(file);
  const SaidSizes built = built_as(parts);
  for (JsonObject& part : parts)
    for (const char* key : {"quantization_config", "compression_config", "quantization"}) {
      if (part.type_of(key) != "object") continue;
      JsonObject stored = part.object(key);
      stored.allow_unknown_keys();
      if (stored.keys().empty()) continue;
      StoredWeights weights = told_in(stored, built);
      return file.failed() ? StoredWeights{"", "a form that is none", "", "", ""} : weights;
    }
  return beside.empty() ? StoredWeights{} : told_beside(beside, built);
}

}  // namespace stepcast
