#include "kernels/cuda/attention/attention_forward.cuh"

#include "kernels/cuda/attention/attention_launch.h"
#include "kernels/cuda/attention/attention_sizes.cuh"

namespace stepcast::kernels::gpu {
namespace {

template <HalfType type, int head_dim> AttentionKernel forward_kernel() {
  using Tile = ForwardTile<head_dim>;
  return {reinterpret_cast<const void*>(&attention_forward_kernel<type, head_dim>), Tile::queries, Tile::keys,
      Tile::threads, Tile::shared_bytes};
}

}  // namespace

AttentionKernel attention_forward_kernel_for(bool bf16, int head_dim) {
  if (head_dim == 64) return bf16 ? forward_kernel<HalfType::bf16, 64>() : forward_kernel<HalfType::fp16, 64>();
  return bf16 ? forward_kernel<HalfType::bf16, 128>() : forward_kernel<HalfType::fp16, 128>();
}

Expected<void> launch_attention_forward(
    const AttentionKernel& kernel, const AttentionShape& shape, const AttentionTensors& tensors, cudaStream_t stream) {
  AttentionForwardArguments arguments{
      tensors.queries, tensors.keys, tensors.values, tensors.result, tensors.lse, attention_sizes(shape)};
  return launch_kernel(kernel, shape, shape.heads, shape.positions, &arguments, stream);
}

Expected<void> admit(const AttentionKernel& kernel) {
  return checked(
      cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.shared_bytes),
      "cudaFuncSetAttribute");
}

Expected<bool> compiled_for_bf16(const AttentionKernel& kernel) {
  cudaFuncAttributes attributes{};
  TRY(checked(cudaFuncGetAttributes(&attributes, kernel.function), "cudaFuncGetAttributes"));
  return attributes.ptxVersion >= 80;
}

Expected<void> launch_kernel(const AttentionKernel& kernel, const AttentionShape& shape, std::int64_t heads,
    std::int64_t positions, void* arguments, cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>((positions + kernel.rows - 1) / kernel.rows), static_cast<unsigned>(heads),
      static_cast<unsigned>(shape.batch));
  return checked(cudaLaunchKernel(kernel.function, blocks, dim3(static_cast<unsigned>(kernel.threads)), &arguments,
                     static_cast<std::size_t>(kernel.shared_bytes), stream),
      "cudaLaunchKernel");
}

}  // namespace stepcast::kernels::gpu
