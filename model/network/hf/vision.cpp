// Shapes from the modeling files of transformers (src/transformers/models/<family>/modeling_<family>.py) and of
// moonshotai/Kimi-K2.5 (modeling_kimi_k25.py).
#include "model/network/hf/vision.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "model/network/hf/counting.h"
#include "model/network/hf/vision_parts.h"

namespace stepcast::detail {

namespace {

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

struct KnownVision {
  const char* family;
  const char* key;   ///< that only its vision_config has
  const char* type;  ///< its model_type; "": any
  Parts (*count)(JsonObject& file, JsonObject& vision, const NetworkSpec& text);
  const char* object = "vision_config";
};
constexpr KnownVision table[] = {
    {"gemma4", "position_embedding_size", "", gemma4},
    {"kimi-linear", "vt_hidden_size", "", kimi_k3},
    {"deepseek-ocr", "width", "vision", deepseek_ocr_images},
    {"clip", "patch_size", "", clip_images},
    {"siglip", "patch_size", "", siglip_images},
    {"step3-vl", "output_hidden_size", "", step3_vision},
    {"nemotron-nano-vl", "args", "", radio},
    {"phi4-mm", "image_embd_layer", "", phi4_parts, "embd_layer"},
    {"gemma3n", "architecture", "", gemma3n_parts},
};

}  // namespace

namespace {

/// Of a size that no encoder has.
bool is_beyond(const Parts& parts) {
  constexpr Count most = 1'000'000'000'000;
  return std::ranges::any_of(
      parts, [](const NetworkPart& part) { return part.parameters < 0 || part.parameters > most; });
}

}  // namespace

Parts other_parts(
    JsonObject& file, const std::string& family, const NetworkSpec& text, bool seen, std::vector<std::string>& notes) {
  Parts parts;
  for (const KnownVision& row : table) {
    if (family != row.family || file.type_of(row.object) != "object") continue;
    if (seen && row.object == std::string_view("vision_config")) continue;
    JsonObject vision = file.object(row.object);
    vision.allow_unknown_keys();
    std::string type;
    if (vision.type_of("model_type") == "string") vision.read("model_type", type);
    const bool named = *row.type == '\0' || type == row.type;
    if (!named || !vision.has(row.key)) continue;
    const Parts more = row.count(file, vision, text);
    const auto error = file.first_error();
    if (error || is_beyond(more)) {
      notes.push_back(
          fmt::format("{} is not counted: {}", row.object, error ? to_text(*error) : "sizes that none has"));
      return {};
    }
    parts.insert(parts.end(), more.begin(), more.end());
  }
  return parts;
}

}  // namespace stepcast::detail
