// Encoders of images of Qwen2-VL, Llama 4, GLM-4.5V, InternVL, PaliGemma, Idefics 3 and Llama 3.2 Vision: shapes from
// src/transformers/models/<family>/modeling_<family>.py of transformers; InternVL's from modeling_intern_vit.py and
// modeling_internvl_chat.py of OpenGVLab's files, too.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/hf/vision_reader.h"

namespace stepcast::detail {

/// LayerNorms, biases everywhere but on the patches, a merger of 2 x 2 patches.
void qwen2_vl_images(VisionReader& r) {
  NetworkSpec& e = r.encoder;
  e.hidden = r.number("embed_dim");
  const std::int64_t neighbours = r.square(r.number_or("spatial_merge_size", 2));
  r.plain("depth", "num_heads", "embed_dim",
      r.number_or("in_chans", r.number_or("in_channels", 3)) * r.number_or("temporal_patch_size", 2) *
          r.area("patch_size", 14));
  e.ffn_hidden = r.number_or("mlp_ratio", 4) * e.hidden;
  e.no_intake_bias = true;
  e.projectors = {{steps::layernorm, steps::merge(neighbours), steps::matrix(neighbours * e.hidden, true, true),
      steps::matrix(r.number_or("hidden_size", r.text.hidden), true)}};
}

/// Patches and a class token without biases, norms before and behind the layers; a shuffle of pixels into an MLP.
void llama4_images(VisionReader& r) {
  NetworkSpec& e = r.encoder;
  e.hidden = r.number("hidden_size");
  const std::int64_t merged = r.number("intermediate_size"), neighbours = merged / std::max<std::int64_t>(1, e.hidden);
  r.plain("num_hidden_layers", "num_attention_heads", "intermediate_size",
      r.number_or("num_channels", 3) * r.area("patch_size", 14));
  e.class_token = e.no_intake_bias = e.embedding_norm = true;
  e.sequence = r.patches(448, 14) + 1;
  r.positions(e.sequence);
  const std::int64_t side = r.shuffled_side(r.vision, "pixel_shuffle_ratio");
  r.vision.require(neighbours == side * side && neighbours * e.hidden == merged, "intermediate_size",
      fmt::format("the MLP behind the shuffle reads {}, and a shuffle gives {}", merged, side * side * e.hidden),
      "as many");
  const std::int64_t out = r.number("projector_output_dim");
  r.vision.require(r.number_or("vision_output_dim", out) == out, "vision_output_dim",
      fmt::format("it is not projector_output_dim, {}", out), "the same");
  e.projectors = {
      {steps::layernorm, steps::merge(neighbours), steps::matrix(r.number("projector_input_dim"), false, true),
          steps::matrix(out, false, true), steps::matrix(r.text.hidden, false)}};
}

/// RMS norms, gated MLPs as wide as the text, no biases but on patches and what merges them; an MLP like the layers'.
void glm4v_images(VisionReader& r) {
  NetworkSpec& e = r.encoder;
  e.hidden = r.number("hidden_size");
  const std::int64_t out = r.number("out_hidden_size"), inner = r.number("intermediate_size"),
                     neighbours = r.square(r.number_or("spatial_merge_size", 2));
  r.gated("depth", "num_heads", "out_hidden_size",
      r.number_or("in_channels", 3) * r.number_or("temporal_patch_size", 2) * r.area("patch_size", 14));
  e.qkv_bias = r.flag("attention_bias", false);
  e.intake_bias = e.embedding_norm = true;
  r.positions(r.patches(336, 14));
  ProjectorStep normed = steps::layernorm;
  normed.activated = true;
  e.projectors = {{steps::rmsnorm, steps::merge(neighbours), steps::matrix(out, true), steps::matrix(out, false),
      normed, {ProjectorStep::Kind::gated, inner}, steps::matrix(out, false)}};
}

/// dots.ocr (modeling_dots_vision.py of rednote-hilab's files): patches with a bias and a norm, RMS norms, gated MLPs;
/// a LayerNorm and two matrices over what is merged.
void dots_images(VisionReader& r) {
  NetworkSpec& e = r.encoder;
  e.hidden = r.number("embed_dim");
  const std::int64_t neighbours = r.square(r.number_or("spatial_merge_size", 2));
  r.gated("num_hidden_layers", "num_attention_heads", "intermediate_size",
      r.number_or("num_channels", 3) * r.area("patch_size", 14));
  e.linear_bias = r.flag("use_bias", false);
  e.intake_bias = e.embedding_norm = true;
  r.vision.require(
      r.number_or("temporal_patch_size", 1) == 1, "temporal_patch_size", "its class takes one frame at a time", "1");
  r.vision.require(!r.flag("is_causal", false), "is_causal", "patches that see the ones before alone", "false");
  for (const char* key : {"init_merger_std", "attn_implementation", "gradient_checkpointing"})
    static_cast<void>(r.vision.has(key));
  const std::int64_t out = r.number_or("hidden_size", r.text.hidden);
  Projector steps;
  if (r.flag("post_norm", true)) steps.push_back(steps::rmsnorm);
  for (const ProjectorStep& step : {steps::layernorm, steps::merge(neighbours),
           steps::matrix(neighbours * e.hidden, true, true), steps::matrix(out, true)})
    steps.push_back(step);
  e.projectors = {std::move(steps)};
}

/// InternViT: a class token, sublayers scaled by vectors, no norm behind them; patches merged into a norm and two
/// matrices. Keys are those of OpenGVLab's files or of transformers.
void internvl_images(VisionReader& r) {
  NetworkSpec& e = r.encoder;
  const bool theirs = r.vision.has("qkv_bias") || r.vision.has("qk_normalization");
  e.hidden = r.number("hidden_size");
  r.plain("num_hidden_layers", "num_attention_heads", "intermediate_size",
      r.number_or("num_channels", 3) * r.area("patch_size", 14));
  e.qkv_bias = theirs ? r.flag("qkv_bias", false) : r.flag("attention_bias", false);
  e.linear_bias = false;
  e.out_bias = e.mlp_bias = e.intake_bias = e.sublayer_scales = e.class_token = true;
  e.qk_norm = e.qk_norm_width = e.qk_norm_rms =
      theirs ? r.flag("qk_normalization", true) : r.flag("use_qk_norm", false);
  e.norm = r.text_or("norm_type", theirs ? "rms_norm" : "layer_norm") == "rms_norm" ? Norm::rmsnorm : Norm::layernorm;
  e.sequence = r.patches(448, 14) + 1;
  r.positions(e.sequence + (r.flag("use_mask_token", false) ? 1 : 0));
  const std::int64_t neighbours = r.square(r.shuffled_side(r.file, "downsample_ratio"));
  const std::vector<std::int64_t> taken =
      taken_layers(r, r.file.has("select_layer") ? "select_layer" : "vision_feature_layer", -1);
  Projector steps;
  if (taken.size() > 1 || taken.front() != e.layers) r.unlike.emplace_back("features of several layers");
  if (!r.flag("use_mean_pooling", true)) steps.push_back(steps::layernorm);
  for (const ProjectorStep& step : {steps::merge(neighbours), steps::layernorm,
           steps::matrix(r.text.hidden, true, true), steps::matrix(r.text.hidden, true)})
    steps.push_back(step);
  e.projectors = {std::move(steps)};
}

/// PaliGemma: SigLIP without a head, and a matrix.
void siglip_behind_matrix(VisionReader& r) {
  siglip_layers(r);
  r.vision.require(
      !r.flag("vision_use_head", true), "vision_use_head", "a head that nobody reads is none of our forms", "false");
  std::int64_t out = r.text.hidden;
  r.file.optional("projection_dim", out, vision_sizes);
  r.encoder.projectors = {{steps::layernorm, steps::matrix(r.number_or("projection_dim", out), true)}};
}

/// SigLIP without a head; a matrix for patches that are merged.
void idefics3_images(VisionReader& r) {
  siglip_layers(r);
  std::int64_t side = 2;
  r.file.optional("scale_factor", side, vision_sizes);
  r.encoder.projectors = {{steps::layernorm, steps::merge(r.square(side)), steps::matrix(r.text.hidden, false)}};
}

/// Llama 3.2 Vision: tiles, each with a class token, in so many arrangements, with tables of positions for each; layers
/// behind whose sublayers are gated; the features of several layers together go to the text, whose layers look at them.
void llama_vision_images(VisionReader& r) {
  NetworkSpec& e = r.encoder;
  e.hidden = r.number("hidden_size");
  r.plain("num_hidden_layers", "attention_heads", "intermediate_size",
      r.number_or("num_channels", 3) * r.area("patch_size", 14));
  e.linear_bias = false;
  e.mlp_bias = e.embedding_norm = true;
  const std::int64_t tokens = r.patches(448, 14) + 1, tiles = r.number_or("max_num_tiles", 4),
                     gated = r.number("num_global_layers"), wide = r.number("vision_output_dim");
  // tiles in rows and columns: width x height <= tiles, and none at all
  std::int64_t arrangements = 1;
  for (std::int64_t width = 1; width <= std::min<std::int64_t>(tiles, 1000); ++width) arrangements += tiles / width;
  // The class token stands in a row of its own; each table has a gate.
  r.positions(1 + tokens * (1 + arrangements * tiles) + 2 * arrangements * tiles);
  e.position_gates = 3;
  const std::vector<std::int64_t> beside =
      r.layers_once("intermediate_layers_indices", {3, 7, 15, 23, 30}, e.layers + 1);  // of states before and behind
  const auto taken = static_cast<std::int64_t>(beside.size()) + 1;
  r.vision.require(wide == taken * e.hidden, "vision_output_dim",
      fmt::format("{} layers of {} give {}, not {}", taken, e.hidden, taken * e.hidden, wide), "as many");
  constexpr std::int64_t most_layers = 10'000;
  if (e.layers > most_layers || gated > most_layers) return;
  e.shapes = {{.name = "global", .sublayer_gates = true}};
  e.pattern.assign(static_cast<std::size_t>(e.layers), {Feed::mlp, false, false, true});
  e.pattern.insert(e.pattern.end(), static_cast<std::size_t>(gated), {Feed::mlp, false, false, true, false, false, 1});
  e.layers += gated;
  // Its class pads the tokens of a tile to a multiple of eight.
  constexpr std::int64_t multiple = 8;
  e.sequence = tiles * ((tokens + multiple - 1) / multiple * multiple);
  Projector made{steps::layernorm};
  for (const std::int64_t layer : beside) made.push_back(steps::beside(layer));
  made.push_back(steps::matrix(r.text.hidden, true));
  e.projectors = {std::move(made)};
}

}  // namespace stepcast::detail
