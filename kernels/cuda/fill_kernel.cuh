// GPU side only. Normal random numbers for a buffer. Real data matters: zeros or small integers draw less power, so
// that a card clocks higher than in training (thonking.ai, "Strangely, Matrix Multiplications on GPUs Run Faster When
// Given "Predictable" Data": A100 295 TFLOP/s on zeros, 257 on normal numbers).
#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/cuda/number.cuh"

namespace stepcast::kernels::gpu {

/// What a type cannot hold becomes its largest number, never infinity.
template <typename T> __device__ inline T stored(float value) { return from_float<T>(value); }
template <> __device__ inline Fp16 stored<Fp16>(float value) {
  return from_float<Fp16>(fminf(fmaxf(value, -65504.0f), 65504.0f));
}
template <> __device__ inline Fp8E4m3 stored<Fp8E4m3>(float value) {
  return from_float<Fp8E4m3>(fminf(fmaxf(value, -448.0f), 448.0f));
}

/// 64 bits that depend on every bit of the counter: the mixing function of SplitMix64 (Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014).
__device__ inline unsigned long long mixed(unsigned long long counter) {
  counter += 0x9e3779b97f4a7c15ull;
  counter = (counter ^ (counter >> 30)) * 0xbf58476d1ce4e5b9ull;
  counter = (counter ^ (counter >> 27)) * 0x94d049bb133111ebull;
  return counter ^ (counter >> 31);
}

/// Two independent normal numbers (Box and Muller 1958). The radius comes from a number in (0, 1]: never infinite, at
/// most 5.8.
__device__ inline float2 normal_pair(unsigned long long seed, unsigned long long pair) {
  constexpr float per_24_bits = 0x1p-24f, full_turn = 6.28318531f;
  const unsigned long long bits = mixed(mixed(seed) + pair);
  const float uniform = static_cast<float>((bits >> 40) + 1) * per_24_bits;
  const float angle = static_cast<float>((bits >> 16) & 0xffffffull) * per_24_bits * full_turn;
  const float radius = sqrtf(-2.0f * logf(uniform));
  return make_float2(radius * cosf(angle), radius * sinf(angle));
}

template <typename T> struct alignas(2 * sizeof(T)) TwoOf { T first, second; };

/// `data` is aligned to two elements.
template <typename T>
__global__ void fill_normal(T* data, std::size_t elements, unsigned long long seed, float deviation) {
  const std::size_t pairs = elements / 2, threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::size_t pair = thread; pair < pairs; pair += threads) {
    const float2 values = normal_pair(seed, pair);
    TwoOf<T> both;
    both.first = stored<T>(deviation * values.x);
    both.second = stored<T>(deviation * values.y);
    reinterpret_cast<TwoOf<T>*>(data)[pair] = both;
  }
  if (thread == 0 && elements % 2 == 1) data[elements - 1] = stored<T>(deviation * normal_pair(seed, pairs).x);
}

}  // namespace stepcast::kernels::gpu
