// Internal to hf: what counts of image encoders share, and those that stand in a file of their own.
#pragma once

#include <vector>

#include "model/base/json_reader.h"
#include "model/network/hf/counting.h"
#include "model/network/network.h"

namespace stepcast::detail {

using Parts = std::vector<NetworkPart>;

inline constexpr IntegerRange part_sizes{1, 1'000'000};

inline Count number(JsonObject& config, const char* key) {
  Count value = 0;
  config.read(key, value, part_sizes);
  return value;
}
inline Count number_or(JsonObject& config, const char* key, Count absent) {
  Count value = absent;
  config.optional(key, value, part_sizes);
  return value;
}

/// A flag; the class's own where it is absent.
inline bool flag(JsonObject& config, const char* key, bool absent) {
  bool value = absent;
  config.optional(key, value);
  return value;
}

// vision_more.cpp
Parts kimi_k3(JsonObject& file, JsonObject& vision, const NetworkSpec& text);

Parts deepseek_ocr_images(JsonObject& file, JsonObject& vision, const NetworkSpec& text);
Parts clip_images(JsonObject& file, JsonObject& vision, const NetworkSpec& text);
Parts siglip_images(JsonObject& file, JsonObject& vision, const NetworkSpec& text);

// vision_sound.cpp
Parts step3_vision(JsonObject& file, JsonObject& vision, const NetworkSpec& text);
Parts radio(JsonObject& file, JsonObject& vision, const NetworkSpec& text);
Parts phi4_parts(JsonObject& file, JsonObject& embedding, const NetworkSpec& text);
Parts gemma3n_parts(JsonObject& file, JsonObject& vision, const NetworkSpec& text);

}  // namespace stepcast::detail
