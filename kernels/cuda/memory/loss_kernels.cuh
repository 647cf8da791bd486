// GPU side only. Cross-entropy over rows of logits.
#pragma once

#include "kernels/cuda/memory/softmax_kernels.cuh"

namespace stepcast::kernels::gpu {

/// loss = log(sum(exp(x))) - x[target], and its gradient softmax(x) - (1 at the target) written over the logits. Device
/// memory bounds it: each logit is read and each gradient written once; 4 bytes of target and 4 of loss per row beside
/// them.
template <typename T, typename Storage, bool OneWarp>
__global__ void __launch_bounds__(1024) cross_entropy_kernel(
    T* logits, const int* targets, float* loss, std::int64_t rows, int columns, int shared_vectors) {
  const std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (r >= rows) return;
  const RowPlace<T> place(r, columns);
  const int target = targets[r];
  // Before anything is written over it: the barriers of the reductions below come between this and the first store of
  // any thread, or, where a row has one warp only, this one.
  const float wanted = to_float(logits[r * columns + target]);
  __syncwarp();
  Storage row(kept_vectors(), shared_vectors);
  row.load(logits, place, kMasked);
  const SoftmaxRow all = softmax_row<T, OneWarp>(row, place);
  if (threadIdx.x == 0) loss[r] = logf(all.sum) + (all.top - wanted);
  const float scale = 1.0f / all.sum;
  row.for_each(place, [&](int v, float(&e)[kWidth<T>]) {
    float gradient[kWidth<T>];
    STEPCAST_UNROLL
    for (int i = 0; i < kWidth<T>; ++i) {
      const bool right = v * kWidth<T> + i == place.skip + target;
      gradient[i] = all.of(e[i]) * scale - (right ? 1.0f : 0.0f);
    }
    place.put(logits, v, gradient);
  });
}

}  // namespace stepcast::kernels::gpu
