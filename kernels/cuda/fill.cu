// Buffers of normal random numbers. Real data matters: zeros or small integers draw less power, so that a card clocks
// higher than in training (thonking.ai, "Strangely, Matrix Multiplications on GPUs Run Faster When Given Predictable
// Data": A100 295 TFLOP/s on zeros, 257 on normal numbers).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>

#include "kernels/cuda/gpu_context.h"

namespace stepcast::gpu {
namespace {

constexpr float kLargestFp16 = 65504.0f, kLargestFp8 = 448.0f;  // e4m3

__device__ void store(float& into, float value) { into = value; }
__device__ void store(__half& into, float value) {
  into = __float2half_rn(fminf(fmaxf(value, -kLargestFp16), kLargestFp16));
}
__device__ void store(__nv_bfloat16& into, float value) { into = __float2bfloat16_rn(value); }
__device__ void store(__nv_fp8_e4m3& into, float value) {
  into = __nv_fp8_e4m3(fminf(fmaxf(value, -kLargestFp8), kLargestFp8));
}

/// 64 bits that depend on every bit of the counter: the mixing function of SplitMix64 (Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014).
__device__ unsigned long long mixed(unsigned long long counter) {
  counter += 0x9e3779b97f4a7c15ull;
  counter = (counter ^ (counter >> 30)) * 0xbf58476d1ce4e5b9ull;
  counter = (counter ^ (counter >> 27)) * 0x94d049bb133111ebull;
  return counter ^ (counter >> 31);
}

/// Two independent normal numbers (Box and Muller 1958). The radius comes from a number in (0, 1]: never infinite, at
/// most 5.8.
__device__ float2 normal_pair(unsigned long long seed, unsigned long long pair) {
  const unsigned long long bits = mixed(seed * 0x632be59bd9b4e019ull + pair);
  const float uniform = static_cast<float>((bits >> 40) + 1) * 0x1p-24f;
  const float turns = static_cast<float>((bits >> 16) & 0xffffffu) * 0x1p-24f;
  const float radius = sqrtf(-2.0f * logf(uniform));
  float sine = 0, cosine = 0;
  sincospif(2.0f * turns, &sine, &cosine);
  return {radius * cosine, radius * sine};
}

template <typename T>
struct alignas(2 * sizeof(T)) TwoOf { T first, second; };

template <typename T>
__global__ void fill_normal(T* data, std::size_t elements, unsigned long long seed, float deviation) {
  const std::size_t pairs = elements / 2, threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::size_t pair = thread; pair < pairs; pair += threads) {
    const float2 values = normal_pair(seed, pair);
    TwoOf<T> both;
    store(both.first, deviation * values.x);
    store(both.second, deviation * values.y);
    reinterpret_cast<TwoOf<T>*>(data)[pair] = both;
  }
  if (thread == 0 && elements % 2 == 1) store(data[elements - 1], deviation * normal_pair(seed, pairs).x);
}

template <typename T>
Expected<void> start_fill(const GpuContext& context, void* data, std::size_t elements, double deviation) {
  constexpr unsigned threads = 256, blocks_per_sm = 8;  // full occupancy: 2048 threads
  if (reinterpret_cast<std::uintptr_t>(data) % sizeof(TwoOf<T>) != 0) {
    return fail("fill", "a buffer that is not aligned to two elements");
  }
  const std::size_t wanted = (elements / 2 + threads) / threads;
  const auto most = static_cast<std::size_t>(std::max(context.device.sm_count, 1)) * blocks_per_sm;
  const auto blocks = static_cast<unsigned>(std::min(wanted, most));
  fill_normal<<<blocks, threads, 0, context.stream>>>(static_cast<T*>(data), elements, context.seed,
                                                      static_cast<float>(deviation));
  return checked(cudaGetLastError(), "fill");
}

Expected<void> start_fill_of(const GpuContext& context, void* data, std::size_t elements, Fill type, double deviation) {
  switch (type) {
    case Fill::fp32: return start_fill<float>(context, data, elements, deviation);
    case Fill::fp16: return start_fill<__half>(context, data, elements, deviation);
    case Fill::bf16: return start_fill<__nv_bfloat16>(context, data, elements, deviation);
    case Fill::fp8_e4m3: return start_fill<__nv_fp8_e4m3>(context, data, elements, deviation);
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
  if (auto good = start_fill_of(*this, data, elements, type, deviation); !good) return good;
  ++seed;
  return wait("fill");
}

Expected<DeviceBuffer> GpuContext::filled(std::size_t elements, Fill type, double deviation) {
  auto buffer = DeviceBuffer::make(elements * bytes_per_element(type));
  if (!buffer) return buffer;
  if (auto good = fill(buffer->as(), elements, type, deviation); !good) return tl::unexpected(std::move(good.error()));
  return buffer;
}

}  // namespace stepcast::gpu
