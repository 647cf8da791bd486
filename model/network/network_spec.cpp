#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "model/base/large_value.h"
#include "model/network/network.h"
#include "model/network/network_rules.h"
#include "model/base/row_text.h"

namespace stepcast {

LARGE_VALUE_MEMBERS(NetworkSpec)
namespace {

constexpr Choice<Norm> norm_names[] = {
    {"rmsnorm", Norm::rmsnorm}, {"layernorm", Norm::layernorm}, {"layernorm-without-offset", Norm::layernorm_scale}};
constexpr Choice<NormPlace> place_names[] = {{"before", NormPlace::before}, {"behind", NormPlace::behind},
    {"both", NormPlace::both}, {"behind-sum", NormPlace::behind_sum}};
constexpr Choice<Activation> activation_names[] = {{"swiglu", Activation::swiglu}, {"geglu", Activation::geglu},
    {"gelu", Activation::gelu}, {"relu", Activation::relu}, {"squared_relu", Activation::squared_relu},
    {"xielu", Activation::xielu}};
constexpr Choice<Positions> position_names[] = {{"rope", Positions::rope}, {"learned", Positions::learned},
    {"alibi", Positions::alibi}, {"none", Positions::none}, {"relative", Positions::relative}};

constexpr Choice<Intake> intake_names[] = {{"matrix", Intake::matrix}, {"mlp", Intake::mlp},
    {"convolutions", Intake::convolutions}, {"planes", Intake::planes}};

// A hundred times the largest networks of today; beyond that a figure is a slip of the keyboard.
constexpr IntegerRange layer_range{1, 10'000}, width_range{1, 10'000'000}, head_range{1, 100'000},
    vocab_range{1, 100'000'000}, expert_range{1, 100'000}, sequence_range{1, std::int64_t{1} << 30};

constexpr IntegerRange or_none(IntegerRange range) { return {0, range.high}; }

/// In the order of the struct. Rules between the values are complete_network's.
constexpr auto expert_members = [](auto& file, auto& experts) {
  file.read("count", experts.count, expert_range);
  file.read("top_k", experts.top_k, expert_range);
  file.read("ffn_hidden", experts.ffn_hidden, width_range);
  file.rare("latent", experts.latent, or_none(width_range));
  file.optional("shared_ffn_hidden", experts.shared_ffn_hidden, or_none(width_range));
  file.optional("shared_gate", experts.shared_gate);
  file.optional("router_bias", experts.router_bias);
  file.optional("expert_bias", experts.expert_bias);
  file.rare("own_norms", experts.own_norms);
  file.rare("norm_behind", experts.norm_behind);
  file.rare("latent_norm", experts.latent_norm);
  file.optional("groups", experts.groups, or_none(expert_range));
  file.optional("top_groups", experts.top_groups, or_none(expert_range));
  file.optional("dense_layers", experts.dense_layers, or_none(layer_range));
  file.optional("every", experts.every, layer_range);
  file.optional("capacity_factor", experts.capacity_factor, NumberRange{0, 1e6});
  file.optional("imbalance", experts.imbalance, NumberRange{1, 1e6});
};

constexpr auto latent_members = [](auto& file, auto& latent) {
  file.optional("q_rank", latent.q_rank, or_none(width_range));
  file.read("kv_rank", latent.kv_rank, width_range);
  file.read("nope_dim", latent.nope_dim, width_range);
  file.read("rope_dim", latent.rope_dim, width_range);
  file.read("value_dim", latent.value_dim, width_range);
};

constexpr auto sparse_members = [](auto& file, auto& sparse) {
  file.read("top_k", sparse.top_k, sequence_range);
  file.read("heads", sparse.heads, head_range);
  file.read("head_dim", sparse.head_dim, width_range);
  file.unless(std::int64_t{1}, "block", sparse.block, sequence_range);
  file.rare("pooled", sparse.pooled, or_none(sequence_range));
};

constexpr auto window_members = [](auto& file, auto& window) {
  file.read("positions", window.positions, sequence_range);
  file.optional("pattern", window.pattern);
  file.optional("chunks", window.chunks);
};

constexpr auto compressed_members = [](auto& file, auto& compressed) {
  file.read("q_rank", compressed.q_rank, width_range);
  file.read("o_rank", compressed.o_rank, width_range);
  file.read("o_groups", compressed.o_groups, head_range);
  file.read("window", compressed.window, sequence_range);
  file.rare("top_k", compressed.top_k, or_none(sequence_range));
  file.rare("index_heads", compressed.index_heads, or_none(head_range));
  file.rare("index_dim", compressed.index_dim, or_none(width_range));
};

constexpr auto read_own_mixer = [](JsonObject& file, Mixer& mixer) {
  if (auto object = file.optional_object("mixer")) mixer = read_mixer(*object);
};
constexpr auto write_own_mixer = [](RowWriter& json, const Mixer& mixer) {
  if (mixer) write_mixer(json, mixer);
};

constexpr auto shape_members = [](auto& file, auto& shape) {
  file.read("name", shape.name);
  file.rare("heads", shape.heads, head_range);
  file.rare("kv_heads", shape.kv_heads, head_range);
  file.rare("head_dim", shape.head_dim, width_range);
  file.rare("value_dim", shape.value_dim, width_range);
  file.rare("ffn_hidden", shape.ffn_hidden, width_range);
  file.rare("key_is_value", shape.key_is_value);
  file.rare("no_sinks", shape.no_sinks);
  file.rare("qk_norm", shape.qk_norm);
  file.rare("sublayer_gates", shape.sublayer_gates);
  file.rare("bare_attention", shape.bare_attention);
  file.rare("gate_cutoff", shape.gate_cutoff);
  file.rare("ratio", shape.ratio, or_none(sequence_range));
  file.rare("picks", shape.picks);
  file.rare("hashed_experts", shape.hashed_experts);
  file.rare("all_keys", shape.all_keys);
  file.rare("joint", shape.joint);
  file.rare("ends", shape.ends);
  file.rare("second", shape.second);
  file.rare("alone", shape.alone);
  file.rare("parallel", shape.parallel);
  file.rare("keys_of", shape.keys_of);
  file.reading(read_own_mixer, shape.mixer);
  file.writing(write_own_mixer, shape.mixer);
};

constexpr auto read_shapes = [](JsonObject& file, std::vector<LayerShape>& shapes) {
  for (const JsonObject& object : file.optional_objects("shapes")) {
    RowReader row(object);
    LayerShape& shape = shapes.emplace_back();
    shape_members(row, shape);
    row.require(is_row_id(shape.name), "name", fmt::format("'{:.40}' is no name of a shape", shape.name),
        "lower-case letters, digits and hyphens");
  }
};
constexpr auto write_shapes = [](RowWriter& json, const std::vector<LayerShape>& shapes) {
  if (!shapes.empty()) json.list("shapes", shapes, [&](const LayerShape& shape) { shape_members(json, shape); });
};

/// "ME", or "ME:wide" with a shape of that name.
std::optional<LayerKind> kind_of_word(const std::string& word, const std::vector<LayerShape>& shapes) {
  const std::size_t colon = word.find(':');
  auto kind = layer_of_word(word.substr(0, colon));
  if (!kind || colon == std::string::npos) return kind;
  const auto shape = std::ranges::find(shapes, word.substr(colon + 1), &LayerShape::name);
  if (shape == shapes.end()) return std::nullopt;
  kind->shape = static_cast<std::uint8_t>(shape - shapes.begin() + 1);
  return kind;
}

/// "ME ME ME *E": a word per layer.
void read_words(
    JsonObject& file, const char* key, std::vector<LayerKind>& kinds, const std::vector<LayerShape>& shapes) {
  std::string text;
  file.optional(key, text);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto kind = kind_of_word(word, shapes);
    file.require(kind.has_value(), key, fmt::format("'{:.40}' is no layer", word),
        "M mixer, * attention, w attention in the window, d attention over keys picked before, x attention over "
        "the encoder, - MLP, E experts, in this order: \"ME ME ME *E\"; behind a colon one of shapes: \"*-:wide\"");
    if (kind) kinds.push_back(*kind);
  }
}
constexpr auto read_pattern = [](JsonObject& file, NetworkSpec& spec) {
  read_words(file, "pattern", spec.pattern, spec.shapes);
};
constexpr auto read_mtp_pattern = [](JsonObject& file, NetworkSpec& spec) {
  read_words(file, "mtp_pattern", spec.mtp_pattern, spec.shapes);
};

void write_words(RowWriter& json, const char* key, const NetworkSpec& spec, const std::vector<LayerKind>& kinds) {
  std::string text;
  for (const LayerKind& kind : kinds) text += (text.empty() ? "" : " ") + layer_word(spec, kind);
  json.unless(std::string(), key, text);
}

constexpr auto write_own_pattern = [](RowWriter& json, const NetworkSpec& spec) {
  write_words(json, "pattern", spec, spec.pattern);
};

/// Layers that have no attention need no heads.
void read_heads(JsonObject& file, NetworkSpec& spec) {
  has_attention(spec) ? file.read("heads", spec.heads, head_range) : file.optional("heads", spec.heads, head_range);
}

/// A network whose layers are all routed has no plain MLP, and need not give its width.
void read_ffn_hidden(JsonObject& file, NetworkSpec& spec) {
  has_plain_mlp(spec) ? file.read("ffn_hidden", spec.ffn_hidden, width_range)
                      : file.optional("ffn_hidden", spec.ffn_hidden, width_range);
}

/// The exact count as an integer, or as a text with the decimals that the source prints: "529.6" billion.
void check_published(JsonObject& file, const NetworkSpec& spec) {
  const std::string& text = spec.published_parameters_billion;
  const bool decimal = text.find_first_not_of("0123456789.") == std::string::npos && text.size() <= 12;
  file.require(decimal, "published_parameters_billion", fmt::format("'{:.40}' is no decimal number", text),
      "the digits that the source prints, like \"529.6\"");
}

constexpr auto modulation_members = [](auto& file, auto& modulation) {
  file.read("frequencies", modulation.frequencies, width_range);
  file.rare("classes", modulation.classes, or_none(vocab_range));
  file.rare("pooled", modulation.pooled, or_none(width_range));
  file.rare("guidance", modulation.guidance);
  file.rare("shared", modulation.shared);
  file.rare("common", modulation.common);
  file.rare("no_bias", modulation.no_bias);
  file.rare("gains", modulation.gains);
  file.rare("width", modulation.width, or_none(width_range));
  file.rare("inner", modulation.inner, or_none(width_range));
  file.rare("approximator_layers", modulation.approximator_layers, or_none(layer_range));
  file.rare("approximator_width", modulation.approximator_width, or_none(width_range));
  file.rare("gates", modulation.gates);
};

constexpr auto input_members = [](auto& file, auto& inputs) {
  file.read("width", inputs.width, width_range);
  file.read("words", inputs.words, vocab_range);
};

/// "layernorm, merge 4, matrix 5120 bias gelu, matrix 3584 bias".
constexpr auto read_projectors = [](JsonObject& file, std::vector<Projector>& projectors) {
  std::vector<std::string> texts;
  file.optional("projectors", texts);
  for (const std::string& text : texts) {
    Projector& steps = projectors.emplace_back();
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(", ", begin), text.size());
      const auto step = projector_step(std::string_view(text).substr(begin, end - begin));
      file.require(step.has_value(), "projectors",
          fmt::format("'{:.40}' is no step of a projector", text.substr(begin, end - begin)),
          "rmsnorm, layernorm [gelu], merge 4, mean 16, layer 9, beside 9, gated 4096, matrix 3584 [bias] [gelu], a "
          "comma and a "
          "blank between them");
      if (step) steps.push_back(*step);
      begin = end + 2;
    }
  }
};
constexpr auto write_projectors = [](RowWriter& json, const std::vector<Projector>& projectors) {
  std::vector<std::string> texts;
  for (const Projector& steps : projectors) {
    std::string& text = texts.emplace_back();
    for (const ProjectorStep& step : steps) text += (text.empty() ? "" : ", ") + projector_word(step);
  }
  json.unless(std::vector<std::string>(), "projectors", texts);
};

