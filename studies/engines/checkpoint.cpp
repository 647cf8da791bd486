#include "studies/engines/checkpoint.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "calibrate/import/tables/plain_words.h"
#include "model/base/text.h"
#include "model/catalog.h"

namespace stepcast::engines {
namespace {

/// What the end of a name tells, of the checkpoints of a maker ("" = of all). Makers' model cards on the hub: Qwen's
/// and DeepSeek's fp8 has scales of 128 x 128 blocks, Red Hat's and Meta's of channels; NVIDIA's Model Optimizer
/// narrows the cache beside the weights (hf_quant_config.json, kv_cache_quant_algo).
struct NameEnding {
  std::string_view ending, maker, weights, cache, refused;
};
constexpr std::string_view in_int8 = "products of 8-bit integers are not forecast",
                           all_mxfp4 = "mxfp4 in layers other than experts is not forecast",
                           mixed = "weights of this format are not forecast";
// clang-format off
constexpr std::array endings = {
    NameEnding{"-fp8-kv", "amd", "fp8", "fp8", ""},          NameEnding{"-fp8-dynamic", "", "fp8", "", ""},
    NameEnding{"-fp8-block", "", "fp8-block", "", ""},       NameEnding{"-fp8", "qwen", "fp8-block", "", ""},
    NameEnding{"-fp8", "nvidia", "fp8", "fp8", ""},          NameEnding{"-fp8", "", "fp8", "", ""},
    NameEnding{"-nvfp4-v2", "nvidia", "nvfp4", "fp8", ""},   NameEnding{"-fp4-v2", "nvidia", "nvfp4", "fp8", ""},
    NameEnding{"-nvfp4", "nvidia", "nvfp4", "fp8", ""},      NameEnding{"-nvfp4", "", "nvfp4", "", ""},
    NameEnding{"-fp4", "nvidia", "nvfp4", "fp8", ""},        NameEnding{"-mxfp8", "", "mxfp8", "", ""},
    NameEnding{"-bf16", "", "bf16", "", ""},                 NameEnding{"-gptq-int4", "", "int4", "", ""},
    NameEnding{"-gptq-int8", "", "int8", "", ""},            NameEnding{"-awq-int4", "", "int4", "", ""},
    NameEnding{"-awq", "", "int4", "", ""},                  NameEnding{"-quantized.w4a16", "", "int4", "", ""},
    NameEnding{"-w4a16", "", "int4", "", ""},                NameEnding{"-quantized.w8a16", "", "int8", "", ""},
    NameEnding{"-w8a16", "", "int8", "", ""},                NameEnding{"-quantized.w8a8", "", "", "", in_int8},
    NameEnding{"-w8a8", "", "", "", in_int8},                NameEnding{"-mxfp4", "", "", "", all_mxfp4},
    NameEnding{"-fp4", "", "", "", all_mxfp4},               NameEnding{"-gguf", "", "", "", mixed},
    NameEnding{"-bnb-4bit", "", "", "", mixed},              NameEnding{"-w4afp8", "", "", "", mixed},
    NameEnding{"-gptq", "", "", "", ""},                     NameEnding{"-int4", "", "", "", ""},
    NameEnding{"-int8", "", "", "", ""},
};
// clang-format on

/// Ends that change weights and no shape: what a checkpoint was trained further for, and dates.
constexpr std::array neutral = {std::string_view("-instruct"), std::string_view("-chat"), std::string_view("-it"),
    std::string_view("-hf"), std::string_view("-base"), std::string_view("-pt"), std::string_view("-thinking"),
    std::string_view("-terminus"), std::string_view("-0324"), std::string_view("-0528"), std::string_view("-2507"),
    std::string_view("-0905")};

/// Networks whose checkpoints are narrow by themselves (config.json, quantization_config), or of which several are.
struct NativeType {
  std::string_view network, weights;  ///< "": it must be told
};
constexpr std::array natives = {NativeType{"deepseek-v3", "fp8-block"}, NativeType{"deepseek-v3.2", "fp8-block"},
    NativeType{"gpt-oss-120b", "mxfp4"}, NativeType{"gpt-oss-20b", "mxfp4"}, NativeType{"minimax-m2", "fp8-block"},
    NativeType{"kimi-k2", ""}, NativeType{"minimax-m3", ""}, NativeType{"deepseek-v4-flash", ""},
    NativeType{"deepseek-v4-pro", ""}, NativeType{"nemotron-3-nano", ""}, NativeType{"nemotron-3-super", ""},
    NativeType{"nemotron-3-ultra", ""}, NativeType{"nemotron-3.5-lightning", ""}};

/// Checkpoints whose own type is not that of others of their network (config.json, quantization_config; of Kimi K2's
/// first ones the README of MoonshotAI/Kimi-K2: they are stored in block-fp8).
constexpr std::array named = {NativeType{"kimi-k2-instruct", "fp8-block"},
    NativeType{"kimi-k2-instruct-0905", "fp8-block"}, NativeType{"kimi-k2-base", "fp8-block"},
    NativeType{"kimi-k2.5", "int4-experts"}, NativeType{"kimi-k2-thinking", "int4-experts"},
    NativeType{"glm-5-fp8", "fp8-block"}, NativeType{"glm-5.1-fp8", "fp8-block"}};

const NameEnding* ending_of(const std::string& name, const std::string& maker) {
  for (const NameEnding& row : endings)
    if (name.ends_with(row.ending) && (row.maker.empty() || row.maker == maker)) return &row;
  return nullptr;
}

void drop_neutral(std::string& name) {
  for (bool dropped = true; dropped;) {
    dropped = false;
    for (const std::string_view end : neutral)
      if (name.ends_with(end) && name.size() > end.size()) name.resize(name.size() - end.size()), dropped = true;
  }
}

/// The network with that id or other name, both without neutral ends.
const NetworkSpec* network_named(const std::string& name) {
  const auto same = [&](const std::string& known) {
    std::string part = lower_case(last_of_path(known));
    if (part == name) return true;
    if (const NameEnding* row = ending_of(part, "")) part.resize(part.size() - row->ending.size());
    drop_neutral(part);
    std::string bare = name;
    drop_neutral(bare);
    return part == bare;
  };
  for (const NetworkSpec& row : built_in().networks)
    if (same(row.id) || std::ranges::any_of(row.aliases, same)) return &row;
  return nullptr;
}

/// The folder of a checkpoint in the hub's cache (models--MAKER--NAME/snapshots/HASH) is one name; other hashes are
/// those of the folder above.
std::string name_of_path(std::string model) {
  while (model.size() > 1 && model.ends_with('/')) model.pop_back();
  if (const std::size_t cached = model.find("models--"); cached != model.npos) {
    std::string name = model.substr(cached + 8, model.find('/', cached) - cached - 8);
    if (const std::size_t dashes = name.find("--"); dashes != name.npos) name.replace(dashes, 2, "/");
    return name;
  }
  constexpr std::size_t hash = 40;
  const std::string_view last = last_of_path(model);
  if (last.size() == hash && last.find_first_not_of("0123456789abcdef") == last.npos && model.size() > hash + 1)
    model.resize(model.size() - hash - 1);
  return model;
}

/// Whose checkpoint it is; of a folder its name tells that of Qwen's alone.
std::string maker_of(const std::string& model) {
  const std::size_t slash = model.find('/');
  const bool on_hub = slash != 0 && slash != model.npos && model.find('/', slash + 1) == model.npos;
  if (on_hub) return lower_case(model.substr(0, slash));
  return lower_case(last_of_path(model)).starts_with("qwen") ? "qwen" : "";
}

}  // namespace

Checkpoint as_stored(Checkpoint checkpoint, std::string_view network) {
  const auto native = std::ranges::find(natives, network, &NativeType::network);
  if (checkpoint.bare_fp8 && native != natives.end() && native->weights == "fp8-block")
    checkpoint.weights = native->weights;
  return checkpoint;
}

Checkpoint checkpoint_of(const std::string& model) {
  Checkpoint out;
  const std::string whole = name_of_path(model);
  std::string name = lower_case(last_of_path(whole));
  const std::string maker = maker_of(whole);
  const std::string full = name;
  bool told = false;
  if (const NameEnding* row = ending_of(name, maker)) {
    out.weights = row->weights, out.cache = row->cache, out.refused = row->refused;
    told = true;
    out.bare_fp8 = row->ending == "-fp8" && row->maker.empty();
    out.optimized = maker == "nvidia" && !row->cache.empty();
    // the catalogue may know it by its whole name
    if (network_named(name) == nullptr) name.resize(name.size() - row->ending.size());
  }
  const NetworkSpec* network = network_named(name);
  if (network == nullptr) return out;
  out.network = network->id;
  if (name != lower_case(network->id))
    out.notes.push_back(fmt::format("{:.80} is read as network {}", whole, network->id));
  if (const auto own = std::ranges::find(named, std::string_view(full), &NativeType::network); own != named.end()) {
    out.weights = own->weights;
    return out;
  }
  if (told) return as_stored(std::move(out), network->id);
  const auto native = std::ranges::find(natives, std::string_view(network->id), &NativeType::network);
  out.weights = native == natives.end() ? "bf16" : native->weights;
  out.several = out.weights.empty();
  return out;
}

}  // namespace stepcast::engines
