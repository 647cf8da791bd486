// cuDNN fuses attention where it finds these operations in this order (cuDNN documentation, "Fused Flash Attention
// fprop" and "bprop"; which of them NVIDIA's front end writes down: NVIDIA/cudnn-frontend at 3929da2,
// include/cudnn_frontend/node/scaled_dot_product_flash_attention.h). K comes in transposed, and so does V to the
// backward pass: strides say so, nothing moves.
#include "kernels/cuda/attention/cudnn_attention_graph.h"

#ifdef STEPCAST_HAS_CUDNN

namespace stepcast::kernels::gpu {
namespace {

using Tensor = CudnnGraph::Tensor;

/// Sizes and strides of everything in the graph.
struct AttentionSizes {
  explicit AttentionSizes(const CudnnAttentionShape& s)
      : queries{s.batch, s.heads, s.queries, s.head_dim}, keys{s.batch, s.kv_heads, s.keys, s.head_dim},
        keys_of_all{s.batch, s.heads, s.keys, s.head_dim}, turned_keys{s.batch, s.kv_heads, s.head_dim, s.keys},
        scores{s.batch, s.heads, s.queries, s.keys}, rows{s.batch, s.heads, s.queries, 1},
        query_strides{s.queries * s.heads * s.head_dim, s.head_dim, s.heads * s.head_dim, 1},
        key_strides{s.keys * s.kv_heads * s.head_dim, s.head_dim, s.kv_heads * s.head_dim, 1},
        turned_key_strides{key_strides[0], key_strides[1], 1, key_strides[2]}, turned_score_strides{
                                                                                   s.heads * s.queries * s.keys,
                                                                                   s.queries * s.keys, 1, s.keys} {}
  CudnnDims queries, keys, keys_of_all, turned_keys, scores, rows;
  CudnnDims query_strides, key_strides, turned_key_strides, turned_score_strides;
};

/// Keys behind a query's own position get minus infinity.
Tensor masked(CudnnGraph& graph, const AttentionSizes& sizes, Tensor scores) {
  const Tensor row = graph.passed(CUDNN_DATA_INT32, sizes.scores);
  graph.position(2, scores, row);
  const Tensor column = graph.passed(CUDNN_DATA_INT32, sizes.scores);
  graph.position(3, scores, column);
  const Tensor seen = graph.passed(CUDNN_DATA_BOOLEAN, sizes.scores);
  graph.apply(CUDNN_POINTWISE_CMP_GE, {row, column}, seen, CUDNN_DATA_BOOLEAN);
  const Tensor result = graph.passed(CUDNN_DATA_FLOAT, sizes.scores);
  graph.apply(CUDNN_POINTWISE_BINARY_SELECT, {scores, graph.scalar(id_minus_infinity), seen}, result);
  return result;
}

/// scale * q kT.
Tensor scaled_scores(CudnnGraph& graph, const AttentionSizes& sizes, Tensor q, Tensor k, Tensor scale) {
  const Tensor product = graph.passed(CUDNN_DATA_FLOAT, sizes.scores);
  graph.multiply(q, k, product);
  const Tensor scaled = graph.passed(CUDNN_DATA_FLOAT, sizes.scores);
  graph.apply(CUDNN_POINTWISE_MUL, {product, scale}, scaled);
  return scaled;
}

/// A gradient of keys or values: turned weights times what belongs to the queries, summed over the heads that share a
/// head of keys.
void key_gradient(CudnnGraph& graph, const CudnnAttentionShape& shape, const AttentionSizes& sizes, Tensor weights,
    Tensor queries, Tensor result) {
  const Tensor turned = graph.passed(shape.type, sizes.scores, sizes.turned_score_strides);
  graph.reshape(weights, turned);
  if (shape.heads == shape.kv_heads) {
    graph.multiply(turned, queries, result);
    return;
  }
  const Tensor of_all = graph.passed(shape.type, sizes.keys_of_all);
  graph.multiply(turned, queries, of_all);
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, of_all, result);
}

/// Sum of do * o over the head: what the softmax's gradient subtracts.
Tensor row_sums(CudnnGraph& graph, const AttentionSizes& sizes, Tensor gradient, Tensor result) {
  const Tensor product = graph.passed(CUDNN_DATA_FLOAT, sizes.queries);
  graph.apply(CUDNN_POINTWISE_MUL, {gradient, result}, product);
  const Tensor sums = graph.passed(CUDNN_DATA_FLOAT, sizes.rows);
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, product, sums);
  const Tensor kept = graph.stored(id_row_sums, CUDNN_DATA_FLOAT, sizes.rows, dense_strides(sizes.rows));
  graph.apply(CUDNN_POINTWISE_MUL, {sums, graph.scalar(id_one)}, kept);
  return kept;
}

}  // namespace

