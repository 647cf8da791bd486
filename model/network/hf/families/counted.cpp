// Architectures with layers that no operator here describes: their weights are counted, their layers named, and
// forecasts refused. Shapes from the modeling files of transformers (src/transformers/models/<family>) and of diffusers
// (src/diffusers/models/transformers).
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/network/hf/counting.h"
#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

void encoder_sizes(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_hidden_layers");
  n.hidden = r.size("hidden_size");
  n.heads = n.kv_heads = r.size("num_attention_heads");
  n.ffn_hidden = r.size("intermediate_size");
}

}  // namespace

/// Where a token's layers have inputs of their own or share keys and values with earlier ones.
void count_gemma4(HfReader& r, const std::vector<std::string>& kinds) {
  NetworkSpec& n = r.spec;
  const auto or_none = [&](const char* key) { return r.config.has(key) ? r.size_or(key, 0) : 0; };
  constexpr Count usual_inputs = 256;
  const Count inputs = r.config.names("hidden_size_per_layer_input")
                           ? or_none("hidden_size_per_layer_input")
                           : r.size_or("hidden_size_per_layer_input", usual_inputs),
              sharing = or_none("num_kv_shared_layers"), vocabulary = or_none("vocab_size_per_layer_input");
  bool doubled = false;
  r.config.optional("use_double_wide_mlp", doubled);
  r.config.require(sharing < std::max<Count>(1, n.layers), "num_kv_shared_layers",
      fmt::format("{} of {} layers share keys with earlier ones", sharing, n.layers), "fewer than there are layers");
  if ((inputs == 0 && sharing == 0) || static_cast<Count>(kinds.size()) != n.layers) return;
  const Count h = n.hidden;
  r.config.require(n.experts.count == 0, "enable_moe_block", "experts beside inputs of layers are not known", "false");
  Count language = n.vocab * h + h;
  if (inputs > 0) language += vocabulary * n.layers * inputs + h * n.layers * inputs + inputs;
  Count own = 0;
  for (Count layer = 0; layer < n.layers; ++layer) {
    const bool full = kinds[static_cast<std::size_t>(layer)] == "full_attention", shares = layer >= n.layers - sharing;
    const LayerShape* shape = full && !n.shapes.empty() ? n.shapes.data() : nullptr;
    const Count size = shape != nullptr && shape->head_dim > 0 ? shape->head_dim : n.head_dim,
                keys = shape != nullptr && shape->kv_heads > 0 ? shape->kv_heads : n.kv_heads;
    language += 2 * h * n.heads * size + size + 4 * h + 1;
    if (!shares) language += (shape != nullptr && shape->key_is_value ? 1 : 2) * h * keys * size + size, ++own;
    language += 3 * h * n.ffn_hidden * (shares && doubled ? 2 : 1);
    if (inputs > 0) language += 2 * h * inputs + h;
  }
  r.counted = {{"language", language}};
  r.layers = {{"attention with keys of its own", own}, {"attention over an earlier layer's keys", sharing}};
  if (inputs > 0) r.lacks("inputs of its own for each layer (hidden_size_per_layer_input)");
  if (sharing > 0) r.lacks("keys and values of earlier layers (num_kv_shared_layers)");
}

/// Text layers, some of them over an image's features; an encoder of tiles whose last layers are gated.
void llama_vision(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  n.ffn_hidden = r.size("intermediate_size");
  r.activation("hidden_act", "silu", true);
  std::vector<Count> cross;
  r.config.read("cross_attention_layers", cross, IntegerRange{0, 1 << 20});
  for (const Count layer : cross)
    r.config.require(layer < n.layers, "cross_attention_layers", fmt::format("layer {} of {}", layer, n.layers),
        "0, 1, ..., each once");
  if (!r.outer || r.config.failed()) return;
  constexpr Count image_tokens = 8;  // of the table of tokens alone
  const Count h = n.hidden, keys = n.kv_heads * n.head_dim, queries = n.heads * n.head_dim,
              crossing = static_cast<Count>(cross.size());
  const Count layer = 2 * h * queries + 2 * h * keys + 3 * h * n.ffn_hidden + 2 * h;
  constexpr Count gates = 2;
  const Count text = n.layers * layer + crossing * (2 * n.head_dim + gates) + (n.vocab + image_tokens) * h + h +
                     (r.tied_or(false) ? 0 : n.vocab * h);
  r.layers = {{"attention, MLP", n.layers - crossing}, {"attention over image features, MLP", crossing}};
  r.counted = {{"language", text}};
  r.lacks("attention over another sequence (cross_attention_layers)");
}

/// BERT's layers, whose loss its class does not tell.
void bert_model(HfReader& r) {
  encoder_sizes(r);
  NetworkSpec& n = r.spec;
  n.vocab = r.size("vocab_size");
  r.activation("hidden_act", "gelu", false);
  const Count h = n.hidden, tables = n.vocab + r.size("max_position_embeddings") + r.size_or("type_vocab_size", 2);
  r.counted = {{"language", tables * h + 2 * h + n.layers * encoder_layer(h, n.ffn_hidden) + linear(h, h)}};
  r.layers = {{"two-sided attention, MLP", n.layers}};
  r.lacks("a loss (architectures: BertForPreTraining and BertForMaskedLM have one)");
}

}  // namespace stepcast::detail
