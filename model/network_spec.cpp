#include <fmt/format.h>

#include "model/json_reader.h"
#include "model/json_writer.h"
#include "model/network.h"
#include "model/row_text.h"

namespace stepcast {
namespace {

constexpr Choice<Norm> norm_names[] = {{"rmsnorm", Norm::rmsnorm}, {"layernorm", Norm::layernorm}};
constexpr Choice<Activation> activation_names[] = {{"swiglu", Activation::swiglu},
                                                   {"geglu", Activation::geglu},
                                                   {"gelu", Activation::gelu},
                                                   {"relu", Activation::relu},
                                                   {"squared_relu", Activation::squared_relu}};
constexpr Choice<Positions> position_names[] = {{"rope", Positions::rope},
                                                {"learned", Positions::learned},
                                                {"alibi", Positions::alibi},
                                                {"none", Positions::none}};

// A hundred times the largest networks of today; beyond that a figure is a slip of the keyboard.
constexpr IntegerRange layer_range{1, 10'000}, width_range{1, 10'000'000}, head_range{1, 100'000},
    vocab_range{1, 100'000'000}, sequence_range{1, std::int64_t{1} << 30};

void read_sizes(JsonObject& file, NetworkSpec& spec) {
  file.read("layers", spec.layers, layer_range);
  file.read("hidden", spec.hidden, width_range);
  file.read("ffn_hidden", spec.ffn_hidden, width_range);
  file.read("heads", spec.heads, head_range);
  spec.kv_heads = spec.heads;
  file.optional("kv_heads", spec.kv_heads, head_range);
  file.optional("head_dim", spec.head_dim, width_range);
  file.read("vocab", spec.vocab, vocab_range);
  file.read("sequence", spec.sequence, sequence_range);
  file.optional("max_positions", spec.max_positions, sequence_range);
}

void read_forms(JsonObject& file, NetworkSpec& spec) {
  file.choice("norm", spec.norm, norm_names);
  file.choice("activation", spec.activation, activation_names);
  file.choice("positions", spec.positions, position_names);
  file.optional("linear_bias", spec.linear_bias);
  file.optional("qkv_bias", spec.qkv_bias);
  file.optional("tied_embeddings", spec.tied_embeddings);
  file.optional("embedding_norm", spec.embedding_norm);
  file.optional("dropout", spec.dropout);
}

/// The exact count as an integer, or as a text with the decimals that the source prints: "529.6" billion.
void read_published(JsonObject& file, NetworkSpec& spec) {
  file.optional("published_parameters", spec.published_parameters, IntegerRange{1, std::int64_t{1} << 60});
  file.optional("published_parameters_billion", spec.published_parameters_billion);
  const std::string& text = spec.published_parameters_billion;
  const bool decimal = text.find_first_not_of("0123456789.") == std::string::npos && text.size() <= 12;
  file.require(decimal, "published_parameters_billion", fmt::format("'{:.40}' is no decimal number", text),
               "the digits that the source prints, like \"529.6\"");
}

std::string divisors_of(std::int64_t n) {
  std::string list;
  for (std::int64_t d = 1; d <= n && list.size() < 80; ++d)
    if (n % d == 0) list += fmt::format("{}{}", list.empty() ? "" : ", ", d);
  return list;
}

void derive_head_dim(JsonObject& file, NetworkSpec& spec) {
  if (spec.head_dim != 0 || file.failed() || spec.heads == 0) return;
  file.require(spec.hidden % spec.heads == 0, "heads",
               fmt::format("{} heads do not divide hidden {}", spec.heads, spec.hidden),
               "give head_dim, or a divisor of hidden");
  spec.head_dim = spec.hidden / spec.heads;
}

void check_rules(JsonObject& file, const NetworkSpec& spec) {
  if (file.failed() || spec.heads == 0 || spec.kv_heads == 0) return;
  file.require(spec.heads % spec.kv_heads == 0, "kv_heads",
               fmt::format("{} key-value heads do not divide {} heads", spec.kv_heads, spec.heads),
               fmt::format("one of: {}", divisors_of(spec.heads)));
  file.require(spec.positions != Positions::rope || spec.head_dim % 2 == 0, "head_dim",
               fmt::format("rotary positions turn pairs, and head_dim {} is odd", spec.head_dim), "an even head_dim");
  const bool table = spec.positions == Positions::learned;
  file.require(!table || spec.max_positions >= spec.sequence, "max_positions",
               fmt::format("the learned position table has {} rows, the sequence {}", spec.max_positions, spec.sequence),
               "max_positions of at least sequence");
}

}  // namespace

Expected<NetworkSpec> read_network(const std::string& text, const std::string& where) {
  JsonObject file(text, where);
  NetworkSpec spec;
  read_row_head(file, spec);
  read_sizes(file, spec);
  read_forms(file, spec);
  read_published(file, spec);
  derive_head_dim(file, spec);
  check_rules(file, spec);
  return file.finish(std::move(spec));
}

std::string write_network(const NetworkSpec& spec) {
  JsonWriter json;
  json.open();
  write_row_head(json, spec);
  json.field("layers", spec.layers);
  json.field("hidden", spec.hidden);
  json.field("ffn_hidden", spec.ffn_hidden);
  json.field("heads", spec.heads);
  json.field("kv_heads", spec.kv_heads);
  json.field("head_dim", spec.head_dim);
  json.field("vocab", spec.vocab);
  json.field("sequence", spec.sequence);
  if (spec.max_positions > 0) json.field("max_positions", spec.max_positions);
  json.field("norm", name_of<Norm>(norm_names, spec.norm));
  json.field("activation", name_of<Activation>(activation_names, spec.activation));
  json.field("positions", name_of<Positions>(position_names, spec.positions));
  json.field("linear_bias", spec.linear_bias);
  json.field("qkv_bias", spec.qkv_bias);
  json.field("tied_embeddings", spec.tied_embeddings);
  json.field("embedding_norm", spec.embedding_norm);
  json.field("dropout", spec.dropout);
  if (spec.published_parameters > 0) json.field("published_parameters", spec.published_parameters);
  if (!spec.published_parameters_billion.empty())
    json.field("published_parameters_billion", spec.published_parameters_billion);
  json.close();
  return json.text();
}

}  // namespace stepcast
