// Architectures whose attention has no form here: queries through a rank that heads share, blocks that layers share,
// two attentions in a layer. Weights are counted, forecasts are refused.
#include <algorithm>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/network/hf/counting.h"
#include "model/network/hf/families/families.h"

namespace stepcast::detail {
std::vector<Count> listed_layers(HfReader& r, const char* key) {
  std::vector<Count> layers;
  if (r.config.type_of(key) == "list") {
    r.config.read(key, layers, IntegerRange{0, 1 << 20});
    return layers;
  }
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

namespace {

Count tables(const NetworkSpec& n) { return (n.tied_embeddings ? 1 : 2) * n.vocab * n.hidden; }

}  // namespace

/// Step3: queries through a low rank that all heads share, one head of keys (vllm/model_executor/models/step3_text.py);
/// experts in the layers that a list names, else in all but the first.
void step3_text(HfReader& r) {
  NetworkSpec& n = r.spec;
  stream_sizes(r);
  n.kv_heads = 1;
  n.head_dim = r.size("head_dim");
  n.query_rank = r.config.has("share_q_dim") ? r.size("share_q_dim") : n.head_dim;
  n.ffn_hidden = r.size("intermediate_size");
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(false);
  r.length(r.config.has("max_position_embedding") ? "max_position_embedding" : "max_position_embeddings");
  expert_sizes(r, "moe_num_experts", "moe_top_k", "moe_intermediate_size");
  n.experts.shared_ffn_hidden = r.size("share_expert_dim");
  const bool listed = r.config.has("moe_layers_enum");
  const std::vector<Count> routed = listed ? listed_layers(r, "moe_layers_enum") : std::vector<Count>{};
  constexpr Count most_layers = 10'000;
  for (Count layer = 0; layer < std::clamp<Count>(n.layers, 0, most_layers); ++layer)
    n.pattern.push_back(
        {(listed ? contains(routed, layer) : layer > 0) ? Feed::experts : Feed::mlp, false, false, true});
  if (n.layers > 0) n.pattern = shortest(std::move(n.pattern));
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
  const Count named = std::ranges::count(kinds, "hybrid"),
              reads = named > 0 ? named : static_cast<Count>(hybrid.size());
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
