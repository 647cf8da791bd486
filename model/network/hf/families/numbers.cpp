// Networks of numbers in place of words: src/transformers/models/vit of transformers, and
// src/diffusers/models/transformers/transformer_<family>.py of diffusers.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/hf/families/families.h"

namespace stepcast::detail {

/// Sizes under the names of diffusers' classes.
void diffusion_sizes(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.head_dim = r.size("attention_head_dim");
  n.heads = n.kv_heads = r.size("num_attention_heads");
  n.layers = r.size("num_layers");
  n.hidden = n.heads * n.head_dim;
}

/// Patches, a class token, a table of positions, LayerNorm before each sublayer, a classifier.
void vit(HfReader& r) {
  NetworkSpec& n = r.spec;
  stream_sizes(r);
  n.kv_heads = n.heads;
  n.ffn_hidden = r.size("intermediate_size");
  const std::int64_t patch = std::max<std::int64_t>(1, r.size_or("patch_size", 16)),
                     side = r.size_or("image_size", 224) / patch;
  n.features = r.size_or("num_channels", 3) * patch * patch;
  n.class_token = true;
  n.sequence = n.max_positions = side * side + 1;
  n.positions = Positions::learned;
  n.norm = Norm::layernorm;
  n.causal = false;
  n.linear_bias = true;
  constexpr std::int64_t usual_classes = 1000;
  n.classes = r.labels(usual_classes);
  bool biased = true;
  r.config.optional("qkv_bias", biased);
  r.config.require(biased, "qkv_bias", "its class is not known without them", "true");
  r.activation("hidden_act", "gelu", false);
  r.dropout({"hidden_dropout_prob", "attention_probs_dropout_prob"}, 0);
}

namespace {

/// Attention over the video, then over the text; six vectors per block, whose products all blocks share.
void wan_layers(HfReader& r, std::int64_t text_width) {
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("ffn_dim");
  n.modulation.frequencies = r.size_or("freq_dim", 256);
  n.modulation.shared = true;
  n.norm = Norm::layernorm;
  n.activation = Activation::gelu;
  n.causal = false;
  n.linear_bias = true;
  n.qk_norm = n.qk_norm_width = n.qk_norm_rms = true;
  n.pattern = {*layer_of_word("*x-")};
  NetworkSpec& text = n.encoders.emplace_back();
  text.hidden = n.hidden;
  text.features = text_width;
  text.intake = Intake::mlp;
  text.causal = false;
  text.positions = Positions::none;
}

std::int64_t patch_of(HfReader& r) {
  std::vector<std::int64_t> sides;
  r.config.read("patch_size", sides, IntegerRange{1, 1000});
  std::int64_t patch = 1;
  for (const std::int64_t side : sides) patch *= side;
  return patch;
}

}  // namespace

/// Wan 2.1. How long its texts are and how many patches a sample has, the file does not say.
void wan(HfReader& r) {
  NetworkSpec& n = r.spec;
  diffusion_sizes(r);
  const std::int64_t patch = patch_of(r);
  const std::string norms = r.text_or("qk_norm", "rms_norm_across_heads");
  r.config.require(norms == "rms_norm_across_heads", "qk_norm", fmt::format("'{:.40}' is none of its norms", norms),
      "rms_norm_across_heads");
  r.config.require(
      r.flag_or("cross_attn_norm", true), "cross_attn_norm", "its blocks are not known without it", "true");
  for (const char* key : {"image_dim", "added_kv_proj_dim"})
    r.config.require(!r.config.has(key), key, "attention over an image beside the text is not forecast", "null");
  n.features = r.size("in_channels") * patch;
  n.outputs = (r.config.has("out_channels") ? r.size("out_channels") : r.size("in_channels")) * patch;
  wan_layers(r, r.size("text_dim"));
}

/// The same layers as the files of the release itself tell them (wan/modules/model.py of Wan-Video/Wan2.1 and Wan2.2):
/// by kinds of samples, of which some look at an image beside the text.
void wan_own(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.hidden = r.size("dim");
  n.heads = n.kv_heads = r.size("num_heads");
  n.layers = r.size("num_layers");
  r.config.require(n.heads < 1 || n.hidden % n.heads == 0, "num_heads",
      fmt::format("{} heads do not divide {}", n.heads, n.hidden), "a divisor of dim");
  n.head_dim = n.heads > 0 ? n.hidden / n.heads : 0;
  const std::string kind = r.text_or("model_type", "t2v");
  const bool newer = kind == "ti2v" || kind == "i2v2_2" || kind == "ti2v2_2" || kind == "t2v2_2";
  r.config.require(kind == "t2v" || newer, "model_type",
      fmt::format("samples of the kind '{:.40}' look at more than the text: attention over an image, or layers of "
                  "controls, is not forecast",
          kind),
      "t2v, t2v2_2, i2v2_2 or ti2v2_2");
  for (const char* key : {"qk_norm", "cross_attn_norm"})
    r.config.require(!r.config.has(key) || r.flag_or(key, true), key, "its blocks are not known without it", "true");
  constexpr std::int64_t usual_patch = 1 * 2 * 2, usual_text = 4096;
  const std::int64_t patch = r.config.has("patch_size") ? patch_of(r) : usual_patch;
  n.features = r.size_or("in_dim", 16) * patch;
  n.outputs = r.size_or("out_dim", 16) * patch;
  wan_layers(r, r.config.has("text_dim") ? r.size("text_dim") : usual_text);
  n.encoders.front().sequence = r.size_or("text_len", 512);
  if (newer) r.note("each position may stand at a time of its own: the products of its vectors are not forecast");
}

namespace {

/// Blocks of two kinds of positions that attend together, then blocks of one; all modulated by a sample's vectors.
void two_streams(HfReader& r, std::int64_t single, const char* text_width = "joint_attention_dim") {
  NetworkSpec& n = r.spec;
  diffusion_sizes(r);
  const std::int64_t joint = n.layers;
  n.layers = joint + single;
  n.ffn_hidden = 4 * n.hidden;
  n.features = r.size("in_channels");
  constexpr std::int64_t waves = 256;  // CombinedTimestepGuidanceTextProjEmbeddings: Timesteps(num_channels=256)
  n.modulation.frequencies = waves;
  n.norm = Norm::layernorm;
  n.activation = Activation::gelu;
  n.causal = false;
  n.linear_bias = true;
  n.qk_norm = n.qk_norm_rms = true;
  n.shapes = {{.name = "double", .joint = true}};
  if (single > 0) n.shapes.push_back({.name = "single", .parallel = true});
  constexpr std::int64_t most_layers = 10'000;
  if (n.layers > most_layers) return;  // refused by the rules of all networks
  for (std::int64_t layer = 0; layer < n.layers; ++layer) {
    LayerKind kind{Feed::mlp, false, false, true};
    kind.shape = layer < joint ? 1 : 2;
    n.pattern.push_back(kind);
  }
  NetworkSpec& text = n.encoders.emplace_back();
  text.hidden = n.hidden;
  text.features = r.size(text_width);
  text.joins = text.linear_bias = true;
  text.causal = false;
  text.positions = Positions::none;
}

std::int64_t latent_outputs(HfReader& r, std::int64_t patch) {
  return patch * patch * (r.config.has("out_channels") ? r.size("out_channels") : r.spec.features);
}

}  // namespace

void flux(HfReader& r) {
  two_streams(r, r.size("num_single_layers"));
  NetworkSpec& n = r.spec;
  n.outputs = latent_outputs(r, r.size_or("patch_size", 1));
  n.modulation.pooled = r.size("pooled_projection_dim");
  n.modulation.guidance = r.flag_or("guidance_embeds", false);
}

/// Flux's layers without biases, with gated MLPs, and with vectors that layers of a kind have alike.
void flux2(HfReader& r) {
  two_streams(r, r.size("num_single_layers"));
  NetworkSpec& n = r.spec;
  n.linear_bias = n.encoders.front().linear_bias = false;
  n.activation = Activation::swiglu;
  n.ffn_hidden = static_cast<std::int64_t>(r.number_or("mlp_ratio", 3) * static_cast<double>(n.hidden));
  n.outputs = latent_outputs(r, r.size_or("patch_size", 1));
  n.modulation.frequencies = r.size_or("timestep_guidance_channels", 256);
  n.modulation.guidance = r.flag_or("guidance_embeds", true);
  n.modulation.common = n.modulation.no_bias = true;
}

/// Flux's layers, whose vectors a network of its own makes.
void chroma(HfReader& r) {
  two_streams(r, r.size("num_single_layers"));
  NetworkSpec& n = r.spec;
  n.outputs = latent_outputs(r, r.size_or("patch_size", 1));
  n.modulation.frequencies = r.size_or("approximator_num_channels", 64);
  n.modulation.approximator_width = r.size_or("approximator_hidden_dim", 5120);
  n.modulation.approximator_layers = r.size_or("approximator_layers", 5);
}

namespace {

/// Layers of a list attend to the image once more; a shape for each of the two that may.
void second_attentions(HfReader& r, const std::vector<std::int64_t>& dual) {
  NetworkSpec& n = r.spec;
  const std::size_t shapes = n.shapes.size();
  std::vector<std::uint8_t> twice(shapes + 1, 0);
  for (const std::int64_t layer : dual) {
    r.config.require(layer < n.layers, "dual_attention_layers", fmt::format("layer {} of {}", layer, n.layers),
        fmt::format("0 to {}", n.layers - 1));
    if (layer >= n.layers) return;
    std::uint8_t& shape = n.pattern[static_cast<std::size_t>(layer)].shape;
    if (shape > shapes) continue;  // named twice
    if (twice[shape] == 0) {
      LayerShape more = n.shapes[shape - 1U];
      more.name += "-dual", more.second = true;
      n.shapes.push_back(std::move(more));
      twice[shape] = static_cast<std::uint8_t>(n.shapes.size());
    }
    shape = twice[shape];
  }
  // shapes that no layer has are none
  std::vector<LayerShape> used;
  std::vector<std::uint8_t> place(n.shapes.size() + 1, 0);
  for (LayerKind& kind : n.pattern) {
    if (place[kind.shape] == 0) {
      used.push_back(n.shapes[kind.shape - 1U]);
      place[kind.shape] = static_cast<std::uint8_t>(used.size());
    }
    kind.shape = place[kind.shape];
  }
  n.shapes = std::move(used);
}

}  // namespace

/// Flux's two kinds of layers behind layers that refine the text, gated by the time and the text's mean.
void hunyuan_video(HfReader& r) {
  two_streams(r, r.size("num_single_layers"), "text_embed_dim");
  NetworkSpec& n = r.spec;
  const double times = r.number_or("mlp_ratio", 4);
  const auto whole = static_cast<std::int64_t>(times);
  r.config.require(
      static_cast<double>(whole) == times, "mlp_ratio", fmt::format("MLPs {} times as wide", times), "a whole number");
  n.ffn_hidden = whole * n.hidden;
  const std::string norms = r.text_or("qk_norm", "rms_norm");
  r.config.require(norms == "rms_norm", "qk_norm", fmt::format("'{:.40}' is none of its norms", norms), "rms_norm");
  const std::int64_t patch = r.size_or("patch_size", 2), area = patch * patch * r.size_or("patch_size_t", 1);
  n.outputs = area * (r.config.has("out_channels") ? r.size("out_channels") : n.features);
  n.features *= area;
  n.modulation.pooled = r.size("pooled_projection_dim");
  n.modulation.guidance = r.flag_or("guidance_embeds", true);
  NetworkSpec& text = n.encoders.front();
  text.layers = r.size_or("num_refiner_layers", 2, 1);
  text.heads = text.kv_heads = n.heads, text.head_dim = n.head_dim;
  text.ffn_hidden = 4 * n.hidden;  // whatever mlp_ratio says
  text.norm = Norm::layernorm;
  text.activation = Activation::gelu;
  text.modulation.frequencies = n.modulation.frequencies;
  text.modulation.pooled = text.features;
  text.modulation.gates = true;
}

/// Blocks of the first kind alone, the last of which makes nothing of the text; positions are added.
void sd3(HfReader& r) {
  std::vector<std::int64_t> dual;
  r.config.optional("dual_attention_layers", dual, IntegerRange{0, 1 << 20});
  two_streams(r, 0);
  NetworkSpec& n = r.spec;
  const std::int64_t caption = r.size("caption_projection_dim"), patch = r.size_or("patch_size", 2);
  r.config.require(caption == n.hidden, "caption_projection_dim",
      fmt::format("texts of {} beside {}", caption, n.hidden), "as wide");
  n.outputs = latent_outputs(r, patch);
  n.features *= patch * patch;
  n.modulation.pooled = r.size("pooled_projection_dim");
  n.positions = Positions::none;
  n.qk_norm = n.qk_norm_rms = r.config.has("qk_norm");
  if (n.qk_norm) {
    const std::string norms = r.text_or("qk_norm", "rms_norm");
    r.config.require(norms == "rms_norm", "qk_norm", fmt::format("'{:.40}' is none of its norms", norms), "rms_norm");
  }
  if (n.pattern.empty()) return;
  if (n.layers == 1) n.shapes.clear();
  n.shapes.push_back({.name = "last", .joint = true, .ends = true});
  n.pattern.back().shape = static_cast<std::uint8_t>(n.shapes.size());
  second_attentions(r, dual);
}

/// Attention over the image, then over the text without a norm; one product makes the vectors of all layers. Said sizes
/// of images stand beside the time in files of PixArt-alpha alone.
void pixart(HfReader& r) {
  NetworkSpec& n = r.spec;
  // the class that came first has other networks, too
  r.config.require(r.architecture != "Transformer2DModel" || r.config.has("norm_type"), "norm_type",
      "its layers are told by the kind of their norms", "ada_norm_single, of PixArt, or ada_norm_zero, of DiT");
  if (r.architecture == "Transformer2DModel" && r.text_or("norm_type", "") == "ada_norm_zero") return dit(r);
  diffusion_sizes(r);
  n.ffn_hidden = 4 * n.hidden;
  const std::int64_t patch = r.size_or("patch_size", 2), area = patch * patch;
  const std::int64_t cross = r.size_or("cross_attention_dim", 1152);
  r.config.require(
      cross == n.hidden, "cross_attention_dim", fmt::format("texts of {} beside {}", cross, n.hidden), "as wide");
  bool sized = r.size_or("sample_size", 128) == 128;
  r.config.optional("use_additional_conditions", sized);
  n.features = r.size("in_channels") * area;
  n.outputs = (r.config.has("out_channels") ? r.size("out_channels") : r.size("in_channels")) * area;
  constexpr std::int64_t waves = 256;
  n.modulation.frequencies = waves;
  n.modulation.shared = true;
  n.norm = Norm::layernorm;
  n.activation = Activation::gelu;
  n.causal = false;
  n.linear_bias = n.bare_crossing = true;
  n.positions = Positions::none;
  n.pattern = {*layer_of_word("*x-")};
  for (const auto& [key, wanted] : {std::pair{"norm_type", "ada_norm_single"}, {"activation_fn", "gelu-approximate"}}) {
    const std::string value = r.text_or(key, wanted);
    r.config.require(value == wanted, key, fmt::format("'{:.40}' is none of its kinds", value), wanted);
  }
  r.config.require(r.flag_or("attention_bias", true), "attention_bias", "its class is not known without them", "true");
  NetworkSpec& text = n.encoders.emplace_back();
  text.hidden = n.hidden;
  text.features = r.size("caption_channels");
  text.intake = Intake::mlp;
  text.causal = false;
  text.positions = Positions::none;
  if (!sized) return;
  constexpr std::int64_t shares = 3;  // of the width, for height, width and their ratio
  const std::int64_t part = n.hidden / shares;
  r.beside.push_back({"said_sizes", 2 * ((waves + 1) * part + (part + 1) * part)});
  r.note("products of said sizes are not forecast: they are next to nothing");
}

/// Blocks of the first kind alone; the norm of the text's numbers is counted beside.
void qwen_image(HfReader& r) {
  two_streams(r, 0);
  NetworkSpec& n = r.spec;
  n.outputs = latent_outputs(r, r.size_or("patch_size", 2));
  r.config.require(!r.flag_or("guidance_embeds", false), "guidance_embeds", "its class has no guidance", "false");
  bool kinds = false;
  r.config.optional("use_additional_t_cond", kinds);
  r.beside.push_back({"text_norm", n.encoders.back().features + (kinds ? 2 * n.hidden : 0)});
  r.note("the norm of the text's numbers is not forecast: it is next to nothing");
  bool still = false;
  r.config.optional("zero_cond_t", still);
  if (still) r.note("images that are edited stand at time zero: vectors of that time are not counted");
}

}  // namespace stepcast::detail
