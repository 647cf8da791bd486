// Encoders, alone and in front of decoders: src/transformers/models/<family> of transformers.
#include <algorithm>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

void masked_encoder(HfReader& r) {
  NetworkSpec& n = r.spec;
  stream_sizes(r);
  n.kv_heads = n.heads;
  n.ffn_hidden = r.size("intermediate_size");
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(true);
  n.causal = false;
  n.masked_loss = n.head_bias = n.embedding_norm = true;
  bool decodes = false;
  r.config.optional("is_decoder", decodes);
  r.config.require(!decodes, "is_decoder", "an encoder that decodes is not supported", "false");
}

}  // namespace

/// Norms behind the residual's sum, LayerNorm and biases everywhere.
void bert_masked(HfReader& r) {
  masked_encoder(r);
  NetworkSpec& n = r.spec;
  n.sequence = n.max_positions = r.size("max_position_embeddings");
  n.positions = Positions::learned;
  n.token_types = r.size_or("type_vocab_size", 2);
  n.norm = Norm::layernorm;
  n.norm_place = NormPlace::behind_sum;
  n.linear_bias = true;
  r.activation("hidden_act", "gelu", false);
  const std::string positions = r.text_or("position_embedding_type", "absolute");
  r.config.require(positions == "absolute", "position_embedding_type",
      fmt::format("positions '{:.20}' are none of our forms", positions), "absolute");
  r.dropout({"hidden_dropout_prob", "attention_probs_dropout_prob"}, 0.1);
}

/// RoBERTa: the first two rows of its table of positions are no token's (modeling_roberta.py).
void roberta_masked(HfReader& r) {
  bert_masked(r);
  constexpr std::int64_t unused = 2;
  r.spec.sequence = std::max(r.spec.max_positions - unused, unused);
}

/// RoFormer: turned positions in place of learned ones; its files keep the table of sines by which a head turns
/// (modeling_roformer.py).
void roformer(HfReader& r) {
  bert_masked(r);
  NetworkSpec& n = r.spec;
  n.positions = Positions::rope;
  n.max_positions = 0;
  const std::int64_t width = r.config.has("embedding_size") ? r.size("embedding_size") : n.hidden;
  r.config.require(
      width == n.hidden, "embedding_size", "words narrower than the stream are none of its forms", "as hidden_size");
  r.config.require(!r.flag_or("rotary_value", false), "rotary_value", "values do not turn in its class", "false");
  r.beside.push_back({"positions", n.sequence * (n.heads > 0 ? n.hidden / n.heads : 0)});
}

/// NVIDIA's BERT: norms before sublayers and behind the layers, none behind the embedding (modeling_megatron_bert.py).
void megatron_bert(HfReader& r) {
  bert_masked(r);
  r.spec.norm_place = NormPlace::before;
  r.spec.embedding_norm = false;
}

/// ESM-2: norms before sublayers and behind the layers, turned positions. What guesses contacts is counted beside.
void esm(HfReader& r) {
  masked_encoder(r);
  NetworkSpec& n = r.spec;
  n.embedding_norm = r.flag_or("emb_layer_norm_before", false);
  n.sequence = r.size("max_position_embeddings");
  n.norm = Norm::layernorm;
  n.linear_bias = true;
  r.activation("hidden_act", "gelu", false);
  const std::string positions = r.text_or("position_embedding_type", "absolute");
  r.config.require(positions == "rotary", "position_embedding_type",
      fmt::format("positions '{:.20}' are none of our forms", positions), "rotary");
  r.config.require(
      !r.flag_or("is_folding_model", false), "is_folding_model", "what folds proteins is not built here", "false");
  r.dropout({"hidden_dropout_prob", "attention_probs_dropout_prob"}, 0.1);
  r.beside.push_back({"contacts", n.layers * n.heads + 1});
}

/// BERT without kinds of sentences, under names of its own.
void distilbert_masked(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("n_layers");
  n.hidden = r.size("dim");
  n.heads = n.kv_heads = r.size("n_heads");
  n.ffn_hidden = r.size("hidden_dim");
  n.vocab = r.size("vocab_size");
  n.sequence = n.max_positions = r.size("max_position_embeddings");
  n.tied_embeddings = r.tied_or(true);
  n.causal = false;
  n.masked_loss = n.head_bias = n.embedding_norm = n.linear_bias = true;
  n.positions = Positions::learned;
  n.norm = Norm::layernorm;
  n.norm_place = NormPlace::behind_sum;
  r.activation("activation", "gelu", false);
  r.dropout({"dropout", "attention_dropout"}, 0.1);
}

/// BERT with its other loss: whether two sentences follow each other.
void bert_pretraining(HfReader& r) {
  bert_masked(r);
  r.spec.pooled_outputs = 2;
}

