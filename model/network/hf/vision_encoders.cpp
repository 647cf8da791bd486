// Shapes from the modeling files of transformers (src/transformers/models/<family>/modeling_<family>.py) and of
// moonshotai/Kimi-K2.5 (modeling_kimi_k25.py).
#include "model/network/hf/vision_encoders.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "model/network/hf/known_keys.h"
#include "model/network/hf/vision_reader.h"

namespace stepcast::detail {
namespace {

/// Patches in space and time, a table of positions; mergers of 2 x 2 patches, one behind the last layer and one for
/// each layer that also feeds the text's first layers.
void qwen3_vl(VisionReader& r) {
  NetworkSpec& e = r.encoder;
  e.hidden = r.number("hidden_size");
  const std::int64_t frames = r.number_or("temporal_patch_size", 2),
                     neighbours = r.square(r.number_or("spatial_merge_size", 2));
  r.plain("depth", "num_heads", "intermediate_size",
      r.number_or("in_channels", 3) * frames * r.square(r.number("patch_size")));
  r.positions(r.number("num_position_embeddings"));
  const std::vector<std::int64_t> deep = r.layers_once("deepstack_visual_indexes", {}, e.layers);
  const std::int64_t out = r.number_or("out_hidden_size", r.text.hidden), wide = neighbours * e.hidden;
  e.projectors = {
      {steps::layernorm, steps::merge(neighbours), steps::matrix(wide, true, true), steps::matrix(out, true)}};
  for (const std::int64_t layer : deep)
    e.projectors.push_back({steps::layer(layer + 1), steps::merge(neighbours), steps::layernorm,
        steps::matrix(wide, true, true), steps::matrix(out, true)});
}

/// Windows of 112 x 112 pixels in all layers but some; RMS norms, biases everywhere but on the patches, gated MLPs.
void qwen25_vl(VisionReader& r) {
  NetworkSpec& e = r.encoder;
  e.hidden = r.number("hidden_size");
  const std::int64_t patch = r.number("patch_size"), neighbours = r.square(r.number_or("spatial_merge_size", 2));
  r.gated("depth", "num_heads", "intermediate_size",
      r.number_or("in_chans", r.number_or("in_channels", 3)) * r.number_or("temporal_patch_size", 2) * r.square(patch));
  e.linear_bias = e.no_intake_bias = true;
  r.vision.require(r.number_or("embed_dim", e.hidden) == e.hidden, "embed_dim",
      fmt::format("it is not hidden_size, {}", e.hidden), "the same");
  constexpr std::int64_t usual_window = 112;
  e.window = {r.square(r.number_or("window_size", usual_window) / std::max<std::int64_t>(1, patch)),
      std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(e.layers, 0, 10'000)), 'w'), true};
  std::vector<std::int64_t> full;
  r.vision.read("fullatt_block_indexes", full, IntegerRange{0, 10'000});
  for (const std::int64_t layer : full)
    if (layer < e.layers) e.window.pattern[static_cast<std::size_t>(layer)] = 'f';
  const std::int64_t out = r.number_or("out_hidden_size", r.text.hidden);
  e.projectors = {{steps::rmsnorm, steps::merge(neighbours), steps::matrix(neighbours * e.hidden, true, true),
      steps::matrix(out, true)}};
}

/// MoonViT: a table of positions in space, those in time have no weights; a projector of merged patches. Kimi-K2.5's
/// keys begin with vt_.
void moonvit(VisionReader& r) {
  NetworkSpec& e = r.encoder;
  const bool own = !r.vision.has("vt_hidden_size");
  e.hidden = r.number(own ? "hidden_size" : "vt_hidden_size");
  const std::int64_t pixels = 3 * r.area("patch_size", 14);
  if (own) r.plain("num_hidden_layers", "num_attention_heads", "intermediate_size", pixels);
  else r.plain("vt_num_hidden_layers", "vt_num_attention_heads", "vt_intermediate_size", pixels);
  r.positions(r.number_or("init_pos_emb_height", 64) * r.number_or("init_pos_emb_width", 64));
  const std::int64_t neighbours = r.area("merge_kernel_size", 2);
  e.projectors = {
      {steps::layernorm, steps::layernorm, steps::merge(neighbours), steps::matrix(neighbours * e.hidden, true, true),
          steps::matrix(r.number_or("text_hidden_size", r.text.hidden), true)}};
}

/// SigLIP; means of patches, a norm and one matrix.
void gemma3(VisionReader& r) {
  NetworkSpec& e = r.encoder;
  e.hidden = r.number("hidden_size");
  const std::int64_t patch = r.number("patch_size"), image = r.number("image_size");
  r.plain("num_hidden_layers", "num_attention_heads", "intermediate_size",
      r.number_or("num_channels", 3) * r.square(patch));
  e.sequence = r.patches(image, patch);
  r.positions(e.sequence);
  std::int64_t tokens = 256;
  r.file.optional("mm_tokens_per_image", tokens, vision_sizes);
  e.projectors = {{steps::layernorm, steps::mean(std::max<std::int64_t>(1, e.sequence / tokens)), steps::rmsnorm,
      steps::matrix(r.text.hidden, false)}};
}

/// Pixtral: a norm behind the patches; a projector that merges them where it is told to.
void pixtral(VisionReader& r) {
  NetworkSpec& e = r.encoder;
  e.hidden = r.number("hidden_size");
  r.gated("num_hidden_layers", "num_attention_heads", "intermediate_size",
      r.number_or("num_channels", 3) * r.square(r.number("patch_size")));
  e.head_dim = r.number_or("head_dim", e.heads > 0 ? e.hidden / e.heads : 0);
  e.embedding_norm = true;
  bool biased = false;
  r.file.optional("multimodal_projector_bias", biased);
  std::int64_t side = 1;
  r.file.optional("spatial_merge_size", side, vision_sizes);
  e.projectors = {{steps::rmsnorm, steps::merge(r.square(side)), steps::matrix(e.hidden, false),
      steps::matrix(r.text.hidden, biased, true), steps::matrix(r.text.hidden, biased)}};
}

/// Norms before and behind, normed heads, gated MLPs, a table of positions for each direction; means of patches, two
/// vectors where `standardize` (as many as a LayerNorm's), one matrix behind a norm without weights.
void gemma4(VisionReader& r) {
  NetworkSpec& e = r.encoder;
  bool standardized = false, clipped = false;
  r.vision.optional("standardize", standardized);
  r.vision.optional("use_clipped_linears", clipped);
  r.vision.require(!clipped, "use_clipped_linears", "bounds of projections are none of our forms", "false");
  e.hidden = r.number("hidden_size");
  r.gated("num_hidden_layers", "num_attention_heads", "intermediate_size", 3 * r.square(r.number("patch_size")));
  e.activation = Activation::geglu;
  e.kv_heads = r.number_or("num_key_value_heads", e.heads);
  e.head_dim = r.number_or("head_dim", e.heads > 0 ? e.hidden / e.heads : 0);
  e.norm_place = NormPlace::both;
  e.qk_norm = e.value_norm = true;
  constexpr std::int64_t directions = 2;
  r.positions(directions * r.number("position_embedding_size"));
  Projector steps{steps::mean(r.square(r.number_or("pooling_kernel_size", 3)))};
  if (standardized) steps.push_back(steps::layernorm);
  steps.push_back(steps::matrix(r.text.hidden, false));
  e.projectors = {std::move(steps)};
}

/// CLIP with patches of two frames and a norm before the layers; two matrices, and two more for merged patches.
void minimax_m3(VisionReader& r) {
  NetworkSpec& e = r.encoder;
  e.hidden = r.number("hidden_size");
  std::int64_t side = 2, frames = 2;
  if (auto merging = r.vision.optional_object("img_token_compression_config")) {
    merging->allow_unknown_keys();
    merging->optional("spatial_merge_size", side, vision_sizes);
    merging->optional("temporal_patch_size", frames, vision_sizes);
  }
  r.plain("num_hidden_layers", "num_attention_heads", "intermediate_size",
      r.number_or("num_channels", 3) * frames * r.square(r.number("patch_size")));
  e.no_intake_bias = e.embedding_norm = true;
  const std::int64_t out = r.number_or("projection_dim", r.text.hidden);
  e.projectors = {{steps::matrix(out, true, true), steps::matrix(out, true), steps::merge(r.square(side)),
      steps::matrix(out, true, true), steps::matrix(out, true)}};
}

struct KnownEncoder {
  const char* family;
  const char* key;  ///< that only its vision_config has
  void (*read)(VisionReader& reader);
  const char* type = "";  ///< its model_type; "": any
};
constexpr KnownEncoder encoders[] = {
    {"qwen3", "num_position_embeddings", qwen3_vl},
    {"qwen3-moe", "num_position_embeddings", qwen3_vl},
    {"qwen3-next", "num_position_embeddings", qwen3_vl},
    {"qwen3-omni", "num_position_embeddings", qwen3_vl},
    {"qwen2", "fullatt_block_indexes", qwen25_vl},
    {"qwen2.5-omni", "fullatt_block_indexes", qwen25_vl},
    {"deepseek", "vt_hidden_size", moonvit},
    {"kimi-vl", "init_pos_emb_height", moonvit},
    {"qwen2", "embed_dim", qwen2_vl_images},
    {"llama4", "projector_input_dim", llama4_images},
    {"glm4", "out_hidden_size", glm4v_images},
    {"glm4-moe", "out_hidden_size", glm4v_images},
    {"dots-ocr", "embed_dim", dots_images},
    {"paddleocr-vl", "spatial_merge_size", paddle_images},
    {"keye", "image_size", paddle_images},
    {"keye-1.5", "image_size", keye_images},
    {"lfm2-vl", "num_patches", lfm2_images},
    {"minicpm-v-images", "hidden_size", minicpm_v_images, "siglip"},
    {"minicpm-v-images", "hidden_size", minicpm_v_images, "siglip_vision_model"},
    {"internvl", "hidden_size", internvl_images},
    {"internvl-chat", "hidden_size", internvl_images},
    {"paligemma", "hidden_size", siglip_behind_matrix},
    {"idefics3", "patch_size", idefics3_images},
    {"llama-vision", "max_num_tiles", llama_vision_images},
    {"gemma3", "image_size", gemma3},
    {"mistral", "patch_size", pixtral},
    {"gemma4", "position_embedding_size", gemma4},
    {"minimax-m3", "projection_dim", minimax_m3},
    {"llava", "hidden_size", llava_images, "clip_vision_model"},
    {"llava", "hidden_size", llava_images, "siglip_vision_model"},
    {"llava", "hidden_size", llava_images, "pixtral"},
    {"llava-next", "hidden_size", llava_next_images, "clip_vision_model"},
    {"llava-next", "hidden_size", llava_next_images, "siglip_vision_model"},
    {"llava-next", "hidden_size", llava_next_images, "pixtral"},
    {"llava-onevision", "hidden_size", llava_next_images, "clip_vision_model"},
    {"llava-onevision", "hidden_size", llava_next_images, "siglip_vision_model"},
    {"llava-onevision", "hidden_size", llava_next_images, "pixtral"},
};

std::int64_t all_weights(const NetworkSpec& encoder) {
  NetworkSpec around;
  around.encoders.push_back(encoder);
  return encoder_parameter_count(around);
}

/// Of layers that nobody runs.
std::int64_t idle_weights(const VisionReader& reader) {
  if (reader.idle == 0) return 0;
  NetworkSpec whole = reader.encoder;
  whole.layers += reader.idle;
  return all_weights(whole) - all_weights(reader.encoder);
}

/// InternVL3's files name experts beside `use_moe: false` (OpenGVLab/InternVL3-8B config.json); its class has none.
bool of_unused_experts(JsonObject& vision, const std::string& family, const std::string& key) {
  bool used = true;
  if (!family.starts_with("internvl") || vision.type_of("use_moe") != "boolean") return false;
  vision.read("use_moe", used);
  return !used && lists("use_moe num_experts num_routed_experts num_shared_experts capacity_factor "
                        "eval_capacity_factor laux_allreduce moe_coeff_ratio moe_intermediate_size moe_output_scale "
                        "noisy_gate_policy shared_expert_intermediate_size ep_size use_residual use_rts "
                        "use_weighted_residual",
                      key);
}

}  // namespace

bool completes_heads(VisionReader& r, const char* key) {
  NetworkSpec& e = r.encoder;
  constexpr std::int64_t most_layers = 10'000;  // counts go layer by layer
  r.vision.require(e.layers + r.idle <= most_layers, "", fmt::format("{} layers", e.layers + r.idle),
      fmt::format("up to {}", most_layers));
  r.vision.require(e.head_dim > 0 || e.heads < 1 || e.hidden % e.heads == 0, key,
      fmt::format("{} heads share a width of {}", e.heads, e.hidden), "a number that divides it");
  if (r.vision.first_error()) return false;
  if (e.kv_heads == 0) e.kv_heads = e.heads;
  if (e.head_dim == 0) e.head_dim = e.hidden / std::max<std::int64_t>(1, e.heads);
  return true;
}

std::optional<NetworkSpec> image_encoder(JsonObject& file, const std::string& family, const NetworkSpec& text,
    std::vector<std::string>& unknown, std::int64_t& unread) {
  for (const KnownEncoder& row : encoders) {
    if (family != row.family || file.type_of("vision_config") != "object") continue;
    JsonObject vision = file.object("vision_config");
    vision.allow_unknown_keys();
    std::string type;
    if (vision.type_of("model_type") == "string") vision.read("model_type", type);
    // a class that names itself may leave out what it has anyway (Pixtral)
    if (*row.type == '\0' ? !vision.has(row.key) : type != row.type) continue;
    VisionReader reader{file, vision, text};
    reader.encoder.causal = false;
    row.read(reader);
    NetworkSpec& encoder = reader.encoder;
    if (!completes_heads(reader, row.key)) return std::nullopt;
    unknown = std::move(reader.unlike);
    unread = reader.unread + idle_weights(reader);
    for (const JsonObject::UnreadKey& key : vision.unread())
      if (!leaves_layers_alone("vision", key) && !of_unused_experts(vision, family, key.key))
        unknown.push_back(key.key + " " + key.value);
    return std::move(encoder);
  }
  return std::nullopt;
}

bool images_see_themselves(const std::string& family, JsonObject& text) {
  if (family == "gemma4") {  // its files say so
    std::string which;
    if (text.type_of("use_bidirectional_attention") == "string") text.read("use_bidirectional_attention", which);
    return which == "vision";
  }
  // MM_PREFIX_LM_MODELS of vllm/config/model.py; of PaliGemma the words of the question, too
  return lists("gemma3 paligemma", family);
}

std::vector<NetworkPart> parts_of(const NetworkSpec& encoder) {
  NetworkSpec beside;
  beside.encoders.push_back(encoder);
  const std::int64_t projector = projector_parameter_count(beside);
  return {{encoder.sound ? "audio" : "vision", encoder_parameter_count(beside) - projector},
      {encoder.sound ? "audio_projector" : "projector", projector}};
}

}  // namespace stepcast::detail
