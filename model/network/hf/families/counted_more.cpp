// Further architectures whose weights are counted and whose forecasts are refused: src/transformers/models/<family> of
// transformers, or vllm/model_executor/models/<family>.py of vLLM where the files bring their own class.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/hf/counting.h"
#include "model/network/hf/families/families.h"

namespace stepcast::detail {

void count_beside(HfReader& r, Count extra, const char* missing, const char* layers) {
  constexpr Count most_layers = 10'000;
  NetworkSpec& n = r.spec;
  if (r.config.failed() || n.layers > most_layers) return;  // refused by the rules of all networks
  if (n.kv_heads == 0) n.kv_heads = n.heads;
  if (n.head_dim == 0 && n.heads > 0) n.head_dim = n.hidden / n.heads;
  NetworkSpec alone = n;
  alone.mtp_layers = 0;
  r.counted = {{"language", parameter_count(alone) + extra}};
  r.layers = {{layers, n.layers}};
  r.lacks(missing);
}

namespace {

/// Names of the class that came first (olmo/config.py of allenai/OLMo): one width for gate and up together.
void first_olmo(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("n_layers");
  n.hidden = r.size("d_model");
  n.heads = n.kv_heads = r.size("n_heads");
  n.vocab = r.size(r.config.has("embedding_size") ? "embedding_size" : "vocab_size");
  const std::int64_t both =
      r.config.has("mlp_hidden_size") ? r.size("mlp_hidden_size") : r.size_or("mlp_ratio", 4) * n.hidden;
  r.config.require(
      both % 2 == 0, "mlp_hidden_size", fmt::format("{} is no gate and up of one width", both), "an even number");
  n.ffn_hidden = both / 2;
  n.tied_embeddings = r.flag_or("weight_tying", true);
  r.length("max_sequence_length");
  for (const auto& [key, only] :
      {std::pair{"block_type", "sequential"}, {"activation_type", "swiglu"}, {"layer_norm_type", "default"}})
    r.config.require(r.text_or(key, "") == only, key, "its class is not known otherwise", only);
  r.dropout({"attention_dropout", "residual_dropout", "embedding_dropout"}, 0);
}

}  // namespace

/// Llama's layers between norms that have no weights.
void olmo(HfReader& r) {
  if (r.config.has("d_model")) {
    first_olmo(r);
  } else {
    shared_sizes(r, 0, 0, false);
    r.spec.ffn_hidden = r.size("intermediate_size");
    r.activation("hidden_act", "silu", true);
    attention_biases(r, false);
  }
  count_beside(
      r, -(2 * r.spec.layers + 1) * r.spec.hidden, "norms without weights", "attention and MLP, norms without weights");
}

/// LayerNorm and biases, a gated MLP; attention to blocks of keys in all but every n-th layer (modeling_phi3_small.py).
void phi3_small(HfReader& r) {
  shared_sizes(r, 0, 0, true);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.config.has("ff_intermediate_size") ? r.size("ff_intermediate_size") : r.size("intermediate_size");
  const std::string gate = r.text_or("hidden_act", "gegelu");
  r.config.require(
      gate == "gegelu", "hidden_act", fmt::format("the activation '{:.40}' is none of its own", gate), "gegelu");
  n.activation = Activation::geglu;
  n.norm = Norm::layernorm;
  n.linear_bias = true;
  r.dropout({"attention_dropout_prob", "embedding_dropout_prob", "ffn_dropout_prob"}, 0);
  count_beside(r, 0, "attention to blocks of keys (blocksparse_block_size)", "attention to blocks of keys, MLP");
}

/// Time mixing and channel mixing by numbers of each channel (RWKV-4).
void rwkv(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_hidden_layers");
  const Count h = n.hidden = r.size("hidden_size");
  n.vocab = r.size("vocab_size");
  n.sequence = r.size_or("context_length", 1024);
  const Count inner = r.config.has("attention_hidden_size") ? r.size("attention_hidden_size") : h,
              ffn = n.ffn_hidden = r.config.has("intermediate_size") ? r.size("intermediate_size") : 4 * h;
  n.tied_embeddings = r.tied_or(false);
  constexpr Count times = 2, mixed = 3, mixed_channels = 2;
  const Count time = times * inner + mixed * h + 3 * h * inner + inner * h;
  const Count channel = mixed_channels * h + h * ffn + h * h + ffn * h;
  r.counted = {{"language", (n.tied_embeddings ? 1 : 2) * n.vocab * h + layernorm(h) +
                                n.layers * (time + channel + 2 * layernorm(h)) + layernorm(h)}};
  r.layers = {{"time mixing, channel mixing", n.layers}};
  r.lacks("time mixing (RWKV)");
}

/// Matrix memories with gates of their own, and an MLP of a rounded width (xlstm/modeling_xlstm.py).
void xlstm(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.either("num_blocks", "num_hidden_layers");
  const Count h = n.hidden = r.either("embedding_dim", "hidden_size");
  const Count heads = n.heads = n.kv_heads = r.size("num_heads");
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(false);
  bool biased = false;
  r.config.optional("use_bias", biased);
  r.config.require(!biased, "use_bias", "its layers are not known with biases", "false");
  const auto share = [&](const char* key, double absent) {
    return static_cast<Count>(r.number_or(key, absent) * static_cast<double>(h));
  };
  const Count keys = share("qk_dim_factor", 0.5), values = share("v_dim_factor", 1);
  n.head_dim = heads > 0 ? values / heads : 0;
  const Count step = std::max<Count>(1, r.size_or("ffn_round_up_to_multiple_of", 64));
  n.ffn_hidden = (share("ffn_proj_factor", 2.667) + step - 1) / step * step;
  const Count mixing = 2 * h * keys + 2 * h * values + 2 * linear(h, heads) + values + values * h;
  r.counted = {
      {"language", (n.tied_embeddings ? 1 : 2) * n.vocab * h + h + n.layers * (mixing + 3 * h * n.ffn_hidden + 2 * h)}};
  r.layers = {{"matrix memory, MLP", n.layers}};
  r.lacks("matrix memories (mLSTM)");
}

/// Gated linear recurrences, and attention in a window where the list says so; a gated MLP of half the stated width.
void recurrent_gemma(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_hidden_layers");
  const Count h = n.hidden = r.size("hidden_size"), heads = n.heads = r.size("num_attention_heads");
  n.kv_heads = r.config.has("num_key_value_heads") ? r.size("num_key_value_heads") : heads;
  n.head_dim = r.config.has("head_dim") ? r.size("head_dim") : h / std::max<Count>(1, heads);
  n.ffn_hidden = r.size("intermediate_size") / 2;
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(true);
  const bool biased = r.flag_or("attention_bias", false);
  const Count width = r.config.has("lru_width") ? r.size("lru_width") : h, taps = r.size_or("conv1d_width", 4),
              block = width / std::max<Count>(1, heads), queries = heads * n.head_dim, keys = n.kv_heads * n.head_dim;
  r.size_or("attention_window_size", 2048);
  r.dropout({"attention_dropout"}, 0);
  std::vector<std::string> kinds;
  r.config.optional(r.config.has("block_types") ? "block_types" : "_block_types", kinds);
  if (kinds.empty()) kinds = {"recurrent", "recurrent", "attention"};
  Count attends = 0;
  for (Count layer = 0; layer < n.layers; ++layer)
    attends += kinds[static_cast<std::size_t>(layer) % kinds.size()] == "attention" ? 1 : 0;
  constexpr Count gates = 2;
  const Count attention = linear(h, queries, biased) + 2 * linear(h, keys, biased) + linear(queries, h);
  const Count recurrence =
      2 * linear(h, width) + linear(width, h) + linear(taps, width) + width + gates * heads * (block * block + block);
  const Count mlp = 2 * linear(h, n.ffn_hidden) + linear(n.ffn_hidden, h);
  r.counted = {{"language", (n.tied_embeddings ? 1 : 2) * n.vocab * h + h + attends * attention +
                                (n.layers - attends) * recurrence + n.layers * (mlp + 2 * h)}};
  r.layers = {{"attention in a window, MLP", attends}, {"gated linear recurrence, MLP", n.layers - attends}};
  r.lacks("gated linear recurrences (RG-LRU)");
}

/// Each token chooses experts of queries and outputs, too.
void jetmoe(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_hidden_layers");
  const Count h = n.hidden = r.size("hidden_size");
  n.kv_heads = r.size("num_key_value_heads");
  n.head_dim = r.size("kv_channels");
  const Count count = r.size("num_local_experts"), ffn = n.ffn_hidden = r.size("intermediate_size"),
              wide = n.kv_heads * n.head_dim;
  n.heads = n.kv_heads * r.size("num_experts_per_tok");
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(true);
  r.length("max_position_embeddings");
  r.dropout({"attention_dropout"}, 0);
  const Count attention = count * 2 * h * wide + h + h * count + 2 * h * wide;
  const Count experts = count * 3 * h * ffn + h + h * count;
  r.counted = {{"language", (n.tied_embeddings ? 1 : 2) * n.vocab * h + h + n.layers * (attention + experts + 2 * h)}};
  r.layers = {{"experts of attention, experts", n.layers}};
  r.lacks("experts of attention (JetMoE)");
}

}  // namespace stepcast::detail
