// Reads which layers have experts, as Megatron's --moe-layer-freq writes it: a Python list with sums and repeats,
// "([0]*3+[1]*58)".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace stepcast::launch {

/// A 0 or 1 per layer; nothing where the text is no such list or is longer than 10,000.
std::optional<std::vector<int>> read_expert_pattern(std::string_view text);

/// Dense layers in front, then experts in every n-th layer (is_expert_layer).
struct ExpertLayers {
  std::int64_t dense = 0, every = 1;
};
/// Nothing where the pattern is of another kind.
std::optional<ExpertLayers> expert_layers_of(const std::vector<int>& pattern);

}  // namespace stepcast::launch
