// Internal to model/network: weights and FLOPs of attention by closed formulas (parameters.cpp has the rest).
#pragma once

#include <cstdint>

#include "model/network/network.h"

namespace stepcast::detail {

using Count = std::int64_t;

/// All norms of a network are of one kind; LayerNorm may add an offset to the scale.
inline Count norm_size(const NetworkSpec& n, Count width) { return n.norm == Norm::layernorm ? 2 * width : width; }

Count attention_matrices(const NetworkSpec& n);
/// Biases of the projections, and the norms inside the attention.
Count attention_vectors(const NetworkSpec& n);

/// Queries and outputs of the stream, and keys and values of what the encoder made.
struct CrossMatrices {
  Count stream = 0, memory = 0;
};
CrossMatrices cross_matrices(const NetworkSpec& n);

/// The indexer's queries, keys and weights of its heads; a LayerNorm of its keys. Of plain attention queries and keys,
/// a norm of each.
Count index_matrices(const NetworkSpec& n);
bool picks(const NetworkSpec& n, const LayerKind& kind);

/// What makes keys of several, and what picks among them: matrices and vectors.
struct Compressor {
  Count matrices = 0, vectors = 0;
};
Compressor compressor_of(const NetworkSpec& n, const LayerKind& kind);

/// Per token, of a layer's attention core. With attention over the encoder: every query sees all of it, and its keys
/// and values are made once for all.
double core_flops_of(const NetworkSpec& n, const LayerKind& kind, std::int64_t sequence, bool causal);

}  // namespace stepcast::detail
