// GPU side only. One kernel for all functions that take elements at one place of some arrays to elements at the same
// place of others. Device memory bounds it: each input is read and each result written once.
#pragma once

#include "kernels/cuda/memory/stream.cuh"

namespace stepcast::kernels::gpu {

template <typename T, int Reads, int Writes> struct Arrays {
  const T* in[Reads];
  T* out[Writes];
};

/// The same place of each input.
template <int Reads> struct Slice { uint4 of[Reads]; };

/// Op: constants `reads` and `writes`, and operator()(const float (&in)[reads], float (&out)[writes]). A result may be
/// written over an input. Elements beyond the last whole vector are done by single lanes.
template <typename Op, typename T>
__global__ void __launch_bounds__(kStreamThreads)
    elementwise_kernel(Op op, Arrays<T, Op::reads, Op::writes> at, std::int64_t elements) {
  constexpr int W = kWidth<T>, R = Op::reads;
  const auto load = [&](std::int64_t i) {
    Slice<R> slice;
    STEPCAST_UNROLL
    for (int r = 0; r < R; ++r) slice.of[r] = load_streaming(at.in[r], i);
    return slice;
  };
  const auto finish = [&](std::int64_t i, const Slice<R>& slice) {
    float x[R][W], y[Op::writes][W];
    STEPCAST_UNROLL
    for (int r = 0; r < R; ++r) unpack<T>(slice.of[r], x[r]);
    STEPCAST_UNROLL
    for (int e = 0; e < W; ++e) {
      float in[R], out[Op::writes];
      STEPCAST_UNROLL
      for (int r = 0; r < R; ++r) in[r] = x[r][e];
      op(in, out);
      STEPCAST_UNROLL
      for (int w = 0; w < Op::writes; ++w) y[w][e] = out[w];
    }
    STEPCAST_UNROLL
    for (int w = 0; w < Op::writes; ++w) store(at.out[w], i, pack<T>(y[w]));
  };
  for_each_vector<R == 1 ? 4 : 2>(elements / W, load, finish);

  const std::int64_t rest = elements / W * W + threadIdx.x;
  if (blockIdx.x != 0 || rest >= elements) return;
  float in[R], out[Op::writes];
  STEPCAST_UNROLL
  for (int r = 0; r < R; ++r) in[r] = to_float(at.in[r][rest]);
  op(in, out);
  STEPCAST_UNROLL
  for (int w = 0; w < Op::writes; ++w) at.out[w][rest] = from_float<T>(out[w]);
}

}  // namespace stepcast::kernels::gpu