void write_attention_forward(CudnnGraph& graph, const CudnnAttentionShape& shape) {
  const AttentionSizes sizes(shape);
  const Tensor q = graph.stored(id_q, shape.type, sizes.queries, sizes.query_strides);
  const Tensor k = graph.stored(id_k, shape.type, sizes.turned_keys, sizes.turned_key_strides);
  const Tensor v = graph.stored(id_v, shape.type, sizes.keys, sizes.key_strides);
  const Tensor o = graph.stored(id_o, shape.type, sizes.queries, sizes.query_strides);
  const Tensor statistics = graph.stored(id_statistics, CUDNN_DATA_FLOAT, sizes.rows, dense_strides(sizes.rows));

  Tensor scores = scaled_scores(graph, sizes, q, k, graph.scalar(id_scale));
  if (shape.causal) scores = masked(graph, sizes, scores);

  const Tensor largest = graph.passed(CUDNN_DATA_FLOAT, sizes.rows);
  graph.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, largest);
  const Tensor shifted = graph.passed(CUDNN_DATA_FLOAT, sizes.scores);
  graph.apply(CUDNN_POINTWISE_SUB, {scores, largest}, shifted);
  const Tensor powers = graph.passed(CUDNN_DATA_FLOAT, sizes.scores);
  graph.apply(CUDNN_POINTWISE_EXP, {shifted}, powers);
  const Tensor sums = graph.passed(CUDNN_DATA_FLOAT, sizes.rows);
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, sums);
  const Tensor logarithm = graph.passed(CUDNN_DATA_FLOAT, sizes.rows);
  graph.apply(CUDNN_POINTWISE_LOG, {sums}, logarithm);
  graph.apply(CUDNN_POINTWISE_ADD, {largest, logarithm}, statistics);
  const Tensor weights = graph.passed(shape.type, sizes.scores);
  graph.apply(CUDNN_POINTWISE_DIV, {powers, sums}, weights);
  graph.multiply(weights, v, o);
}

void write_attention_backward(CudnnGraph& graph, const CudnnAttentionShape& shape) {
  const AttentionSizes sizes(shape);
  const Tensor q = graph.stored(id_q, shape.type, sizes.queries, sizes.query_strides);
  const Tensor k = graph.stored(id_k, shape.type, sizes.turned_keys, sizes.turned_key_strides);
  const Tensor v = graph.stored(id_v, shape.type, sizes.turned_keys, sizes.turned_key_strides);
  const Tensor o = graph.stored(id_o, shape.type, sizes.queries, sizes.query_strides);
  const Tensor statistics = graph.stored(id_statistics, CUDNN_DATA_FLOAT, sizes.rows, dense_strides(sizes.rows));
  const Tensor d_o = graph.stored(id_do, shape.type, sizes.queries, sizes.query_strides);
  const Tensor d_q = graph.stored(id_dq, shape.type, sizes.queries, sizes.query_strides);
  const Tensor d_k = graph.stored(id_dk, shape.type, sizes.keys, sizes.key_strides);
  const Tensor d_v = graph.stored(id_dv, shape.type, sizes.keys, sizes.key_strides);
  const Tensor scale = graph.scalar(id_scale);

  const Tensor subtracted = row_sums(graph, sizes, d_o, o);
  const Tensor scaled = scaled_scores(graph, sizes, q, k, scale);
  Tensor shifted = graph.passed(CUDNN_DATA_FLOAT, sizes.scores);
  graph.apply(CUDNN_POINTWISE_SUB, {scaled, statistics}, shifted);
  if (shape.causal) shifted = masked(graph, sizes, shifted);
  const Tensor weights = graph.passed(CUDNN_DATA_FLOAT, sizes.scores);
  graph.apply(CUDNN_POINTWISE_EXP, {shifted}, weights);
  key_gradient(graph, shape, sizes, weights, d_o, d_v);

  const Tensor product = graph.passed(CUDNN_DATA_FLOAT, sizes.scores);
  graph.multiply(d_o, v, product);
  const Tensor centred = graph.passed(CUDNN_DATA_FLOAT, sizes.scores);
  graph.apply(CUDNN_POINTWISE_SUB, {product, subtracted}, centred);
  const Tensor weighted = graph.passed(CUDNN_DATA_FLOAT, sizes.scores);
  graph.apply(CUDNN_POINTWISE_MUL, {centred, weights}, weighted);
  const Tensor d_scores = graph.passed(CUDNN_DATA_FLOAT, sizes.scores);
  graph.apply(CUDNN_POINTWISE_MUL, {weighted, scale}, d_scores);
  key_gradient(graph, shape, sizes, d_scores, q, d_k);

  const Tensor plain_k = graph.passed(shape.type, sizes.keys, sizes.key_strides);
  graph.reshape(k, plain_k);
  const Tensor sums = graph.stored(id_query_sums, CUDNN_DATA_FLOAT, sizes.queries, dense_strides(sizes.queries));
  graph.multiply(d_scores, plain_k, sums);
  graph.apply(CUDNN_POINTWISE_IDENTITY, {sums}, d_q);
}

}  // namespace stepcast::kernels::gpu

#endif
