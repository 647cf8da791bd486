// Which sublayers each layer of a network has.
#include <algorithm>

#include "model/network/network.h"

namespace stepcast {

std::int64_t LayerKinds::count(std::size_t kind) const {
  return std::ranges::count(of_layer, static_cast<std::uint8_t>(kind));
}

LayerKinds layer_kinds(const NetworkSpec& spec, std::int64_t positions) {
  LayerKinds all;
  std::vector<LayerKind> met;
  all.of_layer.reserve(static_cast<std::size_t>(spec.layers));
  std::size_t last = 0;  // into `met`: most layers are of the kind of the one before
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    const LayerKind kind = layer_kind(spec, layer, positions);
    if (met.empty() || met[last] != kind) last = static_cast<std::size_t>(std::ranges::find(met, kind) - met.begin());
    if (last == met.size()) met.push_back(kind);
    all.of_layer.push_back(static_cast<std::uint8_t>(last));
  }
  all.kinds = met;
  std::ranges::sort(all.kinds);  // plain ones first
  std::vector<std::uint8_t> sorted;
  for (const LayerKind& kind : met)
    sorted.push_back(static_cast<std::uint8_t>(std::ranges::find(all.kinds, kind) - all.kinds.begin()));
  for (std::uint8_t& kind : all.of_layer) kind = sorted[kind];
  return all;
}

std::int64_t windowed_layers(const NetworkSpec& spec, std::int64_t positions) {
  std::int64_t count = 0;
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) count += is_windowed_layer(spec, layer, positions) ? 1 : 0;
  return count;
}

std::vector<LayerKind> prediction_layers(const NetworkSpec& spec) {
  if (!spec.mtp_pattern.empty()) return spec.mtp_pattern;
  return {{spec.experts.count > 0 ? Feed::experts : Feed::mlp, false, false, true}};
}

bool has_attention(const NetworkSpec& spec) {
  return spec.pattern.empty() || std::ranges::any_of(spec.pattern, &LayerKind::attention);
}

bool has_plain_mlp(const NetworkSpec& spec) {
  if (!spec.pattern.empty())
    return std::ranges::any_of(spec.pattern, [](const LayerKind& kind) { return kind.feed == Feed::mlp; });
  if (spec.experts.count == 0) return true;
  for (std::int64_t layer = 0; layer < spec.layers; ++layer)
    if (!is_expert_layer(spec, layer)) return true;
  return false;
}

bool looks_at_encoder(const NetworkSpec& spec) { return std::ranges::any_of(spec.pattern, &LayerKind::crosses); }

bool reads_beside_stream(const NetworkSpec& spec) {
  return looks_at_encoder(spec) || (!spec.encoders.empty() && spec.encoders.front().joins) ||
         spec.modulation.frequencies > 0 || spec.layer_inputs.width > 0 ||
         std::ranges::any_of(spec.shapes, [](const LayerShape& shape) { return !shape.keys_of.empty(); });
}

std::vector<Mixer> mixers(const NetworkSpec& spec) {
  std::vector<Mixer> all;
  if (spec.mixer) all.push_back(spec.mixer);
  for (const LayerShape& shape : spec.shapes)
    if (shape.mixer) all.push_back(shape.mixer);
  return all;
}

std::string layer_word(const LayerKind& kind) {
  std::string word = kind.mixer ? "M" : "";
  if (kind.attention) word += kind.windowed ? "w" : kind.picked ? "d" : "*";
  if (kind.crosses) word += "x";
  if (kind.feed != Feed::none) word += kind.feed == Feed::experts ? "E" : "-";
  return word;
}

std::string layer_word(const NetworkSpec& spec, const LayerKind& kind) {
  return kind.shape == 0 ? layer_word(kind) : layer_word(kind) + ":" + spec.shapes[kind.shape - 1U].name;
}

NetworkSpec shaped(const NetworkSpec& spec, std::uint8_t shape) {
  NetworkSpec own = spec;
  if (shape == 0) return own;
  const LayerShape& other = spec.shapes[shape - 1U];
  const auto take = [](std::int64_t& size, std::int64_t given) { size = given > 0 ? given : size; };
  take(own.heads, other.heads);
  take(own.kv_heads, other.kv_heads);
  take(own.head_dim, other.head_dim);
  take(own.value_dim, other.value_dim);
  take(own.ffn_hidden, other.ffn_hidden);
  own.key_is_value = own.key_is_value || other.key_is_value;
  own.qk_norm = own.qk_norm || other.qk_norm;
  own.sublayer_gates = own.sublayer_gates || other.sublayer_gates;
  own.borrowed_keys = own.borrowed_keys || !other.keys_of.empty();
  own.attention_sinks = own.attention_sinks && !other.no_sinks;
  own.gate_cutoff = own.gate_cutoff || other.gate_cutoff;
  if (other.all_keys) own.sparse = {};
  if (other.hashed_experts) own.experts.router_bias = false;
  if (other.mixer) own.mixer = other.mixer;
  if (other.parallel) own.parallel_block = own.joined_output = true, own.norms_per_layer = 1;
  return own;
}

std::optional<LayerKind> layer_of_word(std::string_view word) {
  LayerKind kind{Feed::none, false, false, false};
  for (const char letter : word) {
    if (letter == 'M') kind.mixer = true;
    else if (letter == '*' || letter == 'w' || letter == 'd')
      kind.attention = true, kind.windowed = letter == 'w', kind.picked = letter == 'd';
    else if (letter == 'x') kind.crosses = true;
    else if (letter == '-') kind.feed = Feed::mlp;
    else if (letter == 'E') kind.feed = Feed::experts;
  }
  if (word.empty() || layer_word(kind) != word) return std::nullopt;  // unknown letters, twice, or out of order
  return kind;
}

}  // namespace stepcast
