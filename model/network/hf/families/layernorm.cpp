// Architectures with LayerNorm: src/transformers/models/<family> of transformers.
#include <fmt/format.h>

#include "model/network/hf/families/families.h"

namespace stepcast::detail {

void gpt2_sizes(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("n_layer");
  n.hidden = r.size("n_embd");
  n.heads = n.kv_heads = r.size("n_head");
  n.ffn_hidden = r.config.has("n_inner") ? r.size("n_inner") : 4 * n.hidden;
  n.vocab = r.size("vocab_size");
  n.sequence = r.size("n_positions");
  n.norm = Norm::layernorm;
}

void gpt2(HfReader& r) {
  gpt2_sizes(r);
  NetworkSpec& n = r.spec;
  n.max_positions = n.sequence;
  r.activation("activation_function", "gelu_new", false);
  r.dropout({"resid_pdrop", "embd_pdrop", "attn_pdrop"}, 0.1);
  n.positions = Positions::learned;
  n.linear_bias = true;
  n.tied_embeddings = r.tied_or(true);
}

/// GPT-2 with ALiBi and gated MLPs, biases everywhere (Jais, BTLM).
void jais(HfReader& r) {
  gpt2_sizes(r);
  NetworkSpec& n = r.spec;
  for (const auto& [key, only] : {std::pair{"activation_function", "swiglu"}, {"position_embedding_type", "alibi"}})
    r.config.require(r.text_or(key, "") == only, key, "its class is not known otherwise", only);
  n.activation = Activation::swiglu;
  n.positions = Positions::alibi;
  n.linear_bias = true;
  n.tied_embeddings = r.tied_or(true);
  r.dropout({"resid_pdrop", "embd_pdrop", "attn_pdrop"}, 0.1);
}

/// GPT-J and CodeGen: attention without biases beside an MLP with them under one norm, a bias on the logits
/// (modeling_gptj.py).
void gptj(HfReader& r) {
  gpt2_sizes(r);
  NetworkSpec& n = r.spec;
  n.parallel_block = n.head_bias = n.mlp_bias = true;
  n.norms_per_layer = 1;
  n.tied_embeddings = r.tied_or(false);
  r.activation("activation_function", "gelu_new", false);
  r.dropout({"resid_pdrop", "embd_pdrop", "attn_pdrop"}, 0);
}

/// GPT-2's layers with biases on outputs and the MLP alone, some of them in a window (modeling_gpt_neo.py).
void gpt_neo(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.either("num_layers", "num_hidden_layers");
  n.hidden = r.size("hidden_size");
  n.heads = n.kv_heads = r.either("num_heads", "num_attention_heads");
  n.ffn_hidden = r.config.has("intermediate_size") ? r.size("intermediate_size") : 4 * n.hidden;
  n.vocab = r.size("vocab_size");
  n.sequence = n.max_positions = r.size("max_position_embeddings");
  n.norm = Norm::layernorm;
  n.positions = Positions::learned;
  n.out_bias = n.mlp_bias = true;
  n.tied_embeddings = r.tied_or(true);
  r.activation("activation_function", "gelu_new", false);
  r.dropout({"attention_dropout", "embed_dropout", "resid_dropout"}, 0);
  std::vector<std::string> kinds;
  r.config.optional("attention_layers", kinds);
  std::string pattern = "fw";  // attention_types of the class, which files that list layers repeat
  if (!kinds.empty()) {
    pattern.clear();
    for (const std::string& kind : kinds) {
      r.config.require(kind == "global" || kind == "local", "attention_layers",
          fmt::format("layers of the kind '{:.40}' are none of its own", kind), "global, local");
      pattern += kind == "local" ? 'w' : 'f';
    }
    r.config.require(static_cast<std::int64_t>(kinds.size()) == n.layers, "attention_layers",
        fmt::format("{} kinds for {} layers", kinds.size(), n.layers), "one for each layer");
  } else {
    r.config.require(!r.config.has("attention_types"), "attention_layers",
        "attention_types alone do not list the layers", "attention_layers, which transformers writes beside it");
  }
  r.window(r.size_or("window_size", 256, 1), std::move(pattern));
}

void gpt_neox(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "gelu", false);
  r.dropout({"hidden_dropout"}, 0);
  const bool bias = r.flag_or("attention_bias", true);
  r.config.require(bias, "attention_bias", "biases on the MLP alone are none of our forms", "true");
  n.linear_bias = true;
  n.norm = Norm::layernorm;
  n.parallel_block = r.flag_or("use_parallel_residual", true);
}

void bloom(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.either("n_layer", "num_hidden_layers");
  n.hidden = r.either("hidden_size", "n_embed");
  n.heads = n.kv_heads = r.either("n_head", "num_attention_heads");
  n.ffn_hidden = 4 * n.hidden;
  n.vocab = r.size("vocab_size");
  n.sequence = r.size_or("seq_length", 2048);
  n.activation = Activation::gelu;
  n.norm = Norm::layernorm;
  n.positions = Positions::alibi;
  n.linear_bias = n.embedding_norm = true;
  r.dropout({"hidden_dropout", "attention_dropout"}, 0);
  n.tied_embeddings = r.tied_or(true);
}

void nemotron(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "relu2", false);
  n.norm = Norm::layernorm;
  attention_biases(r, false);
  bool mlp = false;
  r.config.optional("mlp_bias", mlp);
  r.config.require(
      mlp == n.qkv_bias, "mlp_bias", "biases on one half of the layer are none of our forms", "as attention_bias");
  n.linear_bias = mlp;
}

/// The table of positions has two rows that no token uses (modeling_opt.py, OPTLearnedPositionalEmbedding).
void opt(HfReader& r) {
  NetworkSpec& n = r.spec;
  stream_sizes(r);
  n.kv_heads = n.heads;
  n.ffn_hidden = r.size("ffn_dim");
  n.vocab = r.size("vocab_size");
  n.sequence = r.size("max_position_embeddings");
  n.max_positions = n.sequence + 2;
  const std::int64_t width = r.config.has("word_embed_proj_dim") ? r.size("word_embed_proj_dim") : n.hidden;
  r.config.require(width == n.hidden, "word_embed_proj_dim",
      fmt::format("embeddings of width {} are projected to {}", width, n.hidden), "hidden_size");
  bool before = true;
  r.config.optional("do_layer_norm_before", before);
  r.config.require(before, "do_layer_norm_before", "norms behind the layers are none of our forms", "true");
  r.activation("activation_function", "relu", false);
  r.dropout({"dropout", "attention_dropout"}, 0);
  n.norm = Norm::layernorm;
  n.positions = Positions::learned;
  n.linear_bias = true;
  n.tied_embeddings = r.tied_or(true);
}

/// Biases everywhere, LayerNorm, plain GELU.
void starcoder2(HfReader& r) {
  shared_sizes(r, 2, 0, true);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "gelu_pytorch_tanh", false);
  n.linear_bias = r.flag_or("use_bias", true);
  const std::string norm = r.text_or("norm_type", "layer_norm");
  r.config.require(
      norm == "layer_norm", "norm_type", "'" + norm.substr(0, 40) + "' is none of its norms", "layer_norm");
  n.norm = Norm::layernorm;
  r.dropout({"residual_dropout", "embedding_dropout"}, 0);
  window_everywhere(r);
}

}  // namespace stepcast::detail
