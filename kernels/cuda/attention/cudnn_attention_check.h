// GPU side only. What cuDNN's attention made against float64: one head of keys with the heads of queries that share it
// is copied over, and rows of it are computed again.
#pragma once

#include "kernels/cuda/attention/cudnn_attention_graph.h"

#ifdef STEPCAST_HAS_CUDNN

#include "kernels/cuda/gpu_context.h"
#include "kernels/bench/gpu_bench.h"

namespace stepcast::kernels::gpu {

/// One set of buffers in device memory; those of the backward pass are null where there is none.
struct AttentionSet {
  void *q = nullptr, *k = nullptr, *v = nullptr, *o = nullptr, *statistics = nullptr;
  void *d_o = nullptr, *d_q = nullptr, *d_k = nullptr, *d_v = nullptr;
};

/// The forward pass, and the backward one too where d_o is not null, have run on this set.
Expected<Check> check_cudnn_attention(GpuContext& context, const CudnnAttentionShape& shape, const AttentionSet& set);

}  // namespace stepcast::kernels::gpu

#endif
