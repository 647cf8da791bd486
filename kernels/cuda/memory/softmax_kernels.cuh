// GPU side only. Softmax over rows, its gradient, and cross-entropy over rows of logits. Device memory bounds them:
// each element of the input is read once and each of the result written once; the row waits on chip for its own maximum
// and sum.
#pragma once

#include "kernels/cuda/memory/row.cuh"

namespace stepcast::kernels::gpu {

constexpr float kMasked = -3.402823466e38f;  // takes no part in a maximum or, by way of the exponential, in a sum

/// The largest of a row, and the sum of of(x) over it. The subtraction comes first: of large numbers, a fused x log2(e)
/// - top log2(e) would leave the rounding error of the second product.
struct SoftmaxRow {
  float top, sum;
  __device__ float of(float x) const { return fast_exp2((x - top) * kLog2E); }
};

/// In registers, first the maximum, then the sum. Else both in one pass: a sum is scaled down when a larger maximum
/// turns up (Milakov and Gimelshein, arXiv 1805.02867).
template <typename T, bool OneWarp, typename Storage>
__device__ SoftmaxRow softmax_row(Storage& row, const RowPlace<T>& place) {
  float largest = kMasked, sum = 0;
  if constexpr (Storage::in_registers) {
    row.for_each(place, [&](int, float(&x)[kWidth<T>]) {
      STEPCAST_UNROLL
      for (int e = 0; e < kWidth<T>; ++e) largest = fmaxf(largest, x[e]);
    });
    const SoftmaxRow all{over_row<Max, OneWarp>(largest, scratch()), 0};
    row.for_each(place, [&](int, float(&x)[kWidth<T>]) {
      STEPCAST_UNROLL
      for (int e = 0; e < kWidth<T>; ++e) sum += all.of(x[e]);
    });
    return {all.top, over_row<Sum, OneWarp>(sum, scratch())};
  } else {
    row.for_each(place, [&](int, float(&x)[kWidth<T>]) {
      float here = largest;
      STEPCAST_UNROLL
      for (int e = 0; e < kWidth<T>; ++e) here = fmaxf(here, x[e]);
      sum *= fast_exp2((largest - here) * kLog2E);
      largest = here;
      STEPCAST_UNROLL
      for (int e = 0; e < kWidth<T>; ++e) sum += fast_exp2((x[e] - here) * kLog2E);
    });
    const float top = over_row<Max, OneWarp>(largest, scratch());
    sum *= fast_exp2((largest - top) * kLog2E);
    return {top, over_row<Sum, OneWarp>(sum, scratch())};
  }
}

template <typename T, typename Storage, bool OneWarp>
__global__ void __launch_bounds__(1024)
    softmax_kernel(const T* x, T* y, std::int64_t rows, int columns, int shared_vectors) {
  const std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (r >= rows) return;  // a whole warp where there are several, else no thread at all
  const RowPlace<T> place(r, columns);
  Storage row(kept_vectors(), shared_vectors);
  row.load(x, place, kMasked);
  const SoftmaxRow all = softmax_row<T, OneWarp>(row, place);
  const float scale = 1.0f / all.sum;
  row.for_each(place, [&](int v, float(&e)[kWidth<T>]) {
    float result[kWidth<T>];
    STEPCAST_UNROLL
    for (int i = 0; i < kWidth<T>; ++i) result[i] = all.of(e[i]) * scale;
    place.put(y, v, result);
  });
}

/// dx = y (dy - sum(y dy)): reads the softmax's result and its gradient.
template <typename T, typename Storage, bool OneWarp>
__global__ void __launch_bounds__(512)
    softmax_backward_kernel(const T* y, const T* dy, T* dx, std::int64_t rows, int columns, int shared_vectors) {
  const std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (r >= rows) return;
  const RowPlace<T> place(r, columns);
  Storage result(kept_vectors(), shared_vectors), gradient(kept_vectors() + shared_vectors, shared_vectors);
  result.load(y, place, 0);
  gradient.load(dy, place, 0);
  float dot = 0;
  for_both(result, gradient, place, [&](int, float(&a)[kWidth<T>], float(&b)[kWidth<T>]) {
    STEPCAST_UNROLL
    for (int e = 0; e < kWidth<T>; ++e) dot = fmaf(a[e], b[e], dot);
  });
  dot = over_row<Sum, OneWarp>(dot, scratch());
  for_both(result, gradient, place, [&](int v, float(&a)[kWidth<T>], float(&b)[kWidth<T>]) {
    float out[kWidth<T>];
    STEPCAST_UNROLL
    for (int e = 0; e < kWidth<T>; ++e) out[e] = a[e] * (b[e] - dot);
    place.put(dx, v, out);
  });
}

}  // namespace stepcast::kernels::gpu
