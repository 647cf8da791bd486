// GPU side only. The compiled forms of attention's kernels and their launches: attention_forward.cu,
// attention_backward.cu.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/gpu_context.h"
#include "kernels/reference/attention_reference.h"

namespace stepcast::kernels::gpu {

/// Tensors of one call, as attention_tile.cuh says. lse: [batch, heads, positions] in fp32.
struct AttentionTensors {
  const std::uint16_t *queries = nullptr, *keys = nullptr, *values = nullptr, *result_gradient = nullptr;
  std::uint16_t *result = nullptr, *query_gradient = nullptr, *key_gradient = nullptr, *value_gradient = nullptr;
  float* lse = nullptr;
};

/// A kernel as compiled for one type and size of heads.
struct AttentionKernel {
  const void* function = nullptr;
  int rows = 0;  ///< positions of a block
  int step = 0;  ///< positions that these meet at once; 0: none
  int threads = 0, shared_bytes = 0;
};
/// Lets the kernel use that much shared memory; fails where the device has less.
Expected<void> admit(const AttentionKernel& kernel);
/// Of kernels compiled for a virtual architecture below 8.0 (whatever the card) the ones in bf16 do nothing but trap.
Expected<bool> compiled_for_bf16(const AttentionKernel& kernel);
/// One block for each `rows` positions of each of `heads` heads.
Expected<void> launch_kernel(const AttentionKernel& kernel, const AttentionShape& shape, std::int64_t heads,
    std::int64_t positions, void* arguments, cudaStream_t stream);

/// By head_dim (64, 128); fp16 or bf16.
AttentionKernel attention_forward_kernel_for(bool bf16, int head_dim);
Expected<void> launch_attention_forward(
    const AttentionKernel& kernel, const AttentionShape& shape, const AttentionTensors& tensors, cudaStream_t stream);

/// The backward pass is four to six launches: memory to zero, statistics of queries, gradients, conversions.
struct AttentionBackwardKernels {
  AttentionKernel gradients, statistics, convert_queries, convert_keys;
};
/// The fastest form whose shared memory the device has; `gradients.function` null where none fits.
AttentionBackwardKernels attention_backward_kernels_for(bool bf16, int head_dim, int shared_bytes);

/// Where parts of the workspace start, in bytes. Sums lie together: they are set to zero at once.
struct AttentionWorkspace {
  std::size_t statistics = 0, query_sums = 0, key_sums = 0, value_sums = 0, end = 0;
};
AttentionWorkspace attention_workspace(const AttentionBackwardKernels& kernels, const AttentionShape& shape);
Expected<void> launch_attention_backward(const AttentionBackwardKernels& kernels, const AttentionShape& shape,
    const AttentionTensors& tensors, const DeviceBuffer& workspace, cudaStream_t stream);

}  // namespace stepcast::kernels::gpu
