// Shapes from the modeling files of transformers (src/transformers/models/<family>/modeling_<family>.py).
#include "model/network/hf/vision.h"

#include <algorithm>

#include "model/network/hf/counting.h"

namespace stepcast::detail {
namespace {

using Parts = std::vector<NetworkPart>;

constexpr IntegerRange size{1, 100'000'000};

Count number(JsonObject& config, const char* key) {
  Count value = 0;
  config.read(key, value, size);
  return value;
}
Count number_or(JsonObject& config, const char* key, Count absent) {
  Count value = absent;
  config.optional(key, value, size);
  return value;
}

/// Gemma 4: RMS norms before and behind, normed heads, gated MLPs, two tables of positions; where `standardize`, two
/// vectors behind; where `use_clipped_linears`, four bounds for each of seven matrices. A projector of one matrix.
Parts gemma4(JsonObject& /*file*/, JsonObject& vision, const NetworkSpec& text) {
  const Count hidden = number(vision, "hidden_size"), patch = number(vision, "patch_size"),
              layers = number(vision, "num_hidden_layers"), heads = number(vision, "num_attention_heads"),
              size = number_or(vision, "head_dim", heads > 0 ? hidden / heads : 0),
              keys = number_or(vision, "num_key_value_heads", heads);
  bool standardized = false, clipped = false;
  vision.optional("standardize", standardized);
  vision.optional("use_clipped_linears", clipped);
  constexpr Count tables = 2, bounds = 4 * 7;
  const Count layer = 2 * hidden * (heads + keys) * size + 2 * size + 3 * hidden * number(vision, "intermediate_size") +
                      4 * hidden + (clipped ? bounds : 0);
  const Count encoder = 3 * patch * patch * hidden + tables * number(vision, "position_embedding_size") * hidden +
                        layers * layer + (standardized ? 2 * hidden : 0);
  return {{"vision", encoder}, {"projector", hidden * text.hidden}};
}

/// Llama 3.2 Vision: tiles in so many arrangements, each with positions of its own; layers behind whose sublayers are
/// gated; the features of several layers together go to the text.
Parts llama_vision(JsonObject& /*file*/, JsonObject& vision, const NetworkSpec& text) {
  const Count hidden = number(vision, "hidden_size"), patch = number(vision, "patch_size"),
              side = number(vision, "image_size") / std::max<Count>(1, patch), tokens = side * side + 1,
              tiles = number_or(vision, "max_num_tiles", 4), ffn = number(vision, "intermediate_size"),
              gated = number(vision, "num_global_layers");
  // tiles in rows and columns: width x height <= tiles, and none at all
  Count arrangements = 1;
  for (Count width = 1; width <= tiles; ++width) arrangements += tiles / width;
  const Count layer = 4 * hidden * hidden + linear(hidden, ffn) + linear(ffn, hidden) + 2 * layernorm(hidden);
  const Count positions = tokens * hidden + 1 + arrangements * tiles * tokens * hidden;
  const Count encoder = number_or(vision, "num_channels", 3) * patch * patch * hidden + hidden + positions +
                        2 * (arrangements * tiles * hidden + 1) + 2 * layernorm(hidden) +
                        number(vision, "num_hidden_layers") * layer + gated * (layer + 2);
  return {{"vision", encoder}, {"projector", linear(number(vision, "vision_output_dim"), text.hidden)}};
}

struct KnownVision {
  const char* family;
  const char* key;  ///< that only its vision_config has
  Parts (*count)(JsonObject& file, JsonObject& vision, const NetworkSpec& text);
};
constexpr KnownVision table[] = {
    {"gemma4", "position_embedding_size", gemma4},
    {"llama-vision", "max_num_tiles", llama_vision},
};

}  // namespace

Parts other_parts(JsonObject& file, const std::string& family, const NetworkSpec& text) {
  for (const KnownVision& row : table) {
    if (family != row.family || file.type_of("vision_config") != "object") continue;
    JsonObject vision = file.object("vision_config");
    vision.allow_unknown_keys();
    if (vision.has(row.key)) return row.count(file, vision, text);
  }
  return {};
}

}  // namespace stepcast::detail
