// Internal to hf: which layers a checkpoint leaves wide as a whole, by patterns that name a layer and no part of it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace stepcast::detail {

/// Those of `layers` whose attention and MLP both are held. nullopt: the pattern is not read.
std::optional<std::set<std::int64_t>> whole_layers(const std::string& pattern, std::int64_t layers);

}  // namespace stepcast::detail