/// What layers are like, of a network and of its encoder.
constexpr auto layer_members = [](auto& file, auto& spec) {
  file.part("window", spec.window.positions > 0, spec.window, window_members);
  file.choice("norm", spec.norm, norm_names);
  file.rare_choice("norm_place", spec.norm_place, place_names);
  file.choice("activation", spec.activation, activation_names);
  file.choice("positions", spec.positions, position_names);
  file.rare("intake_bias", spec.intake_bias);
  file.rare("max_positions", spec.max_positions, sequence_range);
  file.rare("dense_positions", spec.dense_positions, sequence_range);
  file.rare("distances", spec.distances, or_none(width_range));
  file.optional("linear_bias", spec.linear_bias);
  file.optional("qkv_bias", spec.qkv_bias);
  file.optional("out_bias", spec.out_bias);
  file.rare("mlp_bias", spec.mlp_bias);
  file.rare("sublayer_scales", spec.sublayer_scales);
  file.rare("no_key_bias", spec.no_key_bias);
  file.optional("qk_norm", spec.qk_norm);
  file.rare("qk_norm_width", spec.qk_norm_width);
  file.rare("qk_norm_rms", spec.qk_norm_rms);
  file.rare("qk_norm_heads", spec.qk_norm_heads);
  file.rare("value_norm", spec.value_norm);
  file.optional("tied_embeddings", spec.tied_embeddings);
  file.optional("embedding_norm", spec.embedding_norm);
  file.optional("dropout", spec.dropout);
  file.rare("no_attention_dropout", spec.no_attention_dropout);
  file.rare("no_hidden_dropout", spec.no_hidden_dropout);
};

