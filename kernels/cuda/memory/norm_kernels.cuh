// GPU side only. RMSNorm with a weight (Zhang and Sennrich, arXiv 1910.07467), forward and backward. Device memory
// bounds both: forward reads and writes each element once; backward reads x and the gradient of the result, and writes
// that of x. LayerNorm moves the same. Rows are whole 16-byte vectors here, as the hidden sizes of models are.
#pragma once

#include "kernels/cuda/memory/row.cuh"

namespace stepcast::kernels::gpu {

constexpr float kNormEpsilon = 1e-5f;  // of Llama's config.json

/// y = x / sqrt(mean(x^2) + epsilon) * weight. The weight, `columns` elements, comes from the cache after the first
/// rows.
template <typename T, typename Storage, bool OneWarp>
__global__ void __launch_bounds__(1024)
    norm_kernel(const T* x, const T* weight, T* y, std::int64_t rows, int columns, int shared_vectors) {
  const std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (r >= rows) return;
  const RowPlace<T> place(r, columns);
  Storage row(kept_vectors(), shared_vectors);
  row.load(x, place, 0);
  float squares = 0;
  row.for_each(place, [&](int, float(&a)[kWidth<T>]) {
    STEPCAST_UNROLL
    for (int e = 0; e < kWidth<T>; ++e) squares = fmaf(a[e], a[e], squares);
  });
  const float mean = over_row<Sum, OneWarp>(squares, scratch()) / static_cast<float>(columns);
  const float scale = rsqrtf(mean + kNormEpsilon);
  row.for_each(place, [&](int v, float(&a)[kWidth<T>]) {
    float w[kWidth<T>], out[kWidth<T>];
    unpack<T>(load_cached(weight, v), w);
    STEPCAST_UNROLL
    for (int e = 0; e < kWidth<T>; ++e) out[e] = a[e] * scale * w[e];
    place.put(y, v, out);
  });
}

}  // namespace stepcast::kernels::gpu
