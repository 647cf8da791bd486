#include "model/network/hf/families/layer_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

std::string names_in(std::span<const LayerName> table) {
  std::string text;
  for (const LayerName& row : table) text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

std::vector<LayerKind> kinds_of(
    HfReader& r, const char* key, const std::vector<std::string>& names, std::span<const LayerName> table) {
  std::vector<LayerKind> kinds;
  for (const std::string& name : names) {
    const auto row = std::ranges::find(table, name, &LayerName::name);
    r.config.require(row != table.end(), key, fmt::format("layers of the kind '{:.40}' are none of our forms", name),
        names_in(table));
    if (row != table.end()) kinds.push_back(row->kind);
  }
  return kinds;
}

}  // namespace

std::vector<LayerKind> listed(HfReader& r, const char* key, std::span<const LayerName> table) {
  std::vector<std::string> names;
  r.config.optional(key, names);
  return kinds_of(r, key, names, table);
}

std::vector<LayerKind> lettered(HfReader& r, const char* key, std::span<const LayerName> table) {
  std::string letters;
  r.config.optional(key, letters);
  std::vector<std::string> names;
  for (const char letter : letters) names.emplace_back(1, letter);
  return kinds_of(r, key, names, table);
}

void take_pattern(HfReader& r, const char* key, std::vector<LayerKind> kinds) {
  NetworkSpec& n = r.spec;
  r.config.require(static_cast<std::int64_t>(kinds.size()) == n.layers, key,
      fmt::format("{} kinds for {} layers", kinds.size(), n.layers), "one for each layer");
  n.experts.dense_layers = 0, n.experts.every = 1;
  n.pattern = shortest(std::move(kinds));
}

void feed_all(std::vector<LayerKind>& kinds, std::int64_t dense, bool experts) {
  for (std::size_t i = 0; i < kinds.size(); ++i)
    kinds[i].feed = experts && static_cast<std::int64_t>(i) >= dense ? Feed::experts : Feed::mlp;
}

void require_flag(HfReader& r, const char* key, bool wanted, const char* what) {
  bool value = wanted;
  r.config.optional(key, value);
  r.config.require(value == wanted, key, what, wanted ? "true" : "false");
}

std::vector<LayerKind> shortest(std::vector<LayerKind> kinds) {
  for (std::size_t length = 1; 2 * length <= kinds.size(); ++length) {
    bool repeats = true;
    for (std::size_t i = length; i < kinds.size() && repeats; ++i) repeats = kinds[i] == kinds[i - length];
    if (!repeats) continue;
    kinds.resize(length);
    break;
  }
  return kinds;
}

}  // namespace stepcast::detail
