// Diffusion transformers of one stream: texts and images in one sequence with the same weights, behind layers that
// refine each alone. transformer_lumina2.py and transformer_z_image.py in src/diffusers/models/transformers of
// diffusers.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

/// Sizes of layers alike: RMS norms before and behind sublayers, gated MLPs, normed heads, no biases.
void refined_layers(NetworkSpec& n) {
  n.norm_place = NormPlace::both;
  n.activation = Activation::swiglu;
  n.qk_norm = true;
  n.causal = false;
}

/// `refiners` layers for the text, as many for the image alone, then those for both. Patches are taken in and the text
/// is with a bias; a norm of the text's numbers is counted beside.
void one_stream(HfReader& r, std::int64_t refiners, std::int64_t layers, const char* text_width) {
  NetworkSpec& n = r.spec;
  refined_layers(n);
  n.layers = refiners + layers;
  n.intake_bias = n.modulation.gains = true;
  constexpr std::int64_t waves = 256, most_layers = 10'000;
  n.modulation.frequencies = waves;
  n.shapes = {{.name = "image", .alone = true}};
  for (std::int64_t layer = 0; layer < std::min(n.layers, most_layers); ++layer) {
    LayerKind kind{Feed::mlp, false, false, true};
    kind.shape = layer < refiners ? 1 : 0;
    n.pattern.push_back(kind);
  }
  NetworkSpec& text = n.encoders.emplace_back();
  refined_layers(text);
  text.layers = refiners;
  text.hidden = n.hidden;
  text.heads = n.heads, text.kv_heads = n.kv_heads, text.head_dim = n.head_dim;
  text.ffn_hidden = n.ffn_hidden;
  text.features = r.size(text_width);
  text.intake_bias = text.joins = text.no_last_norm = true;
  r.beside.push_back({"text_norm", text.features});
  r.note("the norm of the text's numbers is not forecast: it is next to nothing");
}

/// A whole number of heads.
void headed(HfReader& r, const char* heads) {
  NetworkSpec& n = r.spec;
  n.heads = r.size(heads);
  const bool divides = n.heads > 0 && n.hidden % n.heads == 0;
  r.config.require(divides || r.config.failed(), heads, fmt::format("{} heads do not divide {}", n.heads, n.hidden),
      "a divisor of the width");
  n.head_dim = divides ? n.hidden / n.heads : 0;
}

}  // namespace

void lumina2(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.hidden = r.size("hidden_size");
  headed(r, "num_attention_heads");
  n.kv_heads = r.config.has("num_kv_heads") ? r.size("num_kv_heads") : n.heads;
  const std::int64_t multiple = std::max<std::int64_t>(1, r.size_or("multiple_of", 256));
  const double times = r.number_or("ffn_dim_multiplier", 1);
  const auto width = static_cast<std::int64_t>(times * 4 * static_cast<double>(n.hidden));
  n.ffn_hidden = (width + multiple - 1) / multiple * multiple;
  const std::int64_t patch = r.size_or("patch_size", 2), area = patch * patch, in = r.size("in_channels");
  n.features = area * in;
  n.outputs = area * (r.config.has("out_channels") ? r.size("out_channels") : in);
  one_stream(r, r.size("num_refiner_layers"), r.size("num_layers"), "cap_feat_dim");
  constexpr std::int64_t most_numbers = 1024;  // LuminaRMSNormZero
  n.modulation.width = std::min(n.hidden, most_numbers);
}

/// Lumina's layers; tokens that fill up both sequences are learned, and counted beside.
void z_image(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.hidden = r.size("dim");
  headed(r, "n_heads");
  n.kv_heads = r.config.has("n_kv_heads") ? r.size("n_kv_heads") : n.heads;
  r.config.require(
      n.kv_heads == n.heads, "n_kv_heads", "its class makes keys of all heads", fmt::format("{}", n.heads));
  constexpr double thirds = 8.0 / 3;  // FeedForward(dim, int(dim / 3 * 8))
  n.ffn_hidden = static_cast<std::int64_t>(static_cast<double>(n.hidden) * thirds + 1e-6);
  std::vector<std::int64_t> patches, frames;
  r.config.read("all_patch_size", patches, IntegerRange{1, 1000});
  r.config.read("all_f_patch_size", frames, IntegerRange{1, 1000});
  r.config.require(patches.size() == 1 && frames.size() == 1, "all_patch_size",
      fmt::format("patches of {} sizes", std::max(patches.size(), frames.size())), "one");
  const bool whole = !patches.empty() && !frames.empty();
  n.features = n.outputs = r.size("in_channels") * (whole ? patches.front() * patches.front() * frames.front() : 1);
  r.config.require(
      !r.config.has("siglip_feat_dim"), "siglip_feat_dim", "images beside the text are not forecast", "null");
  one_stream(r, r.size("n_refiner_layers"), r.size("n_layers"), "cap_feat_dim");
  n.qk_norm = n.encoders.front().qk_norm = r.flag_or("qk_norm", true);
  constexpr std::int64_t most_numbers = 256, between = 1024;  // ADALN_EMBED_DIM, mid_size
  n.modulation.width = std::min(n.hidden, most_numbers);
  n.modulation.inner = between;
  r.beside.push_back({"filling", 2 * n.hidden});
}

}  // namespace stepcast::detail
