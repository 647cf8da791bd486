#include "model/network/hf/reader.h"

#include <fmt/format.h>

#include "model/network/hf/class_defaults.h"

namespace stepcast::detail {
namespace {

// As wide as the ranges of our own network files (network_spec.cpp).
constexpr IntegerRange sizes{1, 100'000'000}, lengths{1, std::int64_t{1} << 30};

struct ActivationName {
  const char* name;
  Activation plain, gated;
  bool has_gated;
};

// Names of transformers' ACT2FN (src/transformers/activations.py). The forms of GELU cost the same.
constexpr ActivationName activations[] = {
    {"silu", Activation::swiglu, Activation::swiglu, true},
    {"swish", Activation::swiglu, Activation::swiglu, true},
    {"gelu", Activation::gelu, Activation::geglu, true},
    {"gelu_new", Activation::gelu, Activation::geglu, true},
    {"gelu_fast", Activation::gelu, Activation::geglu, true},
    {"gelu_pytorch_tanh", Activation::gelu, Activation::geglu, true},
    {"situ", Activation::swiglu, Activation::swiglu, true},  // Kimi K3: both factors are bounded
    {"relu", Activation::relu, Activation::relu, false},
    {"relu2", Activation::squared_relu, Activation::squared_relu, false},
    {"xielu", Activation::xielu, Activation::xielu, false},
};

/// "wwfwwfwwf" is "wwf" over and over.
std::string shortest(std::string pattern) {
  const auto repeats = [&](std::size_t length) {
    for (std::size_t i = length; i < pattern.size(); ++i)
      if (pattern[i] != pattern[i - length]) return false;
    return true;
  };
  std::size_t length = 1;
  while (!repeats(length)) ++length;
  pattern.resize(length);
  return pattern;
}

}  // namespace

std::int64_t HfReader::size(const char* key) {
  std::int64_t value = 0;
  if (const auto usual = class_default(text_type, key); usual && !config.has(key)) {
    note(fmt::format("{} {} (not in the file)", key, *usual));
    return *usual;
  }
  config.read(key, value, sizes);
  return value;
}

std::int64_t HfReader::size_or(const char* key, std::int64_t absent, std::int64_t least) {
  absent = class_default(text_type, key).value_or(absent);
  std::int64_t value = absent;
  if (config.has(key)) config.read(key, value, IntegerRange{least, sizes.high});
  else note(fmt::format("{} {} (not in the file)", key, absent));
  return value;
}

std::int64_t HfReader::either(const char* key, const char* other) {
  const std::int64_t value = size(config.has(key) ? key : other);
  std::int64_t again = value;
  config.optional(other, again, sizes);
  config.require(again == value, other, fmt::format("{} {}, and {} {}", other, again, key, value), "one of them");
  return value;
}

bool HfReader::flag_or(const char* key, bool absent) {
  bool value = absent;
  if (config.has(key)) config.read(key, value);
  else note(fmt::format("{} {} (not in the file)", key, absent));
  return value;
}

bool HfReader::tied_or(bool absent) {
  constexpr const char* key = "tie_word_embeddings";
  bool inner = absent;
  config.optional(key, inner);
  if (!outer || !outer->has(key)) return config.has(key) ? inner : flag_or(key, absent);
  bool around = absent;
  outer->read(key, around);
  return around;
}

double HfReader::number_or(const char* key, double absent) {
  double value = absent;
  config.optional(key, value, NumberRange{0, 1e9});
  return value;
}

std::string HfReader::text_or(const char* key, const char* absent) {
  std::string value = absent;
  config.optional(key, value);
  return value;
}

void HfReader::activation(const char* key, const char* absent, bool gated) {
  const std::string name = text_or(key, absent);
  std::vector<std::string> known;
  for (const ActivationName& row : activations) {
    const bool plain_only = row.plain == Activation::swiglu;  // silu without a gate is none of our activations
    if (gated ? !row.has_gated : plain_only) continue;
    known.emplace_back(row.name);
    if (name == row.name) return void(spec.activation = gated ? row.gated : row.plain);
  }
  config.require(false, key,
      fmt::format("the activation '{:.40}' of {} MLP is not known", name, gated ? "a gated" : "a plain"),
      name_hint(name, known));
}

void HfReader::length(const char* key) {
  const auto usual = class_default(text_type, key);
  if (usual && !config.has(key)) spec.sequence = *usual;
  else config.read(key, spec.sequence, lengths);
  for (const char* scaling : {"rope_scaling", "rope_parameters"}) {
    auto rope = config.type_of(scaling) == "object" ? config.optional_object(scaling) : std::nullopt;
    if (!rope) continue;
    rope->allow_unknown_keys();
    if (!rope->has("original_max_position_embeddings")) continue;
    rope->read("original_max_position_embeddings", spec.sequence, lengths);
    return note(fmt::format("sequence {}, its original_max_position_embeddings", spec.sequence));
  }
  note(fmt::format("sequence {}, its {}, as it has no training length", spec.sequence, key));
}

void HfReader::length_or(const char* key, std::int64_t absent) {
  if (config.has(key)) return length(key);
  spec.sequence = absent;
  note(fmt::format("sequence {} ({} not in the file)", absent, key));
}

std::int64_t HfReader::signed_size(const char* key) {
  std::int64_t value = 0;
  config.read(key, value, IntegerRange{-sizes.high, sizes.high});
  return value;
}

std::int64_t HfReader::labels(std::int64_t usual) {
  if (config.has("num_labels")) return size("num_labels");
  if (config.type_of("id2label") == "object") {
    JsonObject names = config.object("id2label");
    names.allow_unknown_keys();
    if (!names.keys().empty()) return static_cast<std::int64_t>(names.keys().size());
  }
  note(fmt::format("{} classes (not in the file)", usual));
  return usual;
}

bool HfReader::cap(const char* key, bool absent) {
  if (!config.names(key)) return absent;
  return number_or(key, 0) > 0;
}

void HfReader::window(std::int64_t positions, std::string pattern, bool chunks) {
  std::vector<std::string> kinds;
  config.optional("layer_types", kinds);
  if (!kinds.empty()) {
    pattern.clear();
    for (const std::string& kind : kinds) {
      const bool partial = kind == (chunks ? "chunked_attention" : "sliding_attention");
      config.require(partial || kind == "full_attention", "layer_types",
          fmt::format("layers of the kind '{:.40}' are none of our forms", kind),
          chunks ? "full_attention, chunked_attention" : "full_attention, sliding_attention");
      pattern += partial ? 'w' : 'f';
    }
    config.require(static_cast<std::int64_t>(kinds.size()) == spec.layers, "layer_types",
        fmt::format("{} kinds for {} layers", kinds.size(), spec.layers), "one for each layer");
    config.require(pattern.find('w') == pattern.npos || positions > 0, "layer_types",
        "no length says how far their attention looks", chunks ? "attention_chunk_size" : "sliding_window");
  }
  // a period may be longer than the network
  if (spec.layers > 0 && static_cast<std::int64_t>(pattern.size()) > spec.layers)
    pattern.resize(static_cast<std::size_t>(spec.layers));
  if (positions > 0 && pattern.find('w') != pattern.npos)
    spec.window = {positions, shortest(std::move(pattern)), chunks};
}

std::int64_t HfReader::length_or_none(const char* key) {
  std::int64_t value = 0;
  config.optional(key, value, lengths);
  return value;
}

void HfReader::dropout(std::initializer_list<const char*> keys, double absent) {
  bool scores = spec.dropout && !spec.no_attention_dropout, stream = spec.dropout && !spec.no_hidden_dropout;
  for (const std::string_view key : keys) {
    const bool drops = number_or(key.data(), absent) > 0;  // all of them are read
    const bool all = key == "dropout_rate";                // of T5, one key for both
    const bool of_scores = key.starts_with("attention") || key.starts_with("attn");
    scores = scores || (drops && (all || of_scores));
    stream = stream || (drops && !of_scores);
  }
  spec.dropout = scores || stream;
  spec.no_attention_dropout = spec.dropout && !scores;
  spec.no_hidden_dropout = spec.dropout && !stream;
}

void HfReader::check_bounds() {
  constexpr std::int64_t most_layers = 10'000;  // as of our own network files
  config.require(spec.layers <= most_layers, "num_hidden_layers", fmt::format("{} layers", spec.layers),
      fmt::format("up to {}", most_layers));
  for (const NetworkSpec& encoder : spec.encoders)
    config.require(encoder.layers <= most_layers, "num_layers", fmt::format("{} layers of an encoder", encoder.layers),
        fmt::format("up to {}", most_layers));
  constexpr std::int64_t most_counted = 1'000'000'000'000'000;
  for (const NetworkPart& part : counted)
    config.require(part.parameters >= 0 && part.parameters <= most_counted, "hidden_size",
        fmt::format("sizes of more than {} parameters", most_counted), "smaller ones");
  for (const char* key : {"decoder_sparse_step", "interleave_moe_layer_step"})
    config.require(spec.experts.every >= 1 || !config.has(key), key, "experts in every 0th layer", "1: in all");
}

}  // namespace stepcast::detail
