// Internal to hf: files that say layer by layer what a layer has, by names or letters.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/network/hf/reader.h"

namespace stepcast::detail {

/// What a file calls a layer, and what the layer has.
struct LayerName {
  std::string_view name;
  LayerKind kind;
};

inline constexpr LayerKind mixer_alone{Feed::none, false, true, false}, attention_alone{Feed::none, false, false, true},
    mlp_alone{Feed::mlp, false, false, false}, experts_alone{Feed::experts, false, false, false};

/// A list of names under `key`, one for each layer; empty where the file has none.
std::vector<LayerKind> listed(HfReader& r, const char* key, std::span<const LayerName> table);
/// A letter for each layer.
std::vector<LayerKind> lettered(HfReader& r, const char* key, std::span<const LayerName> table);
/// As many kinds as layers; the experts are where the kinds say.
void take_pattern(HfReader& r, const char* key, std::vector<LayerKind> kinds);
/// By the first `dense` layers an MLP, then experts.
void feed_all(std::vector<LayerKind>& kinds, std::int64_t dense, bool experts);
void require_flag(HfReader& r, const char* key, bool wanted, const char* what);

}  // namespace stepcast::detail
