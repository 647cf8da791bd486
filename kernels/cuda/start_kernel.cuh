// GPU side only. Launching a kernel by its shape, with every error as ours.
#pragma once

#include "kernels/cuda/gpu_context.h"
#include "kernels/cuda/lane.cuh"

namespace stepcast::gpu {

/// Enqueued, not waited for. More than 48 KiB of dynamic shared memory must be asked for by kernel (CUDA C++
/// Programming Guide, "Shared Memory" of compute capability 7.x and later).
template <typename... Parameters, typename... Arguments>
Expected<void> start_kernel(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape,
                            cudaStream_t stream, Arguments... arguments) {
  constexpr std::size_t kUnasked = 48 << 10;
  if (shape.shared_bytes > kUnasked) {
    const auto status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(shape.shared_bytes));
    if (auto good = checked(status, "cudaFuncSetAttribute"); !good) return good;
  }
  kernel<<<dim3(shape.blocks), dim3(shape.threads, shape.rows_at_once), shape.shared_bytes, stream>>>(
      static_cast<Parameters>(arguments)...);
  return checked(cudaGetLastError(), name);
}

/// Blocks that one multiprocessor holds at once.
template <typename... Parameters>
Expected<int> blocks_per_sm(void (*kernel)(Parameters...), unsigned threads) {
  int blocks = 0;
  const auto status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), 0);
  if (auto good = checked(status, "cudaOccupancyMaxActiveBlocksPerMultiprocessor"); !good)
    return tl::unexpected(std::move(good.error()));
  return blocks > 0 ? blocks : 1;
}

}  // namespace stepcast::gpu
