// Internal to hf: the keys of a vision_config, and the encoder that they fill.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "model/network/network.h"

namespace stepcast::detail {

constexpr IntegerRange vision_sizes{1, 100'000'000};

/// Steps of projectors.
namespace steps {

constexpr ProjectorStep layernorm{ProjectorStep::Kind::norm, 0, Norm::layernorm},
    rmsnorm{ProjectorStep::Kind::norm, 0, Norm::rmsnorm};
inline ProjectorStep merge(std::int64_t rows) { return {ProjectorStep::Kind::merge, rows}; }
inline ProjectorStep mean(std::int64_t rows) { return {ProjectorStep::Kind::mean, rows}; }
inline ProjectorStep layer(std::int64_t layers) { return {ProjectorStep::Kind::layer, layers}; }
inline ProjectorStep beside(std::int64_t layers) { return {ProjectorStep::Kind::beside, layers}; }
inline ProjectorStep attend(std::int64_t queries) { return {ProjectorStep::Kind::attend, queries}; }
inline ProjectorStep matrix(std::int64_t width, bool bias, bool activated = false) {
  return {ProjectorStep::Kind::matrix, width, Norm::rmsnorm, bias, activated};
}

}  // namespace steps

/// The keys of a vision_config and of what stands around it, and the encoder that they fill.
struct VisionReader {
  JsonObject& file;
  JsonObject& vision;
  const NetworkSpec& text;
  NetworkSpec encoder{};
  std::vector<std::string> unlike{};  ///< what its class does otherwise than is described: "select_layer -4"
  std::int64_t unread = 0;            ///< weights of the file that no step of training touches
  std::int64_t idle = 0;              ///< layers behind the last one whose features the text gets

  std::int64_t number(const char* key) {
    std::int64_t value = 0;
    vision.read(key, value, vision_sizes);
    return value;
  }
  std::int64_t number_or(const char* key, std::int64_t absent) {
    vision.optional(key, absent, vision_sizes);
    return absent;
  }
  bool flag(const char* key, bool absent) {
    vision.optional(key, absent);
    return absent;
  }
  std::string text_or(const char* key, std::string absent) {
    vision.optional(key, absent);
    return absent;
  }
  /// A number for both sides, or one for each.
  std::vector<std::int64_t> sides(const char* key, std::int64_t absent) {
    std::vector<std::int64_t> both;
    if (vision.type_of(key) == "list") vision.read(key, both, vision_sizes);
    else both.assign(2, number_or(key, absent));
    vision.require(both.size() == 2, key, fmt::format("{} numbers for two sides", both.size()),
        "one number, or one for each side");
    both.resize(2, 1);
    return both;
  }
  std::int64_t area(const char* key, std::int64_t absent) {
    std::int64_t all = 1;
    for (const std::int64_t side : sides(key, absent)) all *= side;
    return all;
  }
  /// Whole patches of an image, which holds at least one.
  std::int64_t patches(std::int64_t image, std::int64_t patch) {
    const std::vector<std::int64_t> images = sides("image_size", image), each = sides("patch_size", patch);
    std::int64_t whole = 1;
    for (std::size_t i = 0; i < images.size(); ++i) {
      vision.require(images[i] >= each[i], "image_size",
          fmt::format("{} pixels hold no patch of {}", images[i], each[i]),
          fmt::format("at least patch_size, {}", each[i]));
      whole *= images[i] / std::max<std::int64_t>(1, each[i]);
    }
    return whole;
  }
  /// Patches of each side that become one, where a shuffle leaves this share of them.
  std::int64_t shuffled_side(JsonObject& object, const char* key) {
    double ratio = 0.5;
    object.optional(key, ratio, NumberRange{1e-3, 1});
    const auto side = static_cast<std::int64_t>(std::lround(1 / ratio));
    constexpr double rounding = 1e-9;
    object.require(std::abs(static_cast<double>(side) * ratio - 1) < rounding, key,
        fmt::format("{} of a side merges no whole number of patches", ratio), fmt::format("1 / {}", side));
    return side;
  }
  /// Patches of so many pixels in so many frames, layers with LayerNorm and plain MLPs, biases everywhere.
  void plain(const char* layers, const char* heads, const char* ffn, std::int64_t pixels) {
    NetworkSpec& e = encoder;
    e.layers = number(layers);
    e.heads = number(heads);
    e.ffn_hidden = number(ffn);
    e.features = pixels;
    e.norm = Norm::layernorm;
    e.activation = Activation::gelu;
    e.linear_bias = true;
  }
  /// RMS norms, gated MLPs, no biases.
  void gated(const char* layers, const char* heads, const char* ffn, std::int64_t pixels) {
    plain(layers, heads, ffn, pixels);
    encoder.norm = Norm::rmsnorm;
    encoder.activation = Activation::swiglu;
    encoder.linear_bias = false;
  }
  void positions(std::int64_t rows) {
    encoder.positions = Positions::learned;
    encoder.max_positions = rows;
  }
  /// Layers that a list names, below `behind`.
  std::vector<std::int64_t> layers_once(const char* key, std::vector<std::int64_t> usual, std::int64_t behind) {
    vision.optional(key, usual, IntegerRange{0, 10'000});
    for (auto layer = usual.begin(); layer != usual.end(); ++layer) {
      const bool again = std::find(usual.begin(), layer, *layer) != layer;
      vision.require(*layer < behind && !again, key,
          fmt::format("layer {} of {}{}", *layer, encoder.layers, again ? ", once more" : ""), "0, 1, ..., each once");
    }
    return usual;
  }
  /// Of a side beyond 100,000 that of 100,000, which is refused as too wide a row: no product of it leaves the
  /// integers.
  [[nodiscard]] static std::int64_t square(std::int64_t side) {
    side = std::min<std::int64_t>(side, 100'000);
    return side * side;
  }
};

/// The features that the text gets, by the number of layers that gave them, in order of the file's list or number
/// under `key`; layers behind the last of them are in the file, and nobody runs them.
std::vector<std::int64_t> taken_layers(VisionReader& r, const char* key, std::int64_t usual);

// vision_encoders.cpp
/// What follows from the heads. False: a rule is broken, without which the encoder cannot be counted; `key` is in its
/// config.
bool completes_heads(VisionReader& r, const char* key);

// vision_encoders_more.cpp
void qwen2_vl_images(VisionReader& r);
void llama4_images(VisionReader& r);
void glm4v_images(VisionReader& r);
void dots_images(VisionReader& r);
void internvl_images(VisionReader& r);
void siglip_behind_matrix(VisionReader& r);
void idefics3_images(VisionReader& r);
void llama_vision_images(VisionReader& r);

// vision_llava.cpp
void llava_images(VisionReader& r);
void llava_next_images(VisionReader& r);
void siglip_layers(VisionReader& r);
void paddle_images(VisionReader& r);
void keye_images(VisionReader& r);
void lfm2_images(VisionReader& r);
void minicpm_v_images(VisionReader& r);

}  // namespace stepcast::detail
