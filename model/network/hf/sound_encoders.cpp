// Encoders of sound in front of a text:
// src/transformers/models/{qwen2_audio,voxtral,qwen2_5_omni,qwen3_omni_moe}/modeling_*.py of transformers, all of them
// Whisper's with another way to the text.
#include "model/network/hf/sound_encoders.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "model/network/hf/counting.h"
#include "model/network/hf/known_keys.h"
#include "model/network/hf/vision_reader.h"

namespace stepcast::detail {
namespace {

/// Two convolutions of three taps, the second of which halves the frames; layers without biases of keys.
void whisper_layers(VisionReader& r, const char* width, const char* layers, const char* heads, const char* ffn) {
  NetworkSpec& e = r.encoder;
  e.hidden = r.number(width);
  r.plain(layers, heads, ffn, r.number_or("num_mel_bins", 128));
  e.no_key_bias = e.sound = true;
  e.intake = Intake::convolutions;
  const std::string function = r.text_or("activation_function", "gelu");
  if (function != "gelu") r.unlike.push_back("activation_function " + function);
}

/// A table of positions, which a clip fills.
void placed(VisionReader& r) {
  constexpr std::int64_t half_a_minute = 1500;
  r.encoder.sequence = r.number_or("max_source_positions", half_a_minute);
  r.positions(r.encoder.sequence);
}

/// Means of two rows, a norm, a matrix.
void qwen2_audio(VisionReader& r) {
  whisper_layers(r, "d_model", "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim");
  placed(r);
  constexpr std::int64_t pooled = 2;
  r.encoder.projectors = {{steps::mean(pooled), steps::layernorm, steps::matrix(r.text.hidden, true)}};
}

/// A norm; rows side by side, as many as are as wide as an MLP; two matrices without biases.
void voxtral(VisionReader& r) {
  whisper_layers(r, "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size");
  placed(r);
  NetworkSpec& e = r.encoder;
  const std::int64_t rows = e.hidden > 0 ? e.ffn_hidden / e.hidden : 0;
  r.vision.require(rows >= 1 && rows * e.hidden == e.ffn_hidden, "intermediate_size",
      fmt::format("rows of {} side by side are never {} wide", e.hidden, e.ffn_hidden), "a multiple of hidden_size");
  e.head_dim = r.number_or("head_dim", e.heads > 0 ? e.hidden / e.heads : 0);
  r.vision.require(r.number_or("num_key_value_heads", e.heads) == e.heads, "num_key_value_heads",
      "its heads have keys of their own", fmt::format("{}", e.heads));
  e.projectors = {{steps::layernorm, steps::merge(std::max<std::int64_t>(1, rows)),
      steps::matrix(r.text.hidden, false, true), steps::matrix(r.text.hidden, false)}};
}

/// Sound of any length in pieces that see themselves alone, positions that are added without weights; means of two
/// rows, a norm, a matrix. Two rows of a table stand in the file, and its class never reads them.
void qwen25_omni(VisionReader& r) {
  whisper_layers(r, "d_model", "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim");
  r.number_or("max_source_positions", 1500);
  NetworkSpec& e = r.encoder;
  e.positions = Positions::none;
  constexpr std::int64_t usual_piece = 100, pooled = 2;
  e.window = {r.number_or("n_window", usual_piece), "w", true};
  const std::int64_t out = r.number_or("output_dim", r.text.hidden);
  e.projectors = {{steps::mean(pooled), steps::layernorm, steps::matrix(out, true)}};
  r.unread += 2 * out;
}

/// Convolutions of 3 x 3 over frames and bins, of pieces of 100 frames that give 13 positions each; several pieces see
/// each other; positions are added without weights; a norm, two matrices.
void qwen3_omni(VisionReader& r) {
  whisper_layers(r, "d_model", "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim");
  r.number_or("max_source_positions", 1500);
  r.number_or("conv_chunksize", 500);  // pieces that go through the convolutions at once
  NetworkSpec& e = r.encoder;
  e.no_key_bias = false;
  e.intake = Intake::planes;
  constexpr std::int64_t usual_planes = 480, usual_half = 50, usual_window = 800, halvings = 8;
  e.planes = r.number_or("downsample_hidden_size", usual_planes);
  e.positions = Positions::none;
  const std::int64_t piece = 2 * r.number_or("n_window", usual_half),
                     seen = r.number_or("n_window_infer", usual_window);
  r.vision.require(seen % piece == 0, "n_window_infer", fmt::format("{} frames are no whole pieces of {}", seen, piece),
      fmt::format("a multiple of {}", piece));
  const std::int64_t positions = (piece + halvings - 1) / halvings;
  e.window = {std::max<std::int64_t>(1, seen / piece) * positions, "w", true};
  e.projectors = {{steps::layernorm, steps::matrix(e.hidden, true, true),
      steps::matrix(r.number_or("output_dim", r.text.hidden), true)}};
}

struct KnownSound {
  const char* family;
  const char* key;  ///< that its audio_config has
  void (*read)(VisionReader& reader);
};
constexpr KnownSound sounds[] = {{"qwen2-audio", "d_model", qwen2_audio}, {"voxtral", "num_mel_bins", voxtral},
    {"qwen2.5-omni", "n_window", qwen25_omni}, {"qwen3-omni", "d_model", qwen3_omni},
    {"qwen3-asr", "d_model", qwen3_omni}};

}  // namespace

std::optional<NetworkSpec> sound_encoder(JsonObject& file, const std::string& family, const NetworkSpec& text,
    std::vector<std::string>& unknown, std::int64_t& unread) {
  const auto* row = std::ranges::find_if(sounds, [&](const KnownSound& one) { return family == one.family; });
  if (row == std::end(sounds) || file.type_of("audio_config") != "object") return std::nullopt;
  JsonObject audio = file.object("audio_config");
  audio.allow_unknown_keys();
  if (!audio.has(row->key)) return std::nullopt;
  VisionReader reader{file, audio, text};
  reader.encoder.causal = false;
  row->read(reader);
  NetworkSpec& encoder = reader.encoder;
  if (!completes_heads(reader, row->key)) return std::nullopt;
  unknown = std::move(reader.unlike);
  unread = reader.unread;
  for (const JsonObject::UnreadKey& key : audio.unread())
    if (!leaves_layers_alone("sound", key)) unknown.push_back(key.key + " " + key.value);
  return std::move(encoder);
}

}  // namespace stepcast::detail
