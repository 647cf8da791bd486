// Encoders of images and sound with shapes of their own: Gemma 3n (src/transformers/models/gemma3n of transformers),
// Step3 and RADIO (vllm/model_executor/models/step3_vl.py, radio.py, nano_nemotron_vl.py of vLLM), Phi-4 multimodal
// (modeling_phi4mm.py, vision_siglip_navit.py and speech_conformer_encoder.py of microsoft's files).
#include <algorithm>
#include <set>

#include "model/network/hf/vision_parts.h"

namespace stepcast::detail {

/// A class token, patches with a bias, norms behind the sublayers; two convolutions, a matrix.
Parts step3_vision(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  const Count hidden = number(vision, "hidden_size"), patch = std::max<Count>(1, number(vision, "patch_size")),
              side = number(vision, "image_size") / patch, out = number(vision, "output_hidden_size");
  constexpr Count first = 2 * 2, second = 3 * 3;
  const Count encoder =
      hidden + linear(3 * patch * patch, hidden) + (side * side + 1) * hidden +
      number(vision, "num_hidden_layers") * encoder_layer(hidden, number(vision, "intermediate_size"));
  const Count projector = linear(first * hidden, out) + linear(second * out, 2 * out) +
                          linear(2 * out, text.hidden, flag(file, "projector_bias", false));
  return {{"vision", encoder}, {"projector", projector}};
}

namespace {

/// Of timm's vision transformers, by name.
struct NamedEncoder {
  const char* name;
  Count hidden, layers;
};
constexpr NamedEncoder named_encoders[] = {
    {"vit_base_patch16_224", 768, 12}, {"vit_large_patch16_224", 1024, 24}, {"vit_huge_patch16_224", 1280, 32}};

/// A token for each teacher, or one, and as many more as fill up a multiple.
Count radio_tokens(JsonObject& args) {
  std::set<std::string> teachers;
  for (JsonObject& teacher : args.optional_objects("teachers")) {
    std::string name;
    teacher.allow_unknown_keys();
    teacher.optional("name", name);
    teachers.insert(name);
  }
  const Count named = static_cast<Count>(teachers.size()),
              tokens = flag(args, "cls_token_per_teacher", false) ? named : 1;
  const Count multiple = args.has("register_multiple") ? number(args, "register_multiple") : 0;
  return multiple > 0 ? tokens + multiple - tokens % multiple : tokens;
}

/// A norm, and two matrices, for patches merged 2 x 2.
Count nemotron_projector(JsonObject& file, Count hidden, const NetworkSpec& text) {
  const Count merged = 4 * hidden, inner = number_or(file, "projector_hidden_size", 4 * text.hidden);
  const bool bare = !text.mixer.sizes.empty();  // of Nemotron-H: an RMS norm, no biases
  return (bare ? merged : layernorm(merged)) + linear(merged, inner, !bare) + linear(inner, text.hidden, !bare);
}

}  // namespace

/// RADIO: a table of positions of the largest image, patches without a bias, no norm behind the layers.
Parts radio(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  JsonObject args = vision.object("args");
  args.allow_unknown_keys();
  std::string name;
  args.optional("model", name);
  const auto* row = std::ranges::find(named_encoders, name, &NamedEncoder::name);
  if (row == std::end(named_encoders) || flag(args, "model_norm", false)) return {};
  const Count patch = std::max<Count>(1, number_or(vision, "patch_size", 16)), h = row->hidden,
              side = number_or(args, "cpe_max_size", 2048) / patch;
  const Count encoder =
      3 * patch * patch * h + side * side * h + radio_tokens(args) * h + row->layers * encoder_layer(h, 4 * h);
  return {{"vision", encoder}, {"projector", nemotron_projector(file, h, text)}};
}

namespace {

/// Weights beside queries, keys and values, outputs and the MLP, for each unit of rank.
Count adapter(const NetworkSpec& n) {
  const Count h = n.hidden, q = n.heads * n.head_dim, all = q + 2 * n.kv_heads * n.head_dim;
  return n.layers * ((h + all) + (q + h) + (h + 2 * n.ffn_hidden) + (n.ffn_hidden + h));
}

/// Blocks of two gated MLPs around attention and a convolution; convolutions in front halve the frames three times.
Count phi4_conformer(JsonObject& config) {
  const Count h = number_or(config, "attention_dim", 1024), ffn = number_or(config, "linear_units", 1536),
              heads = number_or(config, "attention_heads", 16), out = number_or(config, "ext_pw_out_channel", 1024),
              taps = number_or(config, "kernel_size", 3), bins = number_or(config, "input_size", 80);
  Count channels = 1024, distance = 500;
  if (auto settings = config.optional_object("nemo_conv_settings")) {
    settings->allow_unknown_keys();
    channels = number_or(*settings, "conv_channels", channels);
  }
  if (auto bias = config.optional_object("relative_attention_bias_args")) {
    bias->allow_unknown_keys();
    distance = number_or(*bias, "t5_bias_max_distance", distance);
  }
  const Count mlp = layernorm(h) + linear(h, 2 * ffn) + linear(ffn, h);
  const Count convolution = layernorm(h) + linear(h, 2 * out) + 2 * out + linear(taps, out) + 2 * linear(out, out);
  const Count block = 2 * mlp + attention_weights(h) + layernorm(h) + convolution + layernorm(h);
  constexpr Count area = 3 * 3, halvings = 3;
  Count rows = bins;
  for (Count i = 0; i < halvings; ++i) rows = (rows + 1) / 2;
  const Count intake = linear(area, channels) + 2 * (linear(area, channels) + linear(channels, channels)) +
                       linear(channels * rows, h) + 2 * bins;
  return intake + 2 * distance * heads + number_or(config, "num_blocks", 24) * block;
}

/// SigLIP so400m of images of 448: 27 layers, and a head that nobody reads.
Count phi4_images() {
  constexpr Count h = 1152, ffn = 4304, patch = 14, side = 448 / patch, layers = 27;
  return linear(3 * patch * patch, h) + side * side * h + layers * encoder_layer(h, ffn) + layernorm(h) + h +
         attention_weights(h) + layernorm(h) + mlp_weights(h, ffn);
}

}  // namespace

/// Images, sound, two projectors for sound, and adapters of all layers for either.
Parts phi4_parts(JsonObject& file, JsonObject& /*embedding*/, const NetworkSpec& text) {
  constexpr Count image = 1152, sound = 1024;
  Parts parts{{"vision", phi4_images()},
      {"projector", 2 * image + linear(image, text.hidden) + linear(text.hidden, text.hidden)}};
  Count rank = 0;
  for (const char* key : {"vision_lora", "speech_lora"}) {
    JsonObject lora = file.object(key);
    lora.allow_unknown_keys();
    rank += number(lora, "r");
  }
  JsonObject processor = file.object("audio_processor");
  processor.allow_unknown_keys();
  JsonObject config = processor.object("config");
  config.allow_unknown_keys();
  parts.push_back({"audio", phi4_conformer(config)});
  parts.push_back({"audio_projector", 2 * (linear(sound, text.hidden) + linear(text.hidden, text.hidden))});
  parts.push_back({"adapters", rank * adapter(text)});
  return parts;
}

namespace {

/// Tokens of its own beside features, two norms, a matrix.
Count gemma3n_embedder(JsonObject& part, Count absent, const NetworkSpec& text) {
  const Count hidden = number_or(part, "hidden_size", absent);
  return number_or(part, "vocab_size", 128) * hidden + 2 * hidden + hidden * text.hidden;
}

/// Two convolutions, then blocks of two MLPs around attention and a convolution, without biases (Conformer).
Count gemma3n_audio(JsonObject& audio) {
  const Count h = number_or(audio, "hidden_size", 1536), heads = number_or(audio, "conf_num_attention_heads", 8),
              taps = number_or(audio, "conf_conv_kernel_size", 5);
  std::vector<Count> channels{128, 32};
  audio.optional("sscp_conv_channel_size", channels, part_sizes);
  if (channels.size() != 2) return 0;
  constexpr Count area = 3 * 3, widening = 4;
  const Count bins = (number_or(audio, "input_feat_size", 128) + 3) / 4;
  const Count intake =
      area * channels[0] + channels[0] + area * channels[0] * channels[1] + channels[1] + channels[1] * bins * h;
  const Count mlp = 2 * h + 2 * h * widening * h;
  const Count attention = 2 * h + 3 * h * h + h / std::max<Count>(1, heads) + 2 * h * h;
  const Count convolution = 2 * h + 2 * h * h + taps * h + h * h;
  return intake + number_or(audio, "conf_num_hidden_layers", 12) * (2 * mlp + attention + convolution + h);
}

}  // namespace

/// MobileNet V5, whose shape its name tells (timm's mobilenetv5_300m_enc); a Conformer.
Parts gemma3n_parts(JsonObject& file, JsonObject& vision, const NetworkSpec& text) {
  std::string name;
  vision.optional("architecture", name);
  if (name != "mobilenetv5_300m_enc") return {};
  // What both checkpoints of Gemma 3n have beside all other parts: 5,439,438,272 and 7,849,978,192 in all.
  constexpr Count mobilenet_v5 = 294'126'912;
  Parts parts{{"vision", mobilenet_v5}, {"projector", gemma3n_embedder(vision, 2048, text)}};
  if (file.type_of("audio_config") != "object") return parts;
  JsonObject audio = file.object("audio_config");
  audio.allow_unknown_keys();
  parts.push_back({"audio", gemma3n_audio(audio)});
  parts.push_back({"audio_projector", gemma3n_embedder(audio, 1536, text)});
  return parts;
}

}  // namespace stepcast::detail
