// GPU side only. Attention as a graph of cuDNN operations that its fused engines recognise.
#pragma once

#include "kernels/cuda/attention/cudnn_graph.h"

#ifdef STEPCAST_HAS_CUDNN

namespace stepcast::kernels::gpu {

/// Tensors in memory are [batch, positions, heads, head_dim]. As many queries as keys, or one query: then without mask,
/// and without gradients.
struct CudnnAttentionShape {
  std::int64_t batch = 1, queries = 1, keys = 1, heads = 1, kv_heads = 1, head_dim = 128;
  bool causal = true;
  cudnnDataType_t type = CUDNN_DATA_BFLOAT16;
};

// clang-format off
/// Ids of what calls give addresses for. statistics: fp32 [batch, heads, queries], logarithms of the softmax's sums.
/// query_sums: fp32 [batch, heads, queries, head_dim], row_sums as statistics: scratch of the backward pass.
enum CudnnAttentionId : std::int64_t {
  id_q = 1, id_k, id_v, id_o, id_statistics, id_scale, id_minus_infinity, id_one,
  id_do, id_dq, id_dk, id_dv, id_query_sums, id_row_sums
};
// clang-format on

void write_attention_forward(CudnnGraph& graph, const CudnnAttentionShape& shape);
void write_attention_backward(CudnnGraph& graph, const CudnnAttentionShape& shape);

}  // namespace stepcast::kernels::gpu

#endif
