// Internal to hf: which layers a checkpoint leaves wide as a whole, by patterns that name a layer and no part of it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace stepcast::detail {

/// Does a pattern of a config.json hold a module? `pattern` is "re:..." from the name's beginning, with "*" and "?" of
/// the whole name, else a part of the name that ends where one of its words does. nullopt: it is not read.
std::optional<bool> holds_module(const std::string& pattern, const std::string& module);

/// Those of `layers` whose attention and MLP both are held. nullopt: the pattern is not read.
std::optional<std::set<std::int64_t>> whole_layers(const std::string& pattern, std::int64_t layers);

}  // namespace stepcast::detail
