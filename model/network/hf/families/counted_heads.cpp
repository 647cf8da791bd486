// Architectures whose attention has no form here: keys wider than values, a gate per head, blocks that layers share,
// two attentions in a layer. Weights are counted, forecasts are refused.
#include <algorithm>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/network/hf/counting.h"
#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

struct Heads {
  Count heads = 0, kv_heads = 0, key_dim = 0, value_dim = 0;
};

/// Queries, keys, values and outputs.
Count attention_of(Count hidden, const Heads& a, bool biased) {
  return linear(hidden, (a.heads + a.kv_heads) * a.key_dim + a.kv_heads * a.value_dim, biased) +
         a.heads * a.value_dim * hidden;
}

/// A list of 0 and 1, one for each layer.
std::vector<Count> layer_marks(HfReader& r, const char* key) {
  std::vector<Count> marks;
  r.config.read(key, marks, IntegerRange{0, 1});
  r.config.require(static_cast<Count>(marks.size()) == r.spec.layers, key,
      fmt::format("{} marks for {} layers", marks.size(), r.spec.layers), "one for each layer");
  return marks;
}

/// "3,4,5": the layers that a text lists.
std::vector<Count> listed_layers(HfReader& r, const char* key) {
  std::vector<Count> layers;
  const std::string text = r.text_or(key, "");
  Count number = 0;
  bool open = false;
  for (const char letter : text + ",") {
    if (letter >= '0' && letter <= '9') number = std::min<Count>(1 << 20, 10 * number + letter - '0'), open = true;
    else if (letter == ',' && open) layers.push_back(number), number = 0, open = false;
    else r.config.require(letter == ' ' || letter == ',', key, "no list of layers", "\"3,4,5\"");
  }
  return layers;
}

Count tables(const NetworkSpec& n) { return (n.tied_embeddings ? 1 : 2) * n.vocab * n.hidden; }

void sparse_sizes(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_hidden_layers");
  n.hidden = r.size("hidden_size");
  n.heads = r.size("num_attention_heads");
  n.vocab = r.size("vocab_size");
  n.ffn_hidden = r.size("intermediate_size");
  n.tied_embeddings = r.tied_or(false);
  r.length("max_position_embeddings");
  r.dropout({"attention_dropout"}, 0);
}

}  // namespace

/// MiMo-V2-Flash: keys wider than values, other sizes and a number per head in layers with a window
/// (vllm/model_executor/models/mimo_v2_flash.py).
void mimo_v2_flash(HfReader& r) {
  sparse_sizes(r);
  NetworkSpec& n = r.spec;
  r.activation("hidden_act", "silu", true);
  n.kv_heads = r.size("num_key_value_heads");
  n.head_dim = r.size("head_dim");
  const Heads full{n.heads, n.kv_heads, n.head_dim, r.size_or("v_head_dim", n.head_dim)};
  const Count key_dim = r.size("swa_head_dim");
  const Heads window{r.size("swa_num_attention_heads"), r.size("swa_num_key_value_heads"), key_dim,
      r.size_or("swa_v_head_dim", key_dim)};
  bool biased = false, window_sinks = false, full_sinks = false;
  r.config.optional("attention_bias", biased);
  r.config.optional("add_swa_attention_sink_bias", window_sinks);
  r.config.optional("add_full_attention_sink_bias", full_sinks);
  const std::vector<Count> windowed = layer_marks(r, "hybrid_layer_pattern"), routed = layer_marks(r, "moe_layer_freq");
  deepseek_counts(r);
  const Experts& e = n.experts;
  if (r.config.failed()) return;
  const Count windows = std::ranges::count(windowed, 1), sparse = std::ranges::count(routed, 1);
  const Count experts = (e.count * e.ffn_hidden + e.shared_ffn_hidden) * 3 * n.hidden + (n.hidden + 1) * e.count;
  r.counted = {
      {"language", tables(n) + n.hidden + n.layers * 2 * n.hidden +
                       windows * (attention_of(n.hidden, window, biased) + (window_sinks ? window.heads : 0)) +
                       (n.layers - windows) * (attention_of(n.hidden, full, biased) + (full_sinks ? full.heads : 0)) +
                       sparse * experts + (n.layers - sparse) * 3 * n.hidden * n.ffn_hidden}};
  r.layers = {{"attention", n.layers - windows}, {"attention in a window", windows}};
  r.lacks("values narrower than keys (v_head_dim)");
  r.note("its class has no prediction modules: they are left out");
}

