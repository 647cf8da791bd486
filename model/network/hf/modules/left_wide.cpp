// Names of modules are those of the classes of transformers (src/transformers/models); patterns around them are those
// of compressed-tensors ("re:"), of NVIDIA's Model Optimizer ("*") and of vLLM (beginnings of names).
#include "model/network/hf/modules/left_wide.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "model/base/text.h"
#include "model/network/hf/modules/whole_layers.h"

namespace stepcast::detail {
namespace {

bool begins_with_one(std::string_view name, std::string_view words) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (name.starts_with(words.substr(0, end))) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

/// Where the first of the words begins; npos: the name has none.
std::size_t begin_of(std::string_view name, std::string_view words) {
  std::size_t at = 0;
  while (at < name.size() && !begins_with_one(name.substr(at), words)) ++at;
  return at < name.size() ? at : name.npos;
}

bool has_word(std::string_view name, std::string_view words) { return begin_of(name, words) != name.npos; }

/// What is none of the text's wide products: other encoders, modules that predict, norms, routers, small projections.
bool is_no_product(std::string_view name) {
  return has_word(
      name, "visual vision audio image projector mtp norm indexer conv1d in_proj_ba in_proj_a in_proj_b router");
}

/// A gate that is no projection of an MLP is a router's or a shared expert's.
bool is_router(std::string_view name) { return has_word(name, "gate") && !has_word(name, "_proj gate_up"); }

/// A kind of module: the words that name it, those of its first product, and those of products that another stands
/// for, since files list a product of a layer each.
struct WideKind {
  LeftWide WideModules::*left;
  std::string_view words, first, others;  ///< with blanks between them
};

/// The layers of one kind that modules name.
struct NamedLayers {
  bool all = false, some = false;
  std::set<std::int64_t> layers;
  std::map<std::int64_t, std::set<std::int64_t>> experts;  ///< by layer, where they are named one by one

  [[nodiscard]] LeftWide of(std::int64_t count, std::int64_t expert_count) const {
    std::set<std::int64_t> whole = layers;
    for (const auto& [layer, held] : experts)
      if (static_cast<std::int64_t>(held.size()) >= expert_count) whole.insert(layer);
    const auto named = static_cast<std::int64_t>(whole.size());
    if (all || (named > 0 && 2 * named > count)) return LeftWide::all;
    return some || named > 0 || !experts.empty() ? LeftWide::part : LeftWide::nothing;
  }
};

/// Of "model.layers.12.self_attn" 12; -1: no whole part is a number.
std::int64_t numbered_layer(std::string_view name) {
  std::size_t begin = 0;
  while (begin < name.size()) {
    const std::size_t end = std::min(name.find_first_of(".\\", begin), name.size());
    const std::string_view word = name.substr(begin, end - begin);
    constexpr std::size_t most_digits = 6;
    const bool number = !word.empty() && word.size() <= most_digits &&
                        std::ranges::all_of(word, [](unsigned char letter) { return std::isdigit(letter) != 0; });
    if (number) return std::stoll(std::string(word));
    begin = end + 1;
  }
  return -1;
}

/// `at`: where the kind's word begins; what stands before says of which layers.
void add_layers(NamedLayers& named, const WideKind& kind, std::string_view name, std::size_t at) {
  const bool lesser = has_word(name, kind.others) && !has_word(name, kind.first);
  const std::string_view before = name.substr(0, at);
  const std::int64_t layer = numbered_layer(before);
  const bool numbered = std::ranges::any_of(before, [](unsigned char letter) { return std::isdigit(letter) != 0; });
  const std::int64_t expert = name.substr(at).starts_with("experts.") ? numbered_layer(name.substr(at)) : -1;
  if (lesser || (numbered && layer < 0)) named.some = true;
  else if (expert >= 0 && numbered) named.experts[layer].insert(expert);
  else if (numbered) named.layers.insert(layer);
  else named.all = true;
}

constexpr WideKind wide_attention{
    &WideModules::attention, "attn attention", "q_ qkv query c_attn", "o_proj out_proj dense k_proj v_proj kv_ c_proj"};
constexpr WideKind wide_mlps[] = {
    {&WideModules::shared_expert, "shared_expert", "gate_proj up_proj gate_up", "down_proj"},
    {&WideModules::experts, "expert", "gate_proj up_proj gate_up w1 w3", "down_proj w2"},
    {&WideModules::mlp, "mlp feed_forward ffn moe gate_proj up_proj down_proj",
        "gate_proj up_proj gate_up fc1 c_fc h_to_4h", "down_proj fc2 c_proj 4h_to_h"},
};

/// It names attention, an MLP, or what is outside the layers.
bool names_a_part(std::string_view name) {
  return has_word(name, wide_attention.words) || has_word(name, "head embed wte") ||
         std::ranges::any_of(wide_mlps, [&](const WideKind& kind) { return has_word(name, kind.words); });
}

/// Layers that are left wide as a whole; -1: a pattern is not read, or how many there are is not known.
std::int64_t count_whole(const std::vector<std::string>& modules, std::int64_t layers) {
  std::set<std::int64_t> all;
  for (const std::string& module : modules) {
    const std::string name = lower_case(module);
    if (is_no_product(name) || is_router(name) || names_a_part(name)) continue;
    const auto held = whole_layers(module, layers);
    if (!held || (layers == 0 && has_word(name, "layers blocks"))) return -1;
    all.insert(held->begin(), held->end());
  }
  return static_cast<std::int64_t>(all.size());
}

}  // namespace

WideModules wide_modules(const std::vector<std::string>& modules, const SaidSizes& built) {
  const std::int64_t layers = built.layers, experts = built.expert_count;
  NamedLayers attended, whole, fed[std::size(wide_mlps)];
  for (const std::string& module : modules) {
    const std::string name = lower_case(module);
    if (is_no_product(name)) continue;
    if (const std::size_t at = begin_of(name, wide_attention.words); at != name.npos)
      add_layers(attended, wide_attention, name, at);
    if (is_router(name)) continue;
    for (std::size_t i = 0; i < std::size(wide_mlps); ++i) {
      const std::size_t at = begin_of(name, wide_mlps[i].words);
      if (at == name.npos) continue;
      add_layers(fed[i], wide_mlps[i], name, at);
      // The whole part of a layer holds its experts too.
      const bool projections = has_word(name, "mlp") && has_word(name, "_proj") && !has_word(name, "mlp.*");
      if (wide_mlps[i].left == &WideModules::mlp && !projections) add_layers(whole, wide_mlps[i], name, at);
      break;
    }
  }
  WideModules wide;
  wide.layers = count_whole(modules, layers);
  wide.attention = attended.of(layers, experts);
  for (std::size_t i = 0; i < std::size(wide_mlps); ++i) wide.*wide_mlps[i].left = fed[i].of(layers, experts);
  if (!built.experts) wide.experts = wide.shared_expert = LeftWide::nothing;
  else if (whole.of(layers, experts) == LeftWide::all) wide.experts = wide.shared_expert = LeftWide::all;
  return wide;
}

}  // namespace stepcast::detail
