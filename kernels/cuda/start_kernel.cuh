// GPU side only. Launching a kernel by its shape, with every error as ours.
#pragma once

#include "kernels/cuda/gpu_context.h"
#include "kernels/cuda/lane.cuh"

namespace stepcast::kernels::gpu {

/// Allows a kernel all the dynamic shared memory that a block may have on this device. Not only what one launch needs:
/// the limit is the kernel's, and another size of the same kernel may be launched between, or sit in a graph.
template <typename... Parameters> Expected<void> allow_shared_memory(void (*kernel)(Parameters...)) {
  int device = 0, most = 0;
  TRY(checked(cudaGetDevice(&device), "cudaGetDevice"));
  const auto asked = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  TRY(checked(asked, "cudaDeviceGetAttribute"));
  cudaFuncAttributes attributes{};
  TRY(checked(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes"));
  const int dynamic = most - static_cast<int>(attributes.sharedSizeBytes);  // both together have the limit
  const auto status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic);
  return checked(status, "cudaFuncSetAttribute");
}

/// Enqueued, not waited for. More than 48 KiB of dynamic shared memory must be asked for by kernel (CUDA C++
/// Programming Guide, "Shared Memory" of compute capability 7.x and later).
template <typename... Parameters, typename... Arguments>
Expected<void> start_kernel(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape,
    cudaStream_t stream, Arguments... arguments) {
  constexpr std::size_t kUnasked = 48 << 10;
  if (shape.shared_bytes > kUnasked) TRY(allow_shared_memory(kernel));
  kernel<<<dim3(shape.blocks), dim3(shape.threads, shape.rows_at_once), shape.shared_bytes, stream>>>(
      static_cast<Parameters>(arguments)...);
  return checked(cudaGetLastError(), name);
}

/// Blocks that one multiprocessor holds at once, each with so much dynamic shared memory.
template <typename... Parameters>
Expected<int> blocks_per_sm(void (*kernel)(Parameters...), unsigned threads, std::size_t shared_bytes = 0) {
  int blocks = 0;
  const auto status =
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), shared_bytes);
  TRY(checked(status, "cudaOccupancyMaxActiveBlocksPerMultiprocessor"));
  return blocks > 0 ? blocks : 1;
}

}  // namespace stepcast::kernels::gpu