/// Step-3.5-Flash: more heads in layers with a window, a gate per head (vllm/model_executor/models/step3p5.py).
void step3p5(HfReader& r) {
  sparse_sizes(r);
  NetworkSpec& n = r.spec;
  n.kv_heads = r.size("num_attention_groups");
  n.head_dim = r.size("head_dim");
  const Heads usual{n.heads, n.kv_heads, n.head_dim, n.head_dim};
  Heads other = usual;
  std::string other_type;
  if (auto setting = r.config.optional_object("attention_other_setting")) {
    setting->allow_unknown_keys();
    setting->read("attention_type", other_type);
    setting->read("num_attention_heads", other.heads, IntegerRange{1, 100'000});
    setting->read("num_attention_groups", other.kv_heads, IntegerRange{1, 100'000});
    setting->read("head_dim", other.key_dim, IntegerRange{1, 100'000});
    other.value_dim = other.key_dim;
  }
  std::vector<std::string> kinds;
  r.config.optional("layer_types", kinds);
  r.config.require(other_type.empty() || static_cast<Count>(kinds.size()) >= n.layers, "layer_types",
      fmt::format("{} kinds for {} layers", kinds.size(), n.layers), "one for each layer");
  const bool biased = r.flag_or("attention_bias", false), gated = r.flag_or("use_head_wise_attn_gate", false);
  std::vector<Count> routed = listed_layers(r, "moe_layers_enum");
  if (!r.config.has("moe_layers_enum"))
    for (Count layer = 1; layer < std::min<Count>(n.layers, 10'000); ++layer) routed.push_back(layer);
  const Count count = r.size("moe_num_experts"), ffn = r.size("moe_intermediate_size"),
              shared = r.size("share_expert_dim");
  r.size("moe_top_k");
  r.config.require(r.flag_or("use_moe_router_bias", true), "use_moe_router_bias", "its class has one", "true");
  // A rule is silent where keys are missing.
  if (r.config.failed() || (!other_type.empty() && static_cast<Count>(kinds.size()) < n.layers)) return;
  Count language = tables(n) + n.hidden, others = 0, sparse = 0;
  for (Count layer = 0; layer < std::min<Count>(n.layers, 10'000); ++layer) {
    const bool differs = !other_type.empty() && kinds[static_cast<std::size_t>(layer)] == other_type,
               experts = contains(routed, layer);
    const Heads& a = differs ? other : usual;
    language += attention_of(n.hidden, a, false) + 2 * a.key_dim + (gated ? n.hidden * a.heads : 0) + 2 * n.hidden;
    if (biased) language += (a.heads + 2 * a.kv_heads) * a.key_dim;
    language += experts ? 3 * n.hidden * (count * ffn + shared) + (n.hidden + 1) * count : 3 * n.hidden * n.ffn_hidden;
    others += differs ? 1 : 0, sparse += experts ? 1 : 0;
  }
  r.counted = {{"language", language}};
  r.layers = {
      {"attention", n.layers - others}, {"attention of more heads in a window", others}, {"of them experts", sparse}};
  r.lacks("a gate per head of attention (use_head_wise_attn_gate)");
  r.note("prediction modules are left out");
}

/// Step3: queries through a low rank that all heads share, one head of keys (vllm/model_executor/models/step3_text.py).
void step3_text(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_hidden_layers");
  const Count h = n.hidden = r.size("hidden_size"), heads = n.heads = r.size("num_attention_heads");
  n.kv_heads = 1;
  const Count size = n.head_dim = r.size("head_dim"), rank = r.config.has("share_q_dim") ? r.size("share_q_dim") : size;
  const Count ffn = n.ffn_hidden = r.size("intermediate_size");
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(false);
  r.length(r.config.has("max_position_embedding") ? "max_position_embedding" : "max_position_embeddings");
  const Count count = r.size("moe_num_experts"), width = r.size("moe_intermediate_size"),
              shared = r.size("share_expert_dim");
  r.size("moe_top_k");
  const Count sparse = r.config.has("moe_layers_enum") ? std::ranges::count_if(listed_layers(r, "moe_layers_enum"),
                                                             [&](Count i) { return i < n.layers; })
                                                       : n.layers - 1;
  const Count attention = h * (rank + 2 * size) + rank + rank * heads * size + heads * size * h;
  r.counted = {
      {"language", tables(n) + h + n.layers * (attention + 2 * h) +
                       sparse * (3 * h * (count * width + shared) + h * count) + (n.layers - sparse) * 3 * h * ffn}};
  r.layers = {{"attention, MLP", n.layers - sparse}, {"attention, experts", sparse}};
  r.lacks("queries through a rank that heads share (share_q_dim)");
}

/// Mamba-2 in all layers; some read what a block of attention and MLP makes of the stream and the embedding, which the
/// layers share, each with adapters of its own.
void zamba2(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_hidden_layers");
  const Count h = n.hidden = r.size("hidden_size");
  n.heads = r.size("num_attention_heads");
  n.vocab = r.size("vocab_size");
  const Count ffn = n.ffn_hidden = r.size("intermediate_size");
  n.tied_embeddings = r.tied_or(true);
  r.length("max_position_embeddings");
  const Count inner = r.size_or("mamba_expand", 2) * h,
              states = 2 * r.size_or("mamba_ngroups", 1) * r.size("mamba_d_state"),
              heads = r.size_or("n_mamba_heads", 8), taps = r.size_or("mamba_d_conv", 4),
              rank = r.size_or("adapter_rank", 128), blocks = r.size_or("num_mem_blocks", 1);
  const bool biased = r.flag_or("add_bias_linear", false), adapted = r.flag_or("use_shared_attention_adapter", false);
  std::vector<Count> hybrid;
  std::vector<std::string> kinds;
  r.config.optional("hybrid_layer_ids", hybrid, IntegerRange{0, 1 << 20});
  r.config.optional("layers_block_type", kinds);
  const Count reads = kinds.empty() ? static_cast<Count>(hybrid.size()) : std::ranges::count(kinds, "hybrid");
  r.config.require(reads > 0, "hybrid_layer_ids", "no layer reads a shared block", "[5, 11, 17]");
  if (r.config.failed()) return;
  const Count mixed = inner + states, wide = 2 * h;
  const Count mamba =
      linear(h, inner + mixed + heads, biased) + (taps + 1) * mixed + 3 * heads + inner + linear(inner, h, biased) + h;
  const Count block = 3 * wide * wide + wide * h + linear(h, 2 * ffn, biased) + linear(ffn, h, biased) + wide + h;
  const Count adapters = rank * (h + 2 * ffn) + (adapted ? 3 * 2 * wide * rank : 0);
  r.counted = {{"language", tables(n) + h + n.layers * mamba + blocks * block + reads * (adapters + h * h)}};
  r.layers = {{"mixer", n.layers - reads}, {"shared attention and MLP, mixer", reads}};
  r.lacks("blocks that layers share (num_mem_blocks)");
}

/// Two latent attentions and two MLPs in a layer, experts beside the second half; some experts hand on what they get.
void longcat_flash(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.either("num_layers", "num_hidden_layers");
  const Count h = n.hidden = r.size("hidden_size"), heads = n.heads = n.kv_heads = r.size("num_attention_heads");
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(false);
  r.length("max_position_embeddings");
  const Count ffn = n.ffn_hidden = r.either("ffn_hidden_size", "intermediate_size"), q_rank = r.size("q_lora_rank"),
              kv_rank = r.size("kv_lora_rank"), nope = r.size("qk_nope_head_dim"), rope = r.size("qk_rope_head_dim"),
              value = r.size("v_head_dim"), count = r.size("n_routed_experts"),
              idle = r.size_or("zero_expert_num", 256),
              width = r.either("expert_ffn_hidden_size", "moe_intermediate_size");
  r.size("moe_topk");
  bool biased = false, routed_bias = false;
  r.config.optional("attention_bias", biased);
  r.config.optional("router_bias", routed_bias);
  r.config.require(!biased, "attention_bias", "latent attention with biases is none of our forms", "false");
  const Count attention = h * q_rank + q_rank + q_rank * heads * (nope + rope) + h * (kv_rank + rope) + kv_rank +
                          kv_rank * heads * (nope + value) + heads * value * h;
  const Count router = linear(h, count + idle, routed_bias) + count + idle;
  r.counted = {{"language",
      tables(n) + h + n.layers * (2 * attention + 2 * 3 * h * ffn + 4 * h + count * 3 * h * width + router)}};
  r.layers = {{"two attentions, two MLPs, experts", n.layers}};
  r.lacks("experts beside a second attention (LongCat)");
  r.note("prediction modules are left out");
}

}  // namespace stepcast::detail
