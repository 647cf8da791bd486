// Encoders of images in front of a text of any family by two matrices (LLaVA):
// src/transformers/models/{llava,llava_next, llava_onevision,clip,siglip,pixtral} of transformers.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/hf/counting.h"
#include "model/network/hf/vision_reader.h"

namespace stepcast::detail {
namespace {

void plain_or(VisionReader& r, std::int64_t patch) {
  NetworkSpec& e = r.encoder;
  e.hidden = r.number_or("hidden_size", 768);
  e.layers = r.number_or("num_hidden_layers", 12);
  e.heads = r.number_or("num_attention_heads", 12);
  e.ffn_hidden = r.number_or("intermediate_size", 3072);
  e.features = r.number_or("num_channels", 3) * r.area("patch_size", patch);
  e.norm = Norm::layernorm;
  e.activation = Activation::gelu;
  e.linear_bias = true;
  e.sequence = r.patches(224, patch);
}

/// A class token, patches without a bias, a norm before the layers; that behind them norms what nobody reads.
void clip_layers(VisionReader& r) {
  plain_or(r, 32);
  NetworkSpec& e = r.encoder;
  e.class_token = e.no_intake_bias = e.embedding_norm = true;
  r.positions(++e.sequence);
  r.number_or("projection_dim", 512);  // of CLIP's loss, which is not in the file
  r.unread += layernorm(e.hidden);
}

/// RMS norms, gated MLPs, no biases, positions that turn.
void pixtral_layers(VisionReader& r) {
  r.encoder.hidden = r.number_or("hidden_size", 1024);
  r.encoder.layers = 24, r.encoder.heads = 16, r.encoder.ffn_hidden = 4096;
  NetworkSpec& e = r.encoder;
  e.layers = r.number_or("num_hidden_layers", e.layers);
  e.heads = r.number_or("num_attention_heads", e.heads);
  e.ffn_hidden = r.number_or("intermediate_size", e.ffn_hidden);
  e.features = r.number_or("num_channels", 3) * r.area("patch_size", 16);
  e.activation = Activation::swiglu;
  e.embedding_norm = true;
}

void behind_two_matrices(VisionReader& r, std::int64_t usual_layer) {
  const std::string type = r.text_or("model_type", "");
  const bool clip = type == "clip_vision_model", siglip = type == "siglip_vision_model";
  if (clip) clip_layers(r);
  else if (siglip) siglip_layers(r);
  else pixtral_layers(r);
  NetworkSpec& e = r.encoder;
  if (siglip) {
    r.unread += layernorm(e.hidden);
    if (r.flag("vision_use_head", true))
      r.unread += e.hidden + attention_weights(e.hidden) + mlp_weights(e.hidden, e.ffn_hidden) + layernorm(e.hidden);
  }
  std::string rows = "default";
  r.file.optional("vision_feature_select_strategy", rows);
  // "default" leaves out the first row, which is the class token of CLIP
  if (clip != (rows == "default")) r.unlike.push_back("vision_feature_select_strategy " + rows);
  const std::vector<std::int64_t> taken = taken_layers(r, "vision_feature_layer", usual_layer);
  bool biased = true;
  r.file.optional("multimodal_projector_bias", biased);
  Projector made;
  if (taken.front() != e.layers) made.push_back(steps::layer(taken.front()));
  for (std::size_t i = 1; i < taken.size(); ++i) made.push_back(steps::beside(taken[i]));
  made.push_back(steps::matrix(r.text.hidden, biased, true));
  made.push_back(steps::matrix(r.text.hidden, biased));
  e.projectors = {std::move(made)};
}

}  // namespace

std::vector<std::int64_t> taken_layers(VisionReader& r, const char* key, std::int64_t usual) {
  NetworkSpec& e = r.encoder;
  constexpr IntegerRange indices{-10'000, 10'000};
  std::vector<std::int64_t> taken{usual};
  if (r.file.type_of(key) == "list") r.file.read(key, taken, indices);
  else r.file.optional(key, taken.front(), indices);
  r.file.require(!taken.empty(), key, "no layer's features go to the text", "-2, or several of them");
  if (taken.empty()) taken = {usual};
  std::int64_t last = 0;
  for (std::int64_t& layer : taken) {
    const std::int64_t run = layer < 0 ? e.layers + 1 + layer : layer;
    r.file.require(run >= 1 && run <= e.layers, key, fmt::format("layer {} of {}", layer, e.layers), "-1, -2, ...");
    last = std::max(last, layer = run);
  }
  r.idle = std::clamp<std::int64_t>(e.layers - last, 0, e.layers);
  e.layers -= r.idle;
  return taken;
}

void siglip_layers(VisionReader& r) {
  plain_or(r, 16);
  r.positions(r.encoder.sequence);
}

/// MiniCPM-V (modeling_navit_siglip.py and resampler.py of openbmb's files): SigLIP without a head, its last layer left
/// out where the file says so; learned queries that attend over what it gives, and a matrix. An image is cut into
/// slices of `scale_resolution` on a side, each of which an image of --images is.
void minicpm_v_images(VisionReader& r) {
  NetworkSpec& e = r.encoder;
  siglip_layers(r);
  constexpr std::int64_t patch = 16, slice = 448;
  bool drops = true;
  r.file.optional("drop_vision_last_layer", drops);
  if (drops && e.layers > 1) --e.layers;
  std::int64_t side = slice, queries = 64;
  if (auto slices = r.file.optional_object("slice_config")) {
    slices->allow_unknown_keys();
    slices->optional("scale_resolution", side, vision_sizes);
  }
  r.file.optional("query_num", queries, vision_sizes);
  const std::int64_t size = std::max<std::int64_t>(1, r.number_or("patch_size", patch));
  e.sequence = r.square(std::max<std::int64_t>(1, side / size));
  Projector steps{steps::layernorm};
  if (e.hidden != r.text.hidden) steps.push_back(steps::matrix(r.text.hidden, false));
  for (const ProjectorStep& step :
      {steps::layernorm, steps::attend(queries), steps::layernorm, steps::matrix(r.text.hidden, false)})
    steps.push_back(step);
  e.projectors = {std::move(steps)};
}

namespace {

/// SigLIP for images of any size. A head and a table for packed patches are in the file, and nobody reads them. Gives
/// how many patches are merged.
std::int64_t images_of_any_size(VisionReader& r) {
  siglip_layers(r);
  NetworkSpec& e = r.encoder;
  e.sequence = 0;
  constexpr std::int64_t packed_rows = 32'768;
  r.unread += packed_rows * e.hidden;
  if (r.flag("vision_use_head", true))
    r.unread += e.hidden + attention_weights(e.hidden) + mlp_weights(e.hidden, e.ffn_hidden) + layernorm(e.hidden);
  r.number_or("temporal_patch_size", 2);  // frames go through one by one
  return r.square(r.number_or("spatial_merge_size", 2));
}

}  // namespace

/// PaddleOCR-VL (modeling_paddleocr_vl.py of PaddlePaddle's files) and Keye-VL (vllm/model_executor/models/keye.py of
/// vLLM): a norm, and two matrices over what is merged.
void paddle_images(VisionReader& r) {
  const std::int64_t neighbours = images_of_any_size(r);
  r.encoder.projectors = {{steps::layernorm, steps::layernorm, steps::merge(neighbours),
      steps::matrix(neighbours * r.encoder.hidden, true, true), steps::matrix(r.text.hidden, true)}};
}

/// Keye-VL 1.5 (keye_vl1_5.py there): the norm is of what is merged.
void keye_images(VisionReader& r) {
  const std::int64_t neighbours = images_of_any_size(r);
  r.encoder.projectors = {{steps::layernorm, steps::merge(neighbours), steps::layernorm,
      steps::matrix(neighbours * r.encoder.hidden, true, true), steps::matrix(r.text.hidden, true)}};
}

/// LFM2-VL (src/transformers/models/{lfm2_vl,siglip2}): SigLIP 2, whose table of positions is stretched to any image;
/// two matrices over what is merged, behind a norm in its first release.
void lfm2_images(VisionReader& r) {
  siglip_layers(r);
  NetworkSpec& e = r.encoder;
  e.sequence = 0;
  r.positions(r.number_or("num_patches", 256));
  if (r.flag("vision_use_head", true))
    r.unread += e.hidden + attention_weights(e.hidden) + mlp_weights(e.hidden, e.ffn_hidden) + layernorm(e.hidden);
  std::int64_t side = 2, inner = 2560;
  bool normed = true, biased = true;
  r.file.optional("downsample_factor", side, vision_sizes);
  r.file.optional("projector_hidden_size", inner, vision_sizes);
  r.file.optional("projector_use_layernorm", normed);
  r.file.optional("projector_bias", biased);
  Projector made{steps::layernorm, steps::merge(r.square(side))};
  if (normed) made.push_back(steps::layernorm);
  made.push_back(steps::matrix(inner, biased, true));
  made.push_back(steps::matrix(r.text.hidden, biased));
  e.projectors = {std::move(made)};
}

void llava_images(VisionReader& r) { behind_two_matrices(r, -2); }

/// A row stands at the end of each row of patches; an image is several tiles, each of which an image of --images is.
void llava_next_images(VisionReader& r) {
  behind_two_matrices(r, -2);
  r.unread += r.text.hidden;
}

}  // namespace stepcast::detail
