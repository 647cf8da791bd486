// Encoders and decoders of words with LayerNorms and biases, and such decoders alone: src/transformers/models/{bart,
// mbart,m2m_100,blenderbot,marian,xglm,biogpt} of transformers.
#include "model/network/hf/counting.h"
#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

/// Where positions have a table of weights: so many rows of it are no position's.
constexpr Count no_table = -1;

void decoder_sizes(HfReader& r, Count unused) {
  NetworkSpec& n = r.spec;
  n.vocab = r.size("vocab_size");
  n.norm = Norm::layernorm;
  n.linear_bias = true;
  n.sequence = r.size("max_position_embeddings");
  n.positions = unused == no_table ? Positions::none : Positions::learned;
  n.max_positions = unused == no_table ? 0 : n.sequence + unused;
  n.tied_embeddings = r.tied_or(true);
}

void encoder_and_decoder(HfReader& r, Count unused, bool embedding_norm) {
  NetworkSpec& n = r.spec;
  n.hidden = r.size("d_model");
  decoder_sizes(r, unused);
  r.activation("activation_function", "gelu", false);
  r.dropout({"dropout", "attention_dropout", "activation_dropout"}, 0);
  n.embedding_norm = embedding_norm;
  NetworkSpec& encoder = n.encoders.emplace_back(n);
  encoder.layers = r.size("encoder_layers");
  encoder.heads = encoder.kv_heads = r.size("encoder_attention_heads");
  encoder.ffn_hidden = r.size("encoder_ffn_dim");
  encoder.causal = false;
  encoder.tied_embeddings = true;
  n.layers = r.size("decoder_layers");
  n.heads = n.kv_heads = r.size("decoder_attention_heads");
  n.ffn_hidden = r.size("decoder_ffn_dim");
  n.pattern = {*layer_of_word("*x-")};
}

/// Norms behind the residual's sum on both sides, none behind the layers.
void norms_behind(HfReader& r, Count unused, bool embedding_norm, const char* missing) {
  NetworkSpec& n = r.spec;
  n.hidden = r.size("d_model");
  decoder_sizes(r, unused);
  r.text_or("activation_function", "gelu");
  const Count h = n.hidden, encoders = r.size("encoder_layers"), ffn = r.size("encoder_ffn_dim");
  n.layers = r.size("decoder_layers");
  n.ffn_hidden = r.size("decoder_ffn_dim");
  n.heads = n.kv_heads = r.size("decoder_attention_heads");
  r.size("encoder_attention_heads");
  const Count tables =
      n.vocab * h * (n.tied_embeddings ? 1 : 2) + 2 * (n.max_positions * h + (embedding_norm ? layernorm(h) : 0));
  r.counted = {{"language", tables + encoders * encoder_layer(h, ffn) +
                                n.layers * (encoder_layer(h, n.ffn_hidden) + attention_weights(h) + layernorm(h))}};
  r.layers = {{"two-sided attention, MLP", encoders}, {"attention, attention over the encoder, MLP", n.layers}};
  r.lacks(missing);
}

}  // namespace

/// Positions are learned from the third row on.
void bart(HfReader& r) { norms_behind(r, 2, true, "an encoder without a last norm (BART)"); }

/// Marian: positions turn without weights.
void marian(HfReader& r) { norms_behind(r, no_table, false, "an encoder without a last norm (Marian)"); }

/// BART with norms before sublayers and behind the layers.
void mbart(HfReader& r) { encoder_and_decoder(r, 2, true); }
void m2m100(HfReader& r) { encoder_and_decoder(r, no_table, false); }
void blenderbot(HfReader& r) { encoder_and_decoder(r, 0, false); }

/// A decoder alone.
void xglm(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_layers");
  n.hidden = r.size("d_model");
  n.heads = n.kv_heads = r.size("attention_heads");
  n.ffn_hidden = r.size("ffn_dim");
  decoder_sizes(r, no_table);
  r.activation("activation_function", "gelu", false);
  r.dropout({"dropout", "attention_dropout", "activation_dropout"}, 0);
}
void biogpt(HfReader& r) {
  NetworkSpec& n = r.spec;
  stream_sizes(r);
  n.kv_heads = n.heads;
  n.ffn_hidden = r.size("intermediate_size");
  decoder_sizes(r, 2);
  r.activation("hidden_act", "gelu", false);
  r.dropout({"hidden_dropout_prob", "attention_probs_dropout_prob"}, 0.1);
}

}  // namespace stepcast::detail
