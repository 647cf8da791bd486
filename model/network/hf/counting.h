// Internal to hf: weights of the layers that files describe.
#pragma once

#include <cstdint>

namespace stepcast::detail {

using Count = std::int64_t;

/// A matrix, and a bias.
constexpr Count linear(Count in, Count out, bool bias = true) { return in * out + (bias ? out : 0); }
constexpr Count layernorm(Count width) { return 2 * width; }

/// Queries, keys, values (with biases or not) and output, as wide as the stream.
constexpr Count attention_weights(Count hidden, bool biased = true) {
  return 3 * linear(hidden, hidden, biased) + linear(hidden, hidden);
}
/// A plain MLP with biases.
constexpr Count mlp_weights(Count hidden, Count ffn) { return linear(hidden, ffn) + linear(ffn, hidden); }
/// Both, and a LayerNorm of each.
constexpr Count encoder_layer(Count hidden, Count ffn) {
  return attention_weights(hidden) + mlp_weights(hidden, ffn) + 2 * layernorm(hidden);
}

}  // namespace stepcast::detail
