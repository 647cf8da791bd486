#include "kernels/cuda/fill_kernel.cuh"

#include <algorithm>

#include "kernels/cuda/gpu_context.h"

namespace stepcast::kernels::gpu {
namespace {

template <typename T>
Expected<void> start_fill(const GpuContext& context, void* data, std::size_t elements, double deviation) {
  constexpr unsigned threads = 256, blocks_per_sm = 8;  // full occupancy: 2048 threads
  if (reinterpret_cast<std::uintptr_t>(data) % alignof(TwoOf<T>) != 0) {
    return fail("fill", "a buffer that is not aligned to two elements", "buffers as cudaMalloc gives them");
  }
  const std::size_t wanted = (elements / 2 + threads) / threads;
  const auto most = static_cast<std::size_t>(std::max(context.device.sm_count, 1)) * blocks_per_sm;
  const auto blocks = static_cast<unsigned>(std::min(wanted, most));
  fill_normal<<<blocks, threads, 0, context.stream>>>(
      static_cast<T*>(data), elements, context.seed, static_cast<float>(deviation));
  return checked(cudaGetLastError(), "fill");
}

Expected<void> start_fill_of(const GpuContext& context, void* data, std::size_t elements, Fill type, double deviation) {
  switch (type) {
    case Fill::fp32: return start_fill<float>(context, data, elements, deviation);
    case Fill::fp16: return start_fill<Fp16>(context, data, elements, deviation);
    case Fill::bf16: return start_fill<Bf16>(context, data, elements, deviation);
    case Fill::fp8_e4m3: return start_fill<Fp8E4m3>(context, data, elements, deviation);
    case Fill::zero: break;
  }
  return checked(cudaMemsetAsync(data, 0, elements, context.stream), "cudaMemsetAsync");
}

std::size_t bytes_per_element(Fill type) {
  switch (type) {
    case Fill::fp32: return 4;
    case Fill::fp16:
    case Fill::bf16: return 2;
    case Fill::fp8_e4m3:
    case Fill::zero: break;
  }
  return 1;
}

}  // namespace

Expected<void> GpuContext::fill(void* data, std::size_t elements, Fill type, double deviation) {
  if (elements == 0) return {};
  TRY(start_fill_of(*this, data, elements, type, deviation));
  ++seed;
  return wait("fill");
}

Expected<DeviceBuffer> GpuContext::filled(std::size_t elements, Fill type, double deviation) {
  auto buffer = DeviceBuffer::make(elements * bytes_per_element(type));
  if (!buffer) return buffer;
  TRY(fill(buffer->as(), elements, type, deviation));
  return buffer;
}

}  // namespace stepcast::kernels::gpu
