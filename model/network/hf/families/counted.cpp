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
/// Gemma 3n: four streams that are predicted and corrected, inputs of its own for each layer, keys of earlier layers,
/// a low-rank sum beside attention (gemma3n/modeling_gemma3n.py).
void gemma3n(HfReader& r) {
  NetworkSpec& n = r.spec;
  const Count layers = n.layers = r.size_or("num_hidden_layers", 35), h = n.hidden = r.size_or("hidden_size", 2048);
  n.heads = r.size_or("num_attention_heads", 8);
  n.kv_heads = r.size_or("num_key_value_heads", 2, 1);
  n.head_dim = r.size_or("head_dim", 256);
  n.vocab = r.size_or("vocab_size", 262'400);
  n.tied_embeddings = r.tied_or(true);
  r.length_or("max_position_embeddings", 32'768);
  r.activation("hidden_activation", "gelu_pytorch_tanh", true);
  r.size_or("sliding_window", 512);
  std::vector<Count> widths;
  if (r.config.type_of("intermediate_size") == "list")
    r.config.read("intermediate_size", widths, IntegerRange{1, 10'000'000});
  else
    widths.assign(
        static_cast<std::size_t>(std::clamp<Count>(layers, 1, 10'000)), r.size_or("intermediate_size", 16'384));
  r.config.require(static_cast<Count>(widths.size()) == layers, "intermediate_size",
      fmt::format("{} widths for {} layers", widths.size(), layers), "one for each layer, or one number");
  const Count inputs = r.size_or("hidden_size_per_layer_input", 256), streams = r.size_or("altup_num_inputs", 4),
              rank = r.size_or("laurel_rank", 64), words = r.size_or("vocab_size_per_layer_input", 262'144);
  if (r.config.failed() || widths.empty()) return;
  n.ffn_hidden = widths.front();
  Count mlps = 0;
  for (const Count width : widths) mlps += 3 * h * width;
  const Count attention = 2 * h * (n.heads + n.kv_heads) * n.head_dim + 2 * n.head_dim;
  const Count mixing = h + streams * streams + streams * streams * streams + h * streams + h;
  const Count layer = attention + mixing + 2 * h * rank + h + 2 * h * inputs + h + 4 * h;
  const Count around = words * layers * inputs + h * layers * inputs + inputs + h + 2 * (streams - 1) * h * h;
  r.counted = {{"language", (n.tied_embeddings ? 1 : 2) * n.vocab * h + around + layers * layer + mlps}};
  r.layers = {{"attention, MLP, inputs of the layer", layers}};
  r.lacks("streams predicted from each other (altup_num_inputs)");
  r.lacks("inputs of its own for each layer (hidden_size_per_layer_input)");
}

}  // namespace stepcast::detail