/// A band of positions in all but every n-th layer, gated MLPs, rotary positions; no biases but the logits'.
void modernbert(HfReader& r) {
  masked_encoder(r);
  NetworkSpec& n = r.spec;
  n.sequence = r.size_or("max_position_embeddings", 8192);
  n.norm = Norm::layernorm_scale;
  r.activation("hidden_activation", "gelu", true);
  for (const char* key : {"attention_bias", "mlp_bias", "norm_bias", "classifier_bias"}) {
    bool biased = false;
    r.config.optional(key, biased);
    r.config.require(!biased, key, "its layers are not known with biases", "false");
  }
  if (r.config.has("decoder_bias")) n.head_bias = r.flag_or("decoder_bias", true);
  constexpr std::int64_t most_layers = 10'000;
  if (n.layers > most_layers) return;  // refused by the rules of all networks
  for (const char* key : {"embedding_dropout", "mlp_dropout", "attention_dropout"}) r.dropout({key}, 0);
  const std::int64_t every = std::max<std::int64_t>(1, r.size_or("global_attn_every_n_layers", 3)),
                     band = r.size_or("local_attention", 128);
  n.window.positions = band / 2 + 1;  // half of them on either side, and the query's own
  n.shapes = {{.name = "first", .bare_attention = true}};
  for (std::int64_t layer = 0; layer < n.layers; ++layer) {
    LayerKind kind{Feed::mlp, layer % every != 0, false, true};
    kind.shape = layer == 0 ? 1 : 0;
    n.pattern.push_back(kind);
  }
  if (every == 1 || n.layers == 1) n.window = {};
}

/// Encoder and decoder of one shape, a table of relative positions each; no positions of a longest sequence.
void t5(HfReader& r) {
  NetworkSpec& n = r.spec;
  const std::int64_t layers = r.size("num_layers");
  n.layers = r.config.has("num_decoder_layers") ? r.size("num_decoder_layers") : layers;
  n.hidden = r.size("d_model");
  n.heads = n.kv_heads = r.size("num_heads");
  n.head_dim = r.size("d_kv");
  n.ffn_hidden = r.size("d_ff");
  n.vocab = r.size("vocab_size");
  n.positions = Positions::relative;
  n.distances = r.size_or("relative_attention_num_buckets", 32);
  const std::string feed = r.text_or("feed_forward_proj", "relu");
  const bool gated = feed == "gated-gelu" || feed == "gated-silu";
  r.config.require(gated || feed == "relu" || feed == "gelu", "feed_forward_proj",
      fmt::format("'{:.40}' is none of its MLPs", feed), "relu, gelu, gated-gelu or gated-silu");
  n.activation = feed == "gated-gelu"   ? Activation::geglu
                 : feed == "gated-silu" ? Activation::swiglu
                 : feed == "gelu"       ? Activation::gelu
                                        : Activation::relu;
  r.dropout({"dropout_rate"}, 0.1);
  n.sequence = r.length_or_none("n_positions");
  NetworkSpec& encoder = n.encoders.emplace_back(n);
  encoder.layers = layers;
  encoder.causal = false;
  n.pattern = {*layer_of_word("*x-")};
  n.tied_embeddings = r.tied_or(true);
  encoder.tied_embeddings = true;
}

/// Sound by two convolutions, an encoder over its frames, a decoder that looks at them. Keys have no bias.
void whisper(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.hidden = r.size("d_model");
  n.vocab = r.size("vocab_size");
  n.norm = Norm::layernorm;
  n.positions = Positions::learned;
  n.linear_bias = n.no_key_bias = true;
  r.activation("activation_function", "gelu", false);
  r.dropout({"dropout", "attention_dropout", "activation_dropout"}, 0);
  NetworkSpec& encoder = n.encoders.emplace_back(n);
  n.layers = r.size("decoder_layers");
  n.heads = n.kv_heads = r.size("decoder_attention_heads");
  n.ffn_hidden = r.size("decoder_ffn_dim");
  n.sequence = n.max_positions = r.size_or("max_target_positions", 448);
  n.tied_embeddings = r.tied_or(true);
  n.pattern = {*layer_of_word("*x-")};
  encoder.causal = false;
  encoder.vocab = 0;
  encoder.layers = r.size("encoder_layers");
  encoder.heads = encoder.kv_heads = r.size("encoder_attention_heads");
  encoder.ffn_hidden = r.size("encoder_ffn_dim");
  encoder.sequence = encoder.max_positions = r.size_or("max_source_positions", 1500);
  encoder.features = r.size_or("num_mel_bins", 80);
  encoder.intake = Intake::convolutions;
}

/// Llama 3.2 Vision: text layers, some of them over an image's features in place of text, with gates and normed heads.
void llama_vision(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  gated_mlp(r);
  constexpr std::int64_t image_tokens = 8;  // of the table of tokens alone
  n.embedded_only = image_tokens;
  std::vector<std::int64_t> cross;
  r.config.read("cross_attention_layers", cross, IntegerRange{0, 1 << 20});
  for (const std::int64_t layer : cross)
    r.config.require(layer < n.layers, "cross_attention_layers", fmt::format("layer {} of {}", layer, n.layers),
        "0, 1, ..., each once");
  constexpr std::int64_t most_layers = 10'000;
  if (!r.outer || r.config.failed() || n.layers > most_layers) return;
  n.shapes = {{.name = "image", .qk_norm = true, .sublayer_gates = true}};
  for (std::int64_t layer = 0; layer < n.layers; ++layer) {
    const bool crosses = contains(cross, layer);
    LayerKind kind{Feed::mlp, false, false, !crosses};
    kind.crosses = crosses;
    kind.shape = crosses ? 1 : 0;
    n.pattern.push_back(kind);
  }
  n.pattern = shortest(std::move(n.pattern));
}

}  // namespace stepcast::detail
