// Encoders of images, and of words that are held against images, whose weights are counted:
// src/transformers/models/{clip,siglip,dinov2,dinov3_vit,vit,vit_mae} of transformers.
#include <algorithm>

#include "model/network/hf/counting.h"
#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

/// Patches with a bias, and where they stand beside a class token.
struct Patches {
  Count numbers = 0, places = 0;
};
Patches patches_of(HfReader& r, Count patch_or, Count image_or) {
  const Count patch = std::max<Count>(1, r.size_or("patch_size", patch_or)),
              side = r.size_or("image_size", image_or) / patch;
  return {r.size_or("num_channels", 3) * patch * patch, side * side + 1};
}

/// CLIP's text without what makes it comparable.
Count clip_words(HfReader& r) {
  sizes_or(r, 12, 512, 2048, 8);
  NetworkSpec& n = r.spec;
  n.vocab = r.size_or("vocab_size", 49'408);
  const Count h = n.hidden;
  return (n.vocab + r.size_or("max_position_embeddings", 77)) * h + n.layers * encoder_layer(h, n.ffn_hidden) +
         layernorm(h);
}
/// A class token, patches without a bias, norms before the layers and behind them.
Count clip_patches(HfReader& r) {
  sizes_or(r, 12, 768, 3072, 12);
  const NetworkSpec& n = r.spec;
  const Count h = n.hidden;
  const Patches patches = patches_of(r, 32, 224);
  return h + (patches.numbers + patches.places) * h + n.layers * encoder_layer(h, n.ffn_hidden) + 2 * layernorm(h);
}
constexpr const char* clip_loss = "a loss between images and texts (CLIP)";

}  // namespace

/// The text half of CLIP, and what makes the two comparable.
void clip(HfReader& r) {
  const Count words = clip_words(r);
  Count out = 512;
  if (r.outer) r.outer->optional("projection_dim", out, IntegerRange{1, 1'000'000});
  constexpr Count scale = 1;
  two_sided(r, words + r.spec.hidden * out + scale, "language", clip_loss);
}
void clip_text(HfReader& r) { two_sided(r, clip_words(r), "language", clip_loss); }
void clip_text_projected(HfReader& r) {
  two_sided(r, clip_words(r) + r.spec.hidden * r.size_or("projection_dim", 512), "language", clip_loss);
}
void clip_vision(HfReader& r) { two_sided(r, clip_patches(r), "vision", clip_loss); }
void clip_vision_projected(HfReader& r) {
  two_sided(r, clip_patches(r) + r.spec.hidden * r.size_or("projection_dim", 512), "vision", clip_loss);
}

/// SigLIP's images: no class token, a head that pools by attention of a learned query and an MLP.
void siglip_vision(HfReader& r) {
  sizes_or(r, 12, 768, 3072, 12);
  const NetworkSpec& n = r.spec;
  const Count h = n.hidden, ffn = n.ffn_hidden;
  const Patches patches = patches_of(r, 16, 224);
  const bool headed = r.flag_or("vision_use_head", true);
  two_sided(r,
      linear(patches.numbers, h) + (patches.places - 1) * h + n.layers * encoder_layer(h, ffn) + layernorm(h) +
          (headed ? h + attention_weights(h) + mlp_weights(h, ffn) + layernorm(h) : 0),
      "vision", "a loss between images and texts (SigLIP)");
}

