// Internal to model/network: weights and products of what modulates layers (adaLN), by closed formulas.
#pragma once

#include "model/network/attention_counts.h"
#include "model/network/network.h"

namespace stepcast::detail {

inline constexpr Count gate_vectors = 2;
constexpr Count last_vectors_of(const Modulation& m) { return m.gains ? 1 : 2; }

/// Of so many vectors: a matrix and a bias each, or an addend.
Count modulation_matrices(const NetworkSpec& n, Count vectors);
Count modulation_parameters(const NetworkSpec& n, Count vectors);
/// Of a layer: three for each sublayer, and for both kinds of positions.
Count vectors_of(const NetworkSpec& n, const LayerKind& kind);
/// What says when a sample is and of which class, and the products that all layers share, or layers of a kind.
Count condition_matrices(const NetworkSpec& n);
Count condition_parameters(const NetworkSpec& n);

}  // namespace stepcast::detail
