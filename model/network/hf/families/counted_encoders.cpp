// Encoders of words whose weights are counted: src/transformers/models/{t5,umt5,electra,deberta_v2,mpnet,albert} of
// transformers, modeling_hf_nomic_bert.py of nomic-ai's files.
#include <fmt/format.h>

#include "model/network/hf/counting.h"
#include "model/network/hf/families/families.h"

namespace stepcast::detail {

void sizes_or(HfReader& r, Count layers, Count hidden, Count ffn, Count heads) {
  NetworkSpec& n = r.spec;
  n.layers = r.size_or("num_hidden_layers", layers);
  n.hidden = r.size_or("hidden_size", hidden);
  n.ffn_hidden = r.size_or("intermediate_size", ffn);
  n.heads = n.kv_heads = r.size_or("num_attention_heads", heads);
}

void two_sided(HfReader& r, Count weights, const char* part, std::string missing) {
  r.counted = {{part, weights}};
  r.layers = {{"two-sided attention, MLP", r.spec.layers}};
  r.lacks(std::move(missing));
}

namespace {

/// A matrix and a norm in front of the logits, and their bias.
Count masked_head(Count hidden, Count width, Count vocab) { return linear(hidden, width) + layernorm(width) + vocab; }

Count deberta_layers(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_hidden_layers");
  const Count h = n.hidden = r.size("hidden_size");
  n.heads = n.kv_heads = r.size("num_attention_heads");
  n.ffn_hidden = r.size("intermediate_size");
  n.vocab = r.size("vocab_size");
  const Count width = r.config.has("embedding_size") ? r.size("embedding_size") : h;
  r.config.require(
      width == h, "embedding_size", fmt::format("embeddings of {} for a stream of {}", width, h), "hidden_size");
  const bool placed = r.flag_or("position_biased_input", true), relative = r.flag_or("relative_attention", false);
  const bool shared = r.flag_or("share_att_key", false);
  r.config.require(
      !relative || shared, "share_att_key", "its layers are not known with keys of positions of their own", "true");
  Count all = n.vocab * h + (placed ? r.size("max_position_embeddings") * h : 0) + r.size_or("type_vocab_size", 0) * h +
              layernorm(h) + n.layers * encoder_layer(h, n.ffn_hidden);
  if (!relative) return all;
  // a bucket stands for several distances; without buckets each has a row
  Count buckets = r.config.type_of("position_buckets") == "number" ? r.signed_size("position_buckets") : -1;
  const Count longest = r.config.has("max_relative_positions") ? r.signed_size("max_relative_positions") : -1;
  if (buckets <= 0) buckets = longest >= 1 ? longest : r.size("max_position_embeddings");
  all += 2 * buckets * h;
  if (r.text_or("norm_rel_ebd", "none").find("layer_norm") != std::string::npos) all += layernorm(h);
  const Count taps = r.config.has("conv_kernel_size") ? r.size_or("conv_kernel_size", 0) : 0;
  return all + (taps > 0 ? linear(taps * h, h) + layernorm(h) : 0);
}

}  // namespace

namespace {

/// T5's layers; in UMT5 each has a table of distances. Decoders look at the encoder.
void t5_layers(HfReader& r, bool decodes, bool tables_of_layers) {
  NetworkSpec& n = r.spec;
  const Count encoders = r.size("num_layers"),
              decoders = r.config.has("num_decoder_layers") ? r.size("num_decoder_layers") : encoders;
  n.layers = decodes ? decoders : encoders;
  const Count h = n.hidden = r.size("d_model");
  n.heads = n.kv_heads = r.size("num_heads");
  n.head_dim = r.size("d_kv");
  n.ffn_hidden = r.size("d_ff");
  n.vocab = r.size("vocab_size");
  const std::string feed = r.text_or("feed_forward_proj", "relu");
  const bool gated = feed.starts_with("gated-");
  r.config.require(gated || feed == "relu" || feed == "gelu", "feed_forward_proj",
      fmt::format("'{:.40}' is none of its MLPs", feed), "relu, gelu, gated-gelu or gated-silu");
  const bool tied = r.tied_or(true);
  const Count heads = 4 * h * n.heads * n.head_dim, feeds = (gated ? 3 : 2) * h * n.ffn_hidden;
  const Count distances = r.size_or("relative_attention_num_buckets", 32) * n.heads;
  const auto stack = [&](Count layers, Count attentions) {
    return layers * (attentions * (heads + h) + feeds + h) + (tables_of_layers ? layers : 1) * distances + h;
  };
  Count all = n.vocab * h + stack(encoders, 1);
  if (decodes) all += stack(decoders, 2) + (tied ? 0 : n.vocab * h);
  r.counted = {{"language", all}};
  r.layers = {{"two-sided attention, MLP", encoders}};
  if (decodes) r.layers.push_back({"attention, attention over the encoder, MLP", decoders});
}

}  // namespace

void t5_encoder(HfReader& r) {
  t5_layers(r, false, false);
  r.lacks("a loss (architectures: T5ForConditionalGeneration has one)");
}

void umt5(HfReader& r) {
  t5_layers(r, true, true);
  r.lacks("a table of distances for each layer (UMT5)");
}

void umt5_encoder(HfReader& r) {
  t5_layers(r, false, true);
  r.lacks("a table of distances for each layer (UMT5)");
}

/// BERT's layers that say which words were exchanged; words may be narrower than the stream.
void electra(HfReader& r) {
  sizes_or(r, 12, 256, 1024, 4);
  NetworkSpec& n = r.spec;
  n.vocab = r.size("vocab_size");
  const Count h = n.hidden, width = r.size_or("embedding_size", 128),
              rows = n.vocab + r.size_or("max_position_embeddings", 512) + r.size_or("type_vocab_size", 2);
  r.activation("hidden_act", "gelu", false);
  two_sided(r,
      rows * width + layernorm(width) + (width == h ? 0 : linear(width, h)) +
          n.layers * encoder_layer(h, n.ffn_hidden) + linear(h, h) + linear(h, 1),
      "language", "a loss of every position (ELECTRA)");
}

void deberta_model(HfReader& r) {
  two_sided(r, deberta_layers(r), "language", "attention by content and distance (DeBERTa)");
}

void deberta_masked(HfReader& r) {
  const Count layers = deberta_layers(r), h = r.spec.hidden;
  bool old = true;
  r.config.optional("legacy", old);
  r.config.require(old, "legacy", "its other head is not known", "true");
  two_sided(r, layers + masked_head(h, h, r.spec.vocab), "language", "attention by content and distance (DeBERTa)");
}

/// BERT's layers with turned positions, gated MLPs and few biases, under GPT-2's names.
void nomic_bert(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("n_layer");
  const Count h = n.hidden = r.size("n_embd"), ffn = n.ffn_hidden = r.size("n_inner");
  n.heads = n.kv_heads = r.size("n_head");
  n.vocab = r.size("vocab_size");
  const std::string feed = r.text_or("activation_function", "swiglu");
  r.config.require(feed == "swiglu" || feed == "geglu", "activation_function",
      fmt::format("'{:.40}' is none of its MLPs", feed), "swiglu, geglu");
  const bool heads = r.flag_or("qkv_proj_bias", true), in = r.flag_or("mlp_fc1_bias", true),
             out = r.flag_or("mlp_fc2_bias", true);
  const Count layer =
      linear(h, 3 * h, heads) + linear(h, h, heads) + 2 * linear(h, ffn, in) + linear(ffn, h, out) + 2 * layernorm(h);
  two_sided(r, (n.vocab + r.size_or("type_vocab_size", 2)) * h + layernorm(h) + n.layers * layer, "language",
      "a loss (NomicBertModel has none)");
}

/// BERT without kinds of words, with one table of biases by distance for all layers (MPNet). `headed`: with a matrix
/// behind the first word, or with one in front of the logits.
void mpnet(HfReader& r, bool words) {
  sizes_or(r, 12, 768, 3072, 12);
  NetworkSpec& n = r.spec;
  n.vocab = r.size("vocab_size");
  const Count h = n.hidden;
  r.activation("hidden_act", "gelu", false);
  two_sided(r,
      (n.vocab + r.size("max_position_embeddings")) * h + layernorm(h) +
          r.size_or("relative_attention_num_buckets", 32) * n.heads + n.layers * encoder_layer(h, n.ffn_hidden) +
          (words ? masked_head(h, h, n.vocab) : linear(h, h)),
      "language", "one table of biases by distance for all layers (MPNet)");
}
void mpnet_model(HfReader& r) { mpnet(r, false); }
void mpnet_masked(HfReader& r) { mpnet(r, true); }

/// Words narrower than the stream, and groups of layers that share their weights (ALBERT).
void albert_masked(HfReader& r) {
  sizes_or(r, 12, 768, 3072, 12);
  NetworkSpec& n = r.spec;
  n.vocab = r.size("vocab_size");
  const Count h = n.hidden, width = r.size_or("embedding_size", 128), groups = r.size_or("num_hidden_groups", 1),
              inner = r.size_or("inner_group_num", 1),
              rows = n.vocab + r.size("max_position_embeddings") + r.size_or("type_vocab_size", 2);
  r.activation("hidden_act", "gelu_new", false);
  two_sided(r,
      rows * width + layernorm(width) + linear(width, h) + groups * inner * encoder_layer(h, n.ffn_hidden) +
          masked_head(h, width, n.vocab),
      "language", "layers that share their weights (ALBERT)");
}

/// BERT's layers with turned positions and gated MLPs that have a bias behind alone (modeling.py of Alibaba-NLP's
/// new-impl).
void gte_new(HfReader& r) {
  sizes_or(r, 12, 768, 3072, 12);
  NetworkSpec& n = r.spec;
  n.vocab = r.size("vocab_size");
  const Count h = n.hidden, ffn = n.ffn_hidden;
  const std::string positions = r.text_or("position_embedding_type", "rope");
  r.config.require(positions == "rope", "position_embedding_type", "its class is not known otherwise", "rope");
  two_sided(r,
      (n.vocab + r.size_or("type_vocab_size", 1)) * h + layernorm(h) +
          n.layers * (attention_weights(h) + 2 * h * ffn + linear(ffn, h) + 2 * layernorm(h)),
      "language", "a loss (NewModel has none)");
}

}  // namespace stepcast::detail
