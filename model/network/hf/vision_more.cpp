// Image and sound encoders of classes around a text of any family, and of Qwen2-VL, Llama 4 and GLM-4.5V: shapes from
// src/transformers/models/<family>/modeling_<family>.py of transformers; InternVL's from modeling_intern_vit.py and
// modeling_internvl_chat.py of OpenGVLab's files, Kimi-VL's from modeling_kimi_vl.py of moonshotai's.
#include <algorithm>

#include "model/network/hf/vision_parts.h"
#include "model/network/hf/vision_reader.h"

namespace stepcast::detail {
namespace {

/// A class token, patches without a bias, a norm before the layers and one behind them.
Count clip_encoder(VisionReader& r) {
  JsonObject& vision = r.vision;
  const Count hidden = number_or(vision, "hidden_size", 768);
  return hidden + 3 * r.area("patch_size", 32) * hidden + (r.patches(224, 32) + 1) * hidden + 2 * layernorm(hidden) +
         number_or(vision, "num_hidden_layers", 12) *
             encoder_layer(hidden, number_or(vision, "intermediate_size", 3072));
}

/// Patches with a bias, a norm behind the layers; unless the file says no, a head that pools by attention of a learned
/// query and an MLP.
Count siglip_encoder(VisionReader& r) {
  JsonObject& vision = r.vision;
  const Count hidden = number_or(vision, "hidden_size", 768), ffn = number_or(vision, "intermediate_size", 3072);
  const Count head = hidden + linear(hidden, 3 * hidden) + linear(hidden, hidden) + layernorm(hidden) +
                     linear(hidden, ffn) + linear(ffn, hidden);
  return linear(3 * r.area("patch_size", 16), hidden) + r.patches(224, 16) * hidden +
         number_or(vision, "num_hidden_layers", 12) * encoder_layer(hidden, ffn) + layernorm(hidden) +
         (flag(vision, "vision_use_head", true) ? head : 0);
}

}  // namespace

/// Kimi K3's: RMS norms, no biases, heads of a width of their own; a norm behind the projector.
Parts kimi_k3(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  VisionReader r{file, vision, text};
  const Count hidden = number(vision, "vt_hidden_size"), inner = number_or(vision, "qkv_hidden_size", hidden),
              merged = r.area("merge_kernel_size", 2) * hidden;
  const Count layer = 4 * hidden * inner + 2 * hidden * number(vision, "vt_intermediate_size") + 2 * hidden;
  const Count encoder = 3 * r.area("patch_size", 14) * hidden +
                        number(vision, "init_pos_emb_height") * number(vision, "init_pos_emb_width") * hidden +
                        number(vision, "vt_num_hidden_layers") * layer + hidden;
  for (const char* key : {"attn_bias", "linear_bias", "patch_embed_proj_bias"})
    vision.require(!flag(vision, key, false), key, "its class is not known with biases", "false");
  return {{"vision", encoder}, {"projector", merged * merged + merged * text.hidden + text.hidden}};
}

/// DeepSeek-OCR (deepencoder.py of deepseek-ai's files): SAM's encoder with tables of distances of both sides and
/// convolutions behind it, CLIP's layers over what it gives, one matrix over both; rows for ends of lines and of views.
Parts deepseek_ocr_images(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  JsonObject widths = vision.object("width"), near = widths.object("sam_vit_b"), far = widths.object("clip-l-14-224");
  for (JsonObject* one : {&widths, &near, &far}) one->allow_unknown_keys();
  constexpr Count patch = 16, taps = 3 * 3, neck = 256, window = 14, mlp = 4;
  const Count width = number(near, "width"), layers = number(near, "layers"), heads = number(near, "heads"),
              side = number_or(vision, "image_size", 1024) / patch;
  std::vector<std::int64_t> whole, made;
  near.read("global_attn_indexes", whole, part_sizes);
  near.read("downsample_channels", made, part_sizes);
  vision.require(
      heads > 0 && made.size() == 2, "width", "no encoder of its class", "heads, and two downsample_channels");
  if (heads < 1 || made.size() != 2) return {};
  const auto global = static_cast<Count>(whole.size());
  const auto distances = [&](Count positions) { return 2 * (2 * positions - 1) * (width / heads); };
  const Count sam = linear(3 * patch * patch, width) + side * side * width +
                    layers * encoder_layer(width, mlp * width) + global * distances(side) +
                    (layers - global) * distances(window) + width * neck + taps * neck * neck + 2 * layernorm(neck) +
                    taps * (neck * made[0] + made[0] * made[1]);
  const Count hidden = number(far, "width"), pieces = number(far, "image_size") / number(far, "patch_size"),
              pixels = 3 * number(far, "patch_size") * number(far, "patch_size");
  const Count clip = hidden + pixels * hidden + (pieces * pieces + 1) * hidden + layernorm(hidden) +
                     number(far, "layers") * encoder_layer(hidden, mlp * hidden);
  JsonObject projector = file.object("projector_config");
  projector.allow_unknown_keys();
  constexpr Count ends = 2;
  const Count into = number(projector, "input_dim");
  // Of one image: layers in windows pad its sides to whole ones; convolutions behind halve both sides twice.
  const auto real = [](Count value) { return static_cast<double>(value); };
  const double seen = real(side * side), few = seen / 16,
               padded = real((side + window - 1) / window * ((side + window - 1) / window) * window * window);
  const auto core = [&](double positions, double keys, Count along) {
    return 4 * positions * real(width) * (keys + real(along));  // and distances along both sides
  };
  const double mixing = 8 * real(width * width), feeding = 16 * real(width * width);
  const double near_flops = 2 * seen * real(3 * patch * patch * width) + real(layers) * seen * feeding +
                            real(global) * (seen * mixing + core(seen, seen, side)) +
                            real(layers - global) * (padded * mixing + core(padded, real(window * window), window)) +
                            2 * seen * real(width * neck + taps * neck * neck) +
                            2 * (4 * few) * real(taps * neck * made[0]) + 2 * few * real(taps * made[0] * made[1]);
  const double rows = few + 1,
               far_flops = real(number(far, "layers")) * rows * real(hidden) * (24 * real(hidden) + 4 * rows);
  return {{"vision", sam + clip, near_flops + far_flops},
      {"projector", linear(into, text.hidden) + ends * text.hidden, 2 * few * real(into * text.hidden)}};
}

Parts clip_images(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  VisionReader r{file, vision, text};
  return {{"vision", clip_encoder(r) + number_or(vision, "hidden_size", 768) * number_or(file, "projection_dim", 512)}};
}

Parts siglip_images(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  VisionReader r{file, vision, text};
  return {{"vision", siglip_encoder(r)}};
}

}  // namespace stepcast::detail
