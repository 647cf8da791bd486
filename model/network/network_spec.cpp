#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "model/base/json_writer.h"
#include "model/network/network.h"
#include "model/network/network_rules.h"
#include "model/base/row_text.h"

namespace stepcast {
namespace {

constexpr Choice<Norm> norm_names[] = {{"rmsnorm", Norm::rmsnorm}, {"layernorm", Norm::layernorm}};
constexpr Choice<Activation> activation_names[] = {{"swiglu", Activation::swiglu}, {"geglu", Activation::geglu},
    {"gelu", Activation::gelu}, {"relu", Activation::relu}, {"squared_relu", Activation::squared_relu}};
constexpr Choice<Positions> position_names[] = {
    {"rope", Positions::rope}, {"learned", Positions::learned}, {"alibi", Positions::alibi}, {"none", Positions::none}};

// A hundred times the largest networks of today; beyond that a figure is a slip of the keyboard.
constexpr IntegerRange layer_range{1, 10'000}, width_range{1, 10'000'000}, head_range{1, 100'000},
    vocab_range{1, 100'000'000}, expert_range{1, 100'000}, sequence_range{1, std::int64_t{1} << 30};

constexpr IntegerRange or_none(IntegerRange range) { return {0, range.high}; }

void read_sizes(JsonObject& file, NetworkSpec& spec) {
  file.read("layers", spec.layers, layer_range);
  file.read("hidden", spec.hidden, width_range);
  file.read("heads", spec.heads, head_range);
  file.optional("kv_heads", spec.kv_heads, head_range);
  file.optional("head_dim", spec.head_dim, width_range);
  file.read("vocab", spec.vocab, vocab_range);
  file.read("sequence", spec.sequence, sequence_range);
  file.optional("max_positions", spec.max_positions, sequence_range);
}

/// In the order of the struct. Rules between the values are complete_network's.
void read_experts(JsonObject& file, Experts& experts) {
  auto object = file.optional_object("experts");
  if (!object) return;
  object->read("count", experts.count, expert_range);
  object->read("top_k", experts.top_k, expert_range);
  object->read("ffn_hidden", experts.ffn_hidden, width_range);
  object->optional("shared_ffn_hidden", experts.shared_ffn_hidden, or_none(width_range));
  object->optional("shared_gate", experts.shared_gate);
  object->optional("router_bias", experts.router_bias);
  object->optional("expert_bias", experts.expert_bias);
  object->optional("dense_layers", experts.dense_layers, or_none(layer_range));
  object->optional("every", experts.every, layer_range);
  object->optional("capacity_factor", experts.capacity_factor, NumberRange{0, 1e6});
  object->optional("imbalance", experts.imbalance, NumberRange{1, 1e6});
}

void read_latent(JsonObject& file, LatentAttention& latent) {
  auto object = file.optional_object("latent_attention");
  if (!object) return;
  object->optional("q_rank", latent.q_rank, or_none(width_range));
  object->read("kv_rank", latent.kv_rank, width_range);
  object->read("nope_dim", latent.nope_dim, width_range);
  object->read("rope_dim", latent.rope_dim, width_range);
  object->read("value_dim", latent.value_dim, width_range);
}

/// A network whose layers are all routed has no plain MLP, and need not give its width.
void read_mlp(JsonObject& file, NetworkSpec& spec) {
  read_experts(file, spec.experts);
  const bool plain = spec.experts.count == 0 || spec.experts.dense_layers > 0 || spec.experts.every > 1;
  plain ? file.read("ffn_hidden", spec.ffn_hidden, width_range)
        : file.optional("ffn_hidden", spec.ffn_hidden, width_range);
  file.optional("mtp_layers", spec.mtp_layers, or_none(layer_range));
}

void read_forms(JsonObject& file, NetworkSpec& spec) {
  file.choice("norm", spec.norm, norm_names);
  file.choice("activation", spec.activation, activation_names);
  file.choice("positions", spec.positions, position_names);
  file.optional("linear_bias", spec.linear_bias);
  file.optional("qkv_bias", spec.qkv_bias);
  file.optional("out_bias", spec.out_bias);
  file.optional("qk_norm", spec.qk_norm);
  file.optional("parallel_block", spec.parallel_block);
  file.optional("norms_per_layer", spec.norms_per_layer, IntegerRange{1, 2});
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

}  // namespace

Expected<NetworkSpec> read_network(const std::string& text, const std::string& where) {
  JsonObject file(text, where);
  NetworkSpec spec;
  read_row_head(file, spec);
  read_sizes(file, spec);
  read_mlp(file, spec);
  read_latent(file, spec.latent);
  read_forms(file, spec);
  read_published(file, spec);
  TRY(auto read, file.finish(std::move(spec)));
  return complete_network(std::move(read), where);
}

namespace {

void write_experts(JsonWriter& json, const Experts& experts) {
  if (experts.count == 0) return;
  json.object("experts", "count", experts.count, "top_k", experts.top_k, "ffn_hidden", experts.ffn_hidden,
      "shared_ffn_hidden", experts.shared_ffn_hidden, "shared_gate", experts.shared_gate, "router_bias",
      experts.router_bias, "expert_bias", experts.expert_bias, "dense_layers", experts.dense_layers, "every",
      experts.every, "capacity_factor", experts.capacity_factor, "imbalance", experts.imbalance);
}

void write_latent(JsonWriter& json, const LatentAttention& latent) {
  if (latent.kv_rank == 0) return;
  json.object("latent_attention", "q_rank", latent.q_rank, "kv_rank", latent.kv_rank, "nope_dim", latent.nope_dim,
      "rope_dim", latent.rope_dim, "value_dim", latent.value_dim);
}

}  // namespace

std::string write_network(const NetworkSpec& spec) {
  JsonWriter json;
  json.open();
  write_row_head(json, spec);
  json.fields("layers", spec.layers, "hidden", spec.hidden, "ffn_hidden", spec.ffn_hidden, "heads", spec.heads);
  json.fields("kv_heads", spec.kv_heads, "head_dim", spec.head_dim, "vocab", spec.vocab, "sequence", spec.sequence);
  if (spec.max_positions > 0) json.field("max_positions", spec.max_positions);
  write_experts(json, spec.experts);
  write_latent(json, spec.latent);
  if (spec.mtp_layers > 0) json.field("mtp_layers", spec.mtp_layers);
  json.field("norm", name_of<Norm>(norm_names, spec.norm));
  json.field("activation", name_of<Activation>(activation_names, spec.activation));
  json.fields("positions", name_of<Positions>(position_names, spec.positions), "linear_bias", spec.linear_bias);
  json.fields("qkv_bias", spec.qkv_bias, "out_bias", spec.out_bias, "qk_norm", spec.qk_norm);
  json.fields("parallel_block", spec.parallel_block, "norms_per_layer", spec.norms_per_layer);
  json.fields("tied_embeddings", spec.tied_embeddings, "embedding_norm", spec.embedding_norm, "dropout", spec.dropout);
  if (spec.published_parameters > 0) json.field("published_parameters", spec.published_parameters);
  if (!spec.published_parameters_billion.empty())
    json.field("published_parameters_billion", spec.published_parameters_billion);
  json.close();
  return json.text();
}

}  // namespace stepcast
