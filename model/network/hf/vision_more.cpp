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

Parts clip_images(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  VisionReader r{file, vision, text};
  return {{"vision", clip_encoder(r) + number_or(vision, "hidden_size", 768) * number_or(file, "projection_dim", 512)}};
}

Parts siglip_images(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  VisionReader r{file, vision, text};
  return {{"vision", siglip_encoder(r)}};
}

}  // namespace stepcast::detail
