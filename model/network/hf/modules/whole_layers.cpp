// How patterns are meant: compressed_tensors/utils/match.py (re.match behind "re:"), fnmatch of exclude_modules
// (TensorRT-LLM models/modeling_utils.py, is_module_excluded_from_quantization; vLLM quantization/modelopt.py), parts
// of names of modules_to_not_convert (vLLM quantization/awq.py, is_layer_skipped_awq).
#include "model/network/hf/modules/whole_layers.h"

#include <algorithm>
#include <regex>
#include <string_view>

#include <fmt/format.h>

namespace stepcast::detail {
namespace {

/// Where its layers stand in a network, by classes of transformers.
constexpr std::string_view stacks[] = {"model.layers", "model.language_model.layers", "language_model.model.layers",
    "transformer.h", "backbone.layers", "gpt_neox.layers", "transformer.blocks", "model.decoder.layers"};

bool holds_all(std::string_view glob, std::string_view name) {
  std::size_t at = 0, read = 0, star = glob.npos, from = 0;
  while (read < name.size()) {
    if (at < glob.size() && (glob[at] == '?' || glob[at] == name[read]) && glob[at] != '*') ++at, ++read;
    else if (at < glob.size() && glob[at] == '*') star = at++, from = read;
    else if (star != glob.npos) at = star + 1, read = ++from;
    else return false;
  }
  return glob.find_first_not_of('*', at) == glob.npos;
}

/// "model.layers.1" is no part of "model.layers.12", and "model.layers.1." is one of "model.layers.1.mlp".
bool is_part(std::string_view part, std::string_view name) {
  if (part.empty()) return false;
  for (std::size_t at = name.find(part); at != name.npos; at = name.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if (part.back() == '.' || end == name.size() || name[end] == '.') return true;
  }
  return false;
}

/// Patterns that a search through short names may take long for are not read.
bool is_quick(std::string_view pattern) {
  constexpr std::size_t longest = 1000;
  constexpr std::ptrdiff_t most = 4;
  const auto repeats = std::ranges::count_if(pattern, [](char c) { return c == '*' || c == '+' || c == '{'; });
  const bool nested =
      pattern.find(")*") != pattern.npos || pattern.find(")+") != pattern.npos || pattern.find("){") != pattern.npos;
  return pattern.size() <= longest && repeats <= most && !nested;
}

std::optional<bool> begins_as(const std::string& pattern, const std::string& name) {
  if (!is_quick(pattern)) return std::nullopt;
  try {
    return std::regex_search(name, std::regex(pattern), std::regex_constants::match_continuous);
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<bool> holds_module(const std::string& pattern, const std::string& module) {
  if (pattern.starts_with("re:")) return begins_as(pattern.substr(3), module);
  if (pattern.find_first_of("*?") != pattern.npos) return holds_all(pattern, module);
  return is_part(pattern, module);
}

std::optional<std::set<std::int64_t>> whole_layers(const std::string& pattern, std::int64_t layers) {
  std::set<std::int64_t> held;
  for (std::int64_t layer = 0; layer < layers; ++layer)
    for (const std::string_view stack : stacks) {
      bool both = true;
      for (const char* part : {"self_attn.o_proj", "mlp.down_proj"}) {
        if (!both) break;
        const auto one = holds_module(pattern, fmt::format("{}.{}.{}", stack, layer, part));
        if (!one) return std::nullopt;
        both = *one;
      }
      if (both) held.insert(layer);
    }
  return held;
}

}  // namespace stepcast::detail
