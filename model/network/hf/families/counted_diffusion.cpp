// Diffusion transformers whose weights are counted: src/diffusers/models/transformers of diffusers, blocks from
// models/attention.py, models/embeddings.py and models/normalization.py there.
#include <algorithm>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/network/hf/counting.h"
#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

constexpr Count waves = 256;  // of Timesteps, in all of these classes

/// TimestepEmbedding: two matrices.
Count said(Count in, Count out) { return linear(in, out) + linear(out, out); }
/// A plain MLP of so many times the width.
Count feed(Count hidden, Count times = 4) { return mlp_weights(hidden, times * hidden); }

struct Sides {
  Count in = 0, out = 0;
};
/// Numbers of a patch, as it enters and as it leaves.
Sides patch_numbers(HfReader& r, Count area) {
  const Count in = r.size("in_channels");
  return {in * area, (r.config.has("out_channels") ? r.size("out_channels") : in) * area};
}

void denoiser_sizes(HfReader& r) {
  diffusion_sizes(r);
  r.spec.ffn_hidden = 4 * r.spec.hidden;
}

void require_text(HfReader& r, const char* key, const char* wanted) {
  const std::string value = r.text_or(key, wanted);
  r.config.require(value == wanted, key, fmt::format("'{:.40}' is none of its kinds", value), wanted);
}

void counted_denoiser(HfReader& r, Count weights, std::vector<LayerCount> layers, const char* missing) {
  r.counted = {{"denoiser", weights}};
  r.layers = std::move(layers);
  r.lacks(missing);
}

}  // namespace

/// Each layer says time and class anew.
void dit(HfReader& r) {
  denoiser_sizes(r);
  const NetworkSpec& n = r.spec;
  const Count h = n.hidden, patch = r.size_or("patch_size", 2), classes = r.size_or("num_embeds_ada_norm", 1000);
  const Sides patches = patch_numbers(r, patch * patch);
  require_text(r, "norm_type", "ada_norm_zero");
  require_text(r, "activation_fn", "gelu-approximate");
  const bool biased = r.flag_or("attention_bias", true);
  constexpr Count no_class = 1, vectors = 6, last = 2;
  const Count layer =
      said(waves, h) + (classes + no_class) * h + linear(h, vectors * h) + attention_weights(h, biased) + feed(h);
  counted_denoiser(r, linear(patches.in, h) + n.layers * layer + linear(h, last * h) + linear(h, patches.out),
      {{"attention, MLP, modulated", n.layers}}, "time and class said in each layer (DiTTransformer2DModel)");
}

/// Texts and video in one sequence of one width, norms scaled for each apart.
void cogvideox(HfReader& r) {
  denoiser_sizes(r);
  const NetworkSpec& n = r.spec;
  const Count h = n.hidden, patch = r.size_or("patch_size", 2), time = r.size_or("time_embed_dim", 512),
              text = r.size("text_embed_dim");
  r.config.require(!r.config.has("patch_size_t"), "patch_size_t", "its patches in time are not known", "null");
  r.config.require(!r.config.has("ofs_embed_dim"), "ofs_embed_dim", "its offsets are not known", "null");
  const Sides patches = patch_numbers(r, patch * patch);
  require_text(r, "activation_fn", "gelu-approximate");
  const bool biased = r.flag_or("attention_bias", true), placed = r.flag_or("use_learned_positional_embeddings", false);
  r.config.require(!placed, "use_learned_positional_embeddings", "its learned positions are not known", "false");
  constexpr Count vectors = 6, last = 2;
  const Count layer = 2 * (linear(time, vectors * h) + layernorm(h)) + attention_weights(h, biased) +
                      2 * layernorm(n.head_dim) + feed(h);
  counted_denoiser(r,
      linear(patches.in, h) + linear(text, h) + linear(h, time) + linear(time, time) + n.layers * layer + layernorm(h) +
          linear(time, last * h) + layernorm(h) + linear(h, patches.out),
      {{"attention, MLP, modulated", n.layers}}, "texts and video in one stream (CogVideoX)");
}

/// Attention over the video, then over the text, norms of all heads together; one product makes all layers' vectors.
void ltx_video(HfReader& r) {
  denoiser_sizes(r);
  const NetworkSpec& n = r.spec;
  const Count h = n.hidden, caption = r.size("caption_channels"), cross = r.size("cross_attention_dim");
  const Count in = r.size("in_channels"), out = r.config.has("out_channels") ? r.size("out_channels") : in;
  require_text(r, "qk_norm", "rms_norm_across_heads");
  require_text(r, "activation_fn", "gelu-approximate");
  const bool scaled = r.flag_or("norm_elementwise_affine", false), biased = r.flag_or("attention_bias", true),
             ended = r.flag_or("attention_out_bias", true);
  constexpr Count vectors = 6, last = 2;
  const Count own = 3 * linear(h, h, biased) + linear(h, h, ended) + 2 * h;
  const Count crossing = linear(h, h, biased) + 2 * linear(cross, h, biased) + linear(h, h, ended) + 2 * h;
  counted_denoiser(r,
      linear(in, h) + last * h + said(waves, h) + linear(h, vectors * h) + linear(caption, h) + linear(h, h) +
          linear(h, out) + n.layers * (own + crossing + feed(h) + vectors * h + (scaled ? 2 * h : 0)),
      {{"attention, attention over the text, MLP", n.layers}}, "norms of two attentions (LTX-Video)");
}

}  // namespace stepcast::detail
