// Internal to hf: weights of the layers that files describe.
#pragma once

#include <cstdint>

namespace stepcast::detail {

using Count = std::int64_t;

/// A matrix, and a bias.
constexpr Count linear(Count in, Count out, bool bias = true) { return in * out + (bias ? out : 0); }
constexpr Count layernorm(Count width) { return 2 * width; }

}  // namespace stepcast::detail
