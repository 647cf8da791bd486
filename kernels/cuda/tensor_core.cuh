// What a warp does as one on the way through its tensor cores, each instruction behind a function, so that the kernels
// above them run on the CPU too (tests/kernels/cuda/tensor_core.h defines the same functions there). Layouts of
// fragments: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and "ldmatrix". With g = lane / 4
// and t = lane % 4:
//   a[16][16]: a[0] holds row g, columns 2t and 2t+1; a[1] row g+8; a[2] and a[3] the same rows 8 columns on
//   b[16][8]:  b[0] holds rows 2t and 2t+1 of column g; b[1] 8 rows on
//   sum[16][8]: sum[0], sum[1] are row g, columns 2t and 2t+1; sum[2], sum[3] row g+8
// so that two sums side by side, rounded and packed, are the a of a next product.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace stepcast::kernels::gpu {

enum class HalfType : std::uint8_t { fp16, bf16 };

/// Byte address in the block's shared memory: half the registers of a pointer.
using SharedAddress = std::uint32_t;

/// Start of the block's dynamic shared memory, a multiple of 256.
__device__ __forceinline__ SharedAddress shared_start();

/// sum += a b. On compute capability 7.5 two products of half the depth, and fp16 alone.
template <HalfType type>
__device__ __forceinline__ void mma_16x8x16(
    float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);

/// Four 8x8 matrices of 2-byte elements: lane l gives the address of row l % 8 of matrix l / 8, 16-byte aligned, and
/// gets of each matrix elements 2t and 2t+1 of row g; transposed: of column g.
__device__ __forceinline__ void ldmatrix_x4(std::uint32_t (&matrices)[4], SharedAddress row);
__device__ __forceinline__ void ldmatrix_x4_trans(std::uint32_t (&matrices)[4], SharedAddress row);

/// 16 bytes from global to shared memory, both 16-byte aligned; zeros where not `valid`, which reads nothing. There
/// after the thread's commit and wait; visible to others after a barrier then. Below 8.0 an ordinary copy.
__device__ __forceinline__ void cp_async_16(SharedAddress to, const void* from, bool valid);
__device__ __forceinline__ void cp_async_commit();
/// For all that this thread has committed.
__device__ __forceinline__ void cp_async_wait_all();

__device__ __forceinline__ void store_shared(SharedAddress to, std::uint32_t word);
__device__ __forceinline__ float4 load_shared_4(SharedAddress from);

/// The thread's number, read anew: what follows from it is computed where it is used, not before a loop and then held
/// in registers through it. The same of a number.
__device__ __forceinline__ int thread_anew();
__device__ __forceinline__ void compute_anew(std::uint32_t& number);

/// 2^x to two units in the last place; 0 below 2^-126.
__device__ __forceinline__ float exp2_fast(float x);

/// Two numbers rounded to nearest, `low` in the low half, and back.
template <HalfType type> __device__ __forceinline__ std::uint32_t pack_halves(float low, float high);
template <HalfType type> __device__ __forceinline__ float2 unpack_halves(std::uint32_t packed);

/// Adds a sum fragment into global memory, in an order of its own: number `fragment` of those that a block of `threads`
/// threads adds up at `into`. read_fragment finds it again from the thread that has the same number.
__device__ __forceinline__ void add_fragment(float* into, int fragment, int threads, const float (&sum)[4]);
__device__ __forceinline__ float4 read_fragment(const float* from, int fragment, int threads);

#ifdef __CUDACC__

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define STEPCAST_ASYNC_COPIES 1
#else
#define STEPCAST_ASYNC_COPIES 0
#endif

__device__ __forceinline__ SharedAddress shared_start() {
  extern __shared__ __align__(256) unsigned char stepcast_dynamic_shared[];
  return static_cast<SharedAddress>(__cvta_generic_to_shared(stepcast_dynamic_shared));
}

template <HalfType type>
__device__ __forceinline__ void mma_16x8x16(
    float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
#if STEPCAST_ASYNC_COPIES
  if constexpr (type == HalfType::bf16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
#else
  if constexpr (type == HalfType::bf16) {
    __trap();  // make_attention refuses it
  } else {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b0));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[2]), "r"(a[3]), "r"(b1));
  }
#endif
}

__device__ __forceinline__ void ldmatrix_x4(std::uint32_t (&matrices)[4], SharedAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(row)
               : "memory");
}

__device__ __forceinline__ void ldmatrix_x4_trans(std::uint32_t (&matrices)[4], SharedAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(row)
               : "memory");
}

__device__ __forceinline__ void cp_async_16(SharedAddress to, const void* from, bool valid) {
#if STEPCAST_ASYNC_COPIES
  // The last operand is how many bytes are read; the rest of the 16 becomes zero.
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(to), "l"(__cvta_generic_to_global(from)), "r"(valid ? 16 : 0)
               : "memory");
#else
  uint4 words = make_uint4(0, 0, 0, 0);
  if (valid) words = *static_cast<const uint4*>(from);
  asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};"
               :
               : "r"(to), "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w)
               : "memory");
#endif
}

__device__ __forceinline__ void cp_async_commit() {
#if STEPCAST_ASYNC_COPIES
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

__device__ __forceinline__ void cp_async_wait_all() {
#if STEPCAST_ASYNC_COPIES
  asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
}

__device__ __forceinline__ void store_shared(SharedAddress to, std::uint32_t word) {
  asm volatile("st.shared.u32 [%0], %1;" : : "r"(to), "r"(word) : "memory");
}

__device__ __forceinline__ float4 load_shared_4(SharedAddress from) {
  float4 four;
  asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
               : "r"(from)
               : "memory");
  return four;
}

__device__ __forceinline__ int thread_anew() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

__device__ __forceinline__ void compute_anew(std::uint32_t& number) { asm volatile("" : "+r"(number)); }

__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

template <HalfType type> __device__ __forceinline__ std::uint32_t pack_halves(float low, float high) {
  if constexpr (type == HalfType::bf16) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&pair);
  } else {
    const __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&pair);
  }
}

template <HalfType type> __device__ __forceinline__ float2 unpack_halves(std::uint32_t packed) {
  if constexpr (type == HalfType::bf16) {
    return make_float2(__uint_as_float(packed << 16), __uint_as_float(packed & 0xffff0000U));
  } else {
    return __half22float2(*reinterpret_cast<const __half2*>(&packed));
  }
}

// Neighbouring threads add to neighbouring addresses, so that a warp's request is whole sectors: as vectors of four
// where the GPU has such (9.0, CUDA C++ Programming Guide, "atomicAdd"), else one word of each fragment at a time.
__device__ __forceinline__ void add_fragment(float* into, int fragment, int threads, const float (&sum)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  atomicAdd(
      reinterpret_cast<float4*>(into) + fragment * threads + threadIdx.x, make_float4(sum[0], sum[1], sum[2], sum[3]));
#else
  for (int i = 0; i < 4; ++i) atomicAdd(into + (fragment * 4 + i) * threads + threadIdx.x, sum[i]);
#endif
}

__device__ __forceinline__ float4 read_fragment(const float* from, int fragment, int threads) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return reinterpret_cast<const float4*>(from)[fragment * threads + threadIdx.x];
#else
  const float* word = from + fragment * 4 * threads + threadIdx.x;
  return make_float4(word[0], word[threads], word[2 * threads], word[3 * threads]);
#endif
}

#endif  // __CUDACC__

}  // namespace stepcast::kernels::gpu
