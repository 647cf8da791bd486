// GPU side only. The short number formats as bits, and their conversions: by the toolkit's headers under nvcc, by our
// own host code where kernels run on the CPU (tests/kernels/emulated/gpu.h).
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#else
#include "kernels/reference/number.h"
#endif

namespace stepcast::kernels::gpu {

// clang-format off
struct Bf16 { std::uint16_t bits; };
struct Fp16 { std::uint16_t bits; };
struct Fp8E4m3 { std::uint8_t bits; };
// clang-format on

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(Bf16 x) { return __uint_as_float(static_cast<std::uint32_t>(x.bits) << 16); }
#ifdef __CUDACC__
__device__ inline float to_float(Fp16 x) { return __half2float(__ushort_as_half(x.bits)); }
__device__ inline float to_float(Fp8E4m3 x) { return __half2float(__half(__nv_cvt_fp8_to_halfraw(x.bits, __NV_E4M3))); }
#else
inline float to_float(Fp16 x) { return from_fp16(x.bits); }
inline float to_float(Fp8E4m3 x) { return from_e4m3(x.bits); }
#endif

/// Rounds to nearest, ties to even; fp8 saturates at 448.
template <typename T> __device__ T from_float(float x);
#ifdef __CUDACC__
template <> __device__ inline float from_float<float>(float x) { return x; }
template <> __device__ inline Bf16 from_float<Bf16>(float x) { return {__bfloat16_as_ushort(__float2bfloat16_rn(x))}; }
template <> __device__ inline Fp16 from_float<Fp16>(float x) { return {__half_as_ushort(__float2half_rn(x))}; }
template <> __device__ inline Fp8E4m3 from_float<Fp8E4m3>(float x) {
  return {__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3)};
}
#else
template <> inline float from_float<float>(float x) { return x; }
template <> inline Bf16 from_float<Bf16>(float x) { return {to_bf16(x)}; }
template <> inline Fp16 from_float<Fp16>(float x) { return {to_fp16(x)}; }
template <> inline Fp8E4m3 from_float<Fp8E4m3>(float x) { return {to_e4m3(x)}; }
#endif

// Two numbers of 16 bits in one register, the first in the low half: one instruction converts both where the chip has
// it.
template <typename T> __device__ inline float2 pair_to_floats(std::uint32_t pair) {
  return make_float2(
      to_float(T{static_cast<std::uint16_t>(pair & 0xFFFFu)}), to_float(T{static_cast<std::uint16_t>(pair >> 16)}));
}
template <typename T> __device__ inline std::uint32_t pair_from_floats(float low, float high);
/// Two fp8 numbers, the first in the low byte.
__device__ inline std::uint16_t fp8_pair_from_floats(float low, float high);
#ifdef __CUDACC__
template <> __device__ inline std::uint32_t pair_from_floats<Bf16>(float low, float high) {
  const __nv_bfloat162_raw pair = __floats2bfloat162_rn(low, high);
  return static_cast<std::uint32_t>(pair.x) | static_cast<std::uint32_t>(pair.y) << 16;
}
template <> __device__ inline std::uint32_t pair_from_floats<Fp16>(float low, float high) {
  const __half2_raw pair = __floats2half2_rn(low, high);
  return static_cast<std::uint32_t>(pair.x) | static_cast<std::uint32_t>(pair.y) << 16;
}
__device__ inline std::uint16_t fp8_pair_from_floats(float low, float high) {
  return __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE, __NV_E4M3);
}
#else
template <typename T> inline std::uint32_t pair_from_floats(float low, float high) {
  return from_float<T>(low).bits | static_cast<std::uint32_t>(from_float<T>(high).bits) << 16;
}
inline std::uint16_t fp8_pair_from_floats(float low, float high) {
  return static_cast<std::uint16_t>(from_float<Fp8E4m3>(low).bits | from_float<Fp8E4m3>(high).bits << 8);
}
#endif

}  // namespace stepcast::kernels::gpu
