// vLLM: vllm/model_executor/layers/quantization/quark/quark.py, from_config and _find_matched_config: one form in
// global_quant_config, others in layer_quant_config and layer_type_quant_config, and the cache as the outputs of the
// layers in kv_cache_group.
#include "model/network/hf/modules/quark.h"

#include <algorithm>
#include <string>
#include <vector>

#include "model/base/contains.h"
#include "model/network/hf/modules/stored_form.h"

namespace stepcast::detail {
namespace {

constexpr IntegerRange group_sizes{0, 1 << 20};

struct QuarkType {
  std::string kind;  ///< "float", "int"; "": none is said
  std::int64_t bits = 0, group = 0;
  friend bool operator==(const QuarkType&, const QuarkType&) = default;
};

/// Of "fp8_e4m3", "fp4", "int8", "uint4".
QuarkType quark_type(const std::string& word) {
  QuarkType type;
  type.kind = word.starts_with("fp") ? "float" : word.starts_with("int") || word.starts_with("uint") ? "int" : "";
  const std::size_t digit = word.find_first_of("0123456789");
  if (!type.kind.empty() && digit != word.npos) type.bits = word[digit] - '0';
  return type;
}

/// Of config["weight"] and the like. A list of several types is read as none.
QuarkType type_in(JsonObject& config, const char* key) {
  if (config.type_of(key) != "object") return {};
  JsonObject tensor = config.object(key);
  tensor.allow_unknown_keys();
  std::string word, scheme;
  if (tensor.type_of("dtype") == "string") tensor.read("dtype", word);
  if (tensor.type_of("qscheme") == "string") tensor.read("qscheme", scheme);
  QuarkType type = quark_type(word);
  if (scheme == "per_group" && tensor.type_of("group_size") == "number")
    tensor.read("group_size", type.group, group_sizes);
  return type;
}

struct QuarkForm {
  QuarkType weights, inputs;
  friend bool operator==(const QuarkForm&, const QuarkForm&) = default;
};

QuarkForm form_in(JsonObject& config) { return {type_in(config, "weight"), type_in(config, "input_tensors")}; }

/// The layers of a part that have another form than most.
bool has_other(JsonObject& config, const char* key, const QuarkForm& most) {
  if (config.type_of(key) != "object") return false;
  JsonObject layers = config.object(key);
  layers.allow_unknown_keys();
  return std::ranges::any_of(layers.keys(), [&](const std::string& name) {
    if (layers.type_of(name.c_str()) != "object") return true;
    JsonObject layer = layers.object(name.c_str());
    layer.allow_unknown_keys();
    return form_in(layer) != most;
  });
}

}  // namespace

void take_quark(JsonObject& config, Said& said) {
  if (said.method != "quark" || config.type_of("global_quant_config") != "object") return;
  JsonObject global = config.object("global_quant_config");
  global.allow_unknown_keys();
  const QuarkForm most = form_in(global);
  said.kind = most.weights.kind, said.bits = most.weights.bits, said.group = most.weights.group;
  said.narrow_inputs = most.inputs.bits > 0;
  const bool mixed = said.narrow_inputs && most.inputs != most.weights;
  const bool fine = most.weights.bits == 8 && most.weights.group > 0;  // no type of ours has such scales
  said.several = said.several || mixed || fine || has_other(config, "layer_quant_config", most) ||
                 has_other(config, "layer_type_quant_config", most);
}

std::int64_t quark_cache_bits(JsonObject& config) {
  std::vector<std::string> group;
  if (config.type_of("export") == "object") {
    JsonObject exported = config.object("export");
    exported.allow_unknown_keys();
    if (exported.type_of("kv_cache_group") == "list") exported.read("kv_cache_group", group);
  }
  if (group.empty() || config.type_of("layer_quant_config") != "object") return 0;
  JsonObject layers = config.object("layer_quant_config");
  layers.allow_unknown_keys();
  for (const std::string& name : layers.keys()) {
    if (!contains(group, name) || layers.type_of(name.c_str()) != "object") continue;
    JsonObject layer = layers.object(name.c_str());
    layer.allow_unknown_keys();
    if (const QuarkType type = type_in(layer, "output_tensors"); type.kind == "float") return type.bits;
  }
  return 0;
}

}  // namespace stepcast::detail
