#include "model/network/hf/modules/whole_layers.h"

#include <string_view>

#include <fmt/format.h>

#include "model/network/hf/modules/module_pattern.h"

namespace stepcast::detail {
namespace {

/// Where its layers stand in a network, by classes of transformers.
constexpr std::string_view stacks[] = {"model.layers", "model.language_model.layers", "language_model.model.layers",
    "transformer.h", "backbone.layers", "gpt_neox.layers", "transformer.blocks", "model.decoder.layers"};

}  // namespace

std::optional<std::set<std::int64_t>> whole_layers(const std::string& pattern, std::int64_t layers) {
  std::set<std::int64_t> held;
  const auto read = ModulePattern::of(pattern);
  if (!read) return std::nullopt;
  for (std::int64_t layer = 0; layer < layers; ++layer)
    for (const std::string_view stack : stacks) {
      const auto holds = [&](const char* part) { return read->holds(fmt::format("{}.{}.{}", stack, layer, part)); };
      if (holds("self_attn.o_proj") && holds("mlp.down_proj")) held.insert(layer);
    }
  return held;
}

}  // namespace stepcast::detail