/// Of SigLIP: a head with a bias, a scale and an offset of what is compared.
void siglip(HfReader& r) {
  sizes_or(r, 12, 768, 3072, 12);
  NetworkSpec& n = r.spec;
  n.vocab = r.size_or("vocab_size", 32'000);
  const Count h = n.hidden, words = (n.vocab + r.size_or("max_position_embeddings", 64)) * h,
              out = r.config.has("projection_size") ? r.size("projection_size") : h;
  constexpr Count scale_and_offset = 2;
  two_sided(r, words + n.layers * encoder_layer(h, n.ffn_hidden) + layernorm(h) + linear(h, out) + scale_and_offset,
      "language", "a loss between images and texts (SigLIP)");
}

namespace {

/// Layers scaled by vectors; gated MLPs of two thirds, rounded up to 8.
Count dinov2_weights(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_hidden_layers");
  const Count h = n.hidden = r.size("hidden_size");
  n.heads = n.kv_heads = r.size("num_attention_heads");
  const Count ffn = n.ffn_hidden = static_cast<Count>(r.number_or("mlp_ratio", 4)) * h,
              gated = (ffn * 2 / 3 + 7) / 8 * 8;
  const Patches patches = patches_of(r, 14, 224);
  const bool swiglu = r.flag_or("use_swiglu_ffn", false), biased = r.flag_or("qkv_bias", true),
             masked = r.flag_or("use_mask_token", true);
  const Count feed = swiglu ? linear(h, 2 * gated) + linear(gated, h) : mlp_weights(h, ffn);
  const Count layer = linear(h, 3 * h, biased) + linear(h, h) + feed + 2 * layernorm(h) + 2 * h;
  const Count tokens = h + (masked ? h : 0);
  const Count registers = r.config.has("num_register_tokens") ? r.size_or("num_register_tokens", 0) : 0;
  return tokens + (patches.places + registers) * h + linear(patches.numbers, h) + n.layers * layer + layernorm(h);
}

}  // namespace

void dinov2(HfReader& r) { two_sided(r, dinov2_weights(r), "vision", "a loss (Dinov2Model has none)"); }

/// The class token beside the mean of the patches is sorted into classes.
void dinov2_classes(HfReader& r) {
  const Count weights = dinov2_weights(r);
  constexpr Count usual_classes = 1000;
  two_sided(
      r, weights + linear(2 * r.spec.hidden, r.labels(usual_classes)), "vision", "layers scaled by vectors (DINOv2)");
}

/// DINOv3: positions turn, so that no table holds them; queries and values have biases, keys have none.
void dinov3(HfReader& r) {
  sizes_or(r, 12, 384, 1536, 6);
  const NetworkSpec& n = r.spec;
  const Count h = n.hidden, ffn = n.ffn_hidden;
  const bool biased = r.flag_or("mlp_bias", true), gated = r.flag_or("use_gated_mlp", false);
  const Count attention = linear(h, h, r.flag_or("query_bias", true)) + linear(h, h, r.flag_or("key_bias", false)) +
                          linear(h, h, r.flag_or("value_bias", true)) + linear(h, h, r.flag_or("proj_bias", true));
  const Count feed = (gated ? 2 : 1) * linear(h, ffn, biased) + linear(ffn, h, biased);
  constexpr Count class_and_mask = 2;
  const Count tokens = class_and_mask + r.size_or("num_register_tokens", 0);
  r.size_or("image_size", 224);
  const Count patch = r.size_or("patch_size", 16, 1), numbers = r.size_or("num_channels", 3) * patch * patch;
  two_sided(r,
      tokens * h + linear(numbers, h) + n.layers * (attention + feed + 2 * layernorm(h) + 2 * h) + layernorm(h),
      "vision", "a loss (DINOv3ViTModel has none)");
}

namespace {

Count vit_layers(HfReader& r, const Patches& patches) {
  const NetworkSpec& n = r.spec;
  const Count h = n.hidden;
  const bool biased = r.flag_or("qkv_bias", true);
  const Count layer = linear(h, 3 * h, biased) + linear(h, h) + mlp_weights(h, n.ffn_hidden) + 2 * layernorm(h);
  return h + patches.places * h + linear(patches.numbers, h) + n.layers * layer + layernorm(h);
}

}  // namespace

/// ViT without classes, with a matrix behind the first position.
void vit_model(HfReader& r) {
  sizes_or(r, 12, 768, 3072, 12);
  const Count h = r.spec.hidden, pooled = r.config.has("pooler_output_size") ? r.size("pooler_output_size") : h;
  two_sided(r, vit_layers(r, patches_of(r, 16, 224)) + linear(h, pooled), "vision", "a loss (ViTModel has none)");
}

/// An encoder of the patches that are seen, and narrower layers that guess the others.
void vit_mae(HfReader& r) {
  sizes_or(r, 12, 768, 3072, 12);
  const Patches patches = patches_of(r, 16, 224);
  const Count narrow = r.size_or("decoder_hidden_size", 512), layers = r.size_or("decoder_num_hidden_layers", 8),
              ffn = r.size_or("decoder_intermediate_size", 2048);
  r.size_or("decoder_num_attention_heads", 16);
  const Count decoder = linear(r.spec.hidden, narrow) + narrow + patches.places * narrow +
                        layers * encoder_layer(narrow, ffn) + layernorm(narrow) + linear(narrow, patches.numbers);
  two_sided(r, vit_layers(r, patches) + decoder, "vision", "a loss of hidden patches (ViT-MAE)");
}

}  // namespace stepcast::detail
