// Internal to hf: which layers of a network a checkpoint leaves wide, by the names of modules in its config.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepcast::detail {

enum class LeftWide : std::uint8_t { nothing, part, all };

/// How much of each the modules hold. The rest of a network (norms, routers, indexers, tables, encoders of images) no
/// forecast takes as narrow, or it is next to nothing.
struct WideModules {
  LeftWide attention = LeftWide::nothing, mlp = LeftWide::nothing, shared_expert = LeftWide::nothing,
           experts = LeftWide::nothing;
  /// that are left wide as a whole, by patterns that name a layer and no part of it; -1: so many are not known
  std::int64_t layers = 0;
};

/// What the network has, whose weights a file tells of.
struct SaidSizes {
  std::int64_t layers = 0;  ///< 0: not said
  bool experts = false;
  std::int64_t expert_count = 0;  ///< of a layer; 0: not said
  std::string experts_in;         ///< the number type of experts, where it is their own
};

/// Of "model.layers.0.self_attn.o_proj", "re:.*mlp.(gate|up|down)_proj", "*.self_attn*".
WideModules wide_modules(const std::vector<std::string>& modules, const SaidSizes& built);

}  // namespace stepcast::detail