/// An encoder: layers of one kind, read from words or from numbers at each position; or no layers, and these alone.
constexpr auto encoder_members = [](auto& file, auto& spec) {
  file.read("layers", spec.layers, or_none(layer_range));
  file.read("hidden", spec.hidden, width_range);
  file.rare("ffn_hidden", spec.ffn_hidden, width_range);
  file.rare("heads", spec.heads, head_range);
  file.rare("kv_heads", spec.kv_heads, head_range);
  file.rare("head_dim", spec.head_dim, width_range);
  file.rare("vocab", spec.vocab, or_none(vocab_range));
  file.rare("features", spec.features, or_none(width_range));
  file.rare_choice("intake", spec.intake, intake_names);
  file.rare("planes", spec.planes, or_none(IntegerRange{0, 100'000}));
  file.rare("no_intake_bias", spec.no_intake_bias);
  file.rare("position_gates", spec.position_gates, IntegerRange{0, 1000});
  file.rare("class_token", spec.class_token);
  file.rare("joins", spec.joins);
  file.rare("no_last_norm", spec.no_last_norm);
  file.part("modulation", spec.modulation.frequencies > 0, spec.modulation, modulation_members);
  file.rare("sound", spec.sound);
  file.reading(read_projectors, spec.projectors);
  file.writing(write_projectors, spec.projectors);
  file.rare("images", spec.images, or_none(IntegerRange{0, 1'000'000}));
  file.rare("frozen", spec.frozen);
  file.rare("frozen_projectors", spec.frozen_projectors);
  file.rare("sequence", spec.sequence, or_none(sequence_range));
  layer_members(file, spec);
  file.reading(read_shapes, spec.shapes);
  file.reading(read_pattern, spec);
  file.writing(write_shapes, spec.shapes);
  file.writing(write_own_pattern, spec);
};

/// It is of the network's kind where it does not say otherwise: two-sided, and nothing else of it is the network's.
constexpr auto read_encoder = [](JsonObject& file, std::vector<NetworkSpec>& encoders) {
  auto object = file.optional_object("encoder");
  if (!object) return;
  RowReader row(*object);
  NetworkSpec& spec = encoders.emplace_back();
  spec.causal = false;
  encoder_members(row, spec);
};
constexpr auto write_encoder = [](RowWriter& json, const std::vector<NetworkSpec>& encoders) {
  for (const NetworkSpec& spec : encoders) json.part("encoder", true, spec, encoder_members);
};

constexpr auto network_members = [](auto& file, auto& spec) {
  file.head(spec);
  file.rare("family", spec.family);
  file.read("layers", spec.layers, layer_range);
  file.read("hidden", spec.hidden, width_range);
  file.writing([](RowWriter& json, std::int64_t width) { json.field("ffn_hidden", width); }, spec.ffn_hidden);
  file.reading(read_own_mixer, spec.mixer);
  file.reading(read_shapes, spec.shapes);
  file.reading(read_pattern, spec);
  file.reading(read_heads, spec);
  file.writing([](RowWriter& json, std::int64_t heads) { json.field("heads", heads); }, spec.heads);
  file.optional("kv_heads", spec.kv_heads, head_range);
  file.optional("head_dim", spec.head_dim, width_range);
  file.rare("value_dim", spec.value_dim, or_none(width_range));
  file.rare("features", spec.features, or_none(width_range));
  file.rare_choice("intake", spec.intake, intake_names);
  file.rare("class_token", spec.class_token);
  file.rare("classes", spec.classes, or_none(vocab_range));
  file.rare("outputs", spec.outputs, or_none(width_range));
  file.part("modulation", spec.modulation.frequencies > 0, spec.modulation, modulation_members);
  file.rare("vocab", spec.vocab, vocab_range);
  file.rare("sequence", spec.sequence, sequence_range);
  file.reading(read_encoder, spec.encoders);
  file.writing(write_encoder, spec.encoders);
  file.part("experts", spec.experts.count > 0, spec.experts, expert_members);
  file.reading(read_ffn_hidden, spec);
  file.part("latent_attention", spec.latent.kv_rank > 0, spec.latent, latent_members);
  file.part("compressed_attention", spec.compressed.q_rank > 0, spec.compressed, compressed_members);
  file.unless(std::int64_t{1}, "streams", spec.streams, IntegerRange{1, 64});
  file.rare("predicted_streams", spec.predicted_streams, IntegerRange{2, 8});
  file.rare("side_rank", spec.side_rank, width_range);
  file.rare("gate_cutoff", spec.gate_cutoff);
  file.rare("query_rank", spec.query_rank, width_range);
  file.rare("bare_crossing", spec.bare_crossing);
  file.part("sparse_attention", spec.sparse.top_k > 0, spec.sparse, sparse_members);
  file.writing(write_own_mixer, spec.mixer);
  file.writing(write_shapes, spec.shapes);
  file.writing(write_own_pattern, spec);
  file.part("layer_inputs", spec.layer_inputs.width > 0, spec.layer_inputs, input_members);
  file.rare("mtp_layers", spec.mtp_layers, or_none(layer_range));
  file.reading(read_mtp_pattern, spec);
  file.writing([](RowWriter& json, const auto& row) { write_words(json, "mtp_pattern", row, row.mtp_pattern); }, spec);
  layer_members(file, spec);
  file.unless(true, "causal", spec.causal);
  file.rare("frozen", spec.frozen);
  file.rare("key_is_value", spec.key_is_value);
  file.rare("layer_scale", spec.layer_scale);
  file.rare("attention_gate", spec.attention_gate);
  file.rare("head_gate", spec.head_gate);
  file.rare("attention_sinks", spec.attention_sinks);
  file.rare("logit_softcap", spec.logit_softcap);
  file.rare("head_bias", spec.head_bias);
  file.rare("masked_loss", spec.masked_loss);
  file.rare("masked_share", spec.masked_share, NumberRange{0, 1});
  file.rare("pooled_outputs", spec.pooled_outputs, or_none(width_range));
  file.rare("token_types", spec.token_types, or_none(width_range));
  file.rare("embedded_only", spec.embedded_only, or_none(vocab_range));
  file.rare("activation_parameters", spec.activation_parameters, IntegerRange{0, 1000});
  file.optional("parallel_block", spec.parallel_block);
  file.optional("norms_per_layer", spec.norms_per_layer, IntegerRange{1, 2});
  file.rare("published_parameters", spec.published_parameters, IntegerRange{1, std::int64_t{1} << 60});
  file.rare("published_parameters_billion", spec.published_parameters_billion);
  file.reading(check_published, spec);
};

}  // namespace

Expected<NetworkSpec> read_network(const std::string& text, const std::string& where) {
  RowReader file(text, where);
  NetworkSpec spec;
  network_members(file, spec);
  TRY(auto read, file.finish(std::move(spec)));
  return complete_network(std::move(read), where);
}

std::string write_network(const NetworkSpec& spec) { return row_json(spec, network_members); }

}  // namespace stepcast
