// Image and sound encoders of classes around a text of any family, and of Qwen2-VL, Llama 4 and GLM-4.5V: shapes from
// src/transformers/models/<family>/modeling_<family>.py of transformers; InternVL's from modeling_intern_vit.py and
// modeling_internvl_chat.py of OpenGVLab's files, Kimi-VL's from modeling_kimi_vl.py of moonshotai's.
#include <algorithm>

#include "model/network/hf/vision_parts.h"

namespace stepcast::detail {
namespace {

/// A number for both sides, or one for each.
std::vector<Count> sides_of(JsonObject& config, const char* key, Count absent) {
  std::vector<Count> sides;
  if (config.type_of(key) == "list") config.read(key, sides, part_sizes);
  else sides.assign(2, number_or(config, key, absent));
  return sides;
}

Count area_of(JsonObject& config, const char* key, Count absent) {
  Count area = 1;
  for (const Count side : sides_of(config, key, absent)) area *= side;
  return area;
}

/// Whole patches in each row, and rows.
Count patches_of(JsonObject& vision, Count image, Count patch) {
  const std::vector<Count> images = sides_of(vision, "image_size", image),
                           patches = sides_of(vision, "patch_size", patch);
  Count whole = 1;
  for (std::size_t i = 0; i < std::min(images.size(), patches.size()); ++i)
    whole *= images[i] / std::max<Count>(1, patches[i]);
  return whole;
}

/// A class token, patches without a bias, a norm before the layers and one behind them.
Count clip_encoder(JsonObject& vision) {
  const Count hidden = number_or(vision, "hidden_size", 768);
  return hidden + 3 * area_of(vision, "patch_size", 32) * hidden + (patches_of(vision, 224, 32) + 1) * hidden +
         2 * layernorm(hidden) +
         number_or(vision, "num_hidden_layers", 12) *
             encoder_layer(hidden, number_or(vision, "intermediate_size", 3072));
}

/// Patches with a bias, a norm behind the layers; unless the file says no, a head that pools by attention of a learned
/// query and an MLP.
Count siglip_encoder(JsonObject& vision, bool headed = true) {
  const Count hidden = number_or(vision, "hidden_size", 768), ffn = number_or(vision, "intermediate_size", 3072);
  const Count head = hidden + linear(hidden, 3 * hidden) + linear(hidden, hidden) + layernorm(hidden) +
                     linear(hidden, ffn) + linear(ffn, hidden);
  return linear(3 * area_of(vision, "patch_size", 16), hidden) + patches_of(vision, 224, 16) * hidden +
         number_or(vision, "num_hidden_layers", 12) * encoder_layer(hidden, ffn) + layernorm(hidden) +
         (headed && flag(vision, "vision_use_head", true) ? head : 0);
}

/// Two matrices with biases.
Count llava_projector(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  const bool biased = flag(file, "multimodal_projector_bias", true);
  return linear(number(vision, "hidden_size"), text.hidden, biased) + linear(text.hidden, text.hidden, biased);
}

Parts with_line_end(Parts parts, const NetworkSpec& text) {
  parts.back().parameters += text.hidden;  // what stands at the end of a row of patches
  return parts;
}

}  // namespace

/// Qwen3-VL's images; sound by three convolutions that halve both sides, layers with biases, two matrices.
Parts qwen3_omni(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  Parts parts = qwen3_vl(file, vision, text);
  JsonObject audio = file.object("audio_config");
  audio.allow_unknown_keys();
  const Count width = number(audio, "d_model"), ffn = number(audio, "encoder_ffn_dim"),
              channels = number_or(audio, "downsample_hidden_size", 480);
  Count bins = number_or(audio, "num_mel_bins", 128);
  constexpr Count convolutions = 3, taps = 3 * 3;
  for (Count i = 0; i < convolutions; ++i) bins = (bins + 1) / 2;
  const Count intake = linear(taps, channels) + 2 * linear(taps * channels, channels) + channels * bins * width;
  parts.push_back({"audio", intake + number(audio, "encoder_layers") * encoder_layer(width, ffn) + layernorm(width) +
                                linear(width, width) + linear(width, number_or(audio, "output_dim", text.hidden))});
  return parts;
}

/// Kimi K3's: RMS norms, no biases, heads of a width of their own; a norm behind the projector.
Parts kimi_k3(JsonObject& /*file*/, JsonObject& vision, const NetworkSpec& text) {
  const Count hidden = number(vision, "vt_hidden_size"), inner = number_or(vision, "qkv_hidden_size", hidden),
              merged = area_of(vision, "merge_kernel_size", 2) * hidden;
  const Count layer = 4 * hidden * inner + 2 * hidden * number(vision, "vt_intermediate_size") + 2 * hidden;
  const Count encoder = 3 * area_of(vision, "patch_size", 14) * hidden +
                        number(vision, "init_pos_emb_height") * number(vision, "init_pos_emb_width") * hidden +
                        number(vision, "vt_num_hidden_layers") * layer + hidden;
  for (const char* key : {"attn_bias", "linear_bias", "patch_embed_proj_bias"})
    vision.require(!flag(vision, key, false), key, "its class is not known with biases", "false");
  return {{"vision", encoder}, {"projector", merged * merged + merged * text.hidden + text.hidden}};
}

Parts clip_images(JsonObject& file, JsonObject& vision, const NetworkSpec& /*text*/) {
  return {{"vision",
      clip_encoder(vision) + number_or(vision, "hidden_size", 768) * number_or(file, "projection_dim", 512)}};
}

Parts siglip_images(JsonObject& /*file*/, JsonObject& vision, const NetworkSpec& /*text*/) {
  return {{"vision", siglip_encoder(vision)}};
}

Parts llava_clip(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  return {{"vision", clip_encoder(vision)}, {"projector", llava_projector(file, vision, text)}};
}

Parts llava_siglip(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  return {{"vision", siglip_encoder(vision)}, {"projector", llava_projector(file, vision, text)}};
}

/// RMS norms, a gated MLP, no biases.
Parts llava_pixtral(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  const Count hidden = number(vision, "hidden_size"), ffn = number_or(vision, "intermediate_size", 4096);
  const Count layer = 2 * hidden + 4 * hidden * hidden + 3 * hidden * ffn;
  const Count encoder =
      3 * area_of(vision, "patch_size", 16) * hidden + hidden + number_or(vision, "num_hidden_layers", 24) * layer;
  return {{"vision", encoder}, {"projector", llava_projector(file, vision, text)}};
}

Parts llava_next_clip(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  return with_line_end(llava_clip(file, vision, text), text);
}

Parts llava_next_siglip(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  return with_line_end(llava_siglip(file, vision, text), text);
}

}  // namespace stepcast::detail
