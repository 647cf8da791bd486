// Internal to model/network: weights and FLOPs of attention, and weights of residual streams, by closed formulas
// (parameters.cpp has the rest).
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

/// What mixes residual streams before and behind a sublayer: what goes in, what comes out, and each with each.
inline Count stream_matrices(const NetworkSpec& n) {
  return n.streams == 1 ? 0 : n.streams * (n.streams + 2) * n.streams * n.hidden;
}
inline Count stream_vectors(const NetworkSpec& n) { return n.streams == 1 ? 0 : n.streams * (n.streams + 2) + 3; }

/// And what makes one of them behind the last layer.
inline Count merging_matrices(const NetworkSpec& n) { return n.streams == 1 ? 0 : n.streams * n.streams * n.hidden; }
inline Count merging_vectors(const NetworkSpec& n) { return n.streams == 1 ? 0 : n.streams + 1; }

/// Of a layer that predicts streams: a matrix from the stream to a number of each, which is met twice, and what makes
/// coefficients of these numbers; a norm, and a scale of what the layer's own input reads.
inline Count router_matrix(const NetworkSpec& n) { return n.hidden * n.predicted_streams; }
inline Count coefficient_matrices(const NetworkSpec& n) {
  return (n.predicted_streams + 1) * n.predicted_streams * n.predicted_streams;
}
inline Count prediction_vectors(const NetworkSpec& n) { return n.predicted_streams == 0 ? 0 : 2 * n.hidden; }

/// Square matrices that make the streams of what was embedded, and one of them behind the last layer.
inline Count projection_matrices(const NetworkSpec& n) {
  return n.predicted_streams == 0 ? 0 : 2 * (n.predicted_streams - 1) * n.hidden * n.hidden;
}

/// Down to the rank and up, beside attention.
inline Count side_matrices(const NetworkSpec& n) { return 2 * n.hidden * n.side_rank; }

}  // namespace stepcast::detail
