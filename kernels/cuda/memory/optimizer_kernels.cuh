// GPU side only. One step of Adam with decoupled weight decay (Kingma and Ba, arXiv 1412.6980, algorithm 1; Loshchilov
// and Hutter, arXiv 1711.05101, algorithm 2) on fp32 master weights, with gradients that were added up in fp32. Device
// memory bounds it: weight, gradient and two moments are read, weight, moments and the 16-bit copy written: 30 bytes
// per weight.
#pragma once

#include "kernels/cuda/memory/stream.cuh"

namespace stepcast::kernels::gpu {

struct AdamStep {
  float rate = 1e-4f, beta1 = 0.9f, beta2 = 0.95f, epsilon = 1e-8f, decay = 0.1f;  // arXiv 2005.14165 appendix B
  float correction1 = 1, correction2 = 1;                                          ///< 1 / (1 - beta^t)
};

struct AdamArrays {
  const float* gradient;
  float *weight, *mean, *square;
};

/// The four arrays at one place.
struct AdamSlice {
  uint4 gradient, weight, mean, square;
};

template <typename Copy>
__global__ void __launch_bounds__(kStreamThreads)
    adam_kernel(AdamStep step, AdamArrays at, Copy* copy, std::int64_t vectors) {
  const auto load = [&](std::int64_t i) {
    return AdamSlice{load_streaming(at.gradient, i), load_streaming(at.weight, i), load_streaming(at.mean, i),
        load_streaming(at.square, i)};
  };
  for_each_vector<2>(vectors, load, [&](std::int64_t i, const AdamSlice& slice) {
    float g[4], w[4], m[4], v[4];
    unpack<float>(slice.gradient, g);
    unpack<float>(slice.weight, w);
    unpack<float>(slice.mean, m);
    unpack<float>(slice.square, v);
    STEPCAST_UNROLL
    for (int e = 0; e < 4; ++e) {
      m[e] = step.beta1 * m[e] + (1.0f - step.beta1) * g[e];
      v[e] = step.beta2 * v[e] + (1.0f - step.beta2) * g[e] * g[e];
      const float size = sqrtf(v[e] * step.correction2) + step.epsilon;
      w[e] -= step.rate * (m[e] * step.correction1 / size + step.decay * w[e]);
    }
    store(at.weight, i, pack<float>(w));
    store(at.mean, i, pack<float>(m));
    store(at.square, i, pack<float>(v));
    reinterpret_cast<uint2*>(copy)[i] =
        make_uint2(pair_from_floats<Copy>(w[0], w[1]), pair_from_floats<Copy>(w[2], w[3]));
  });
}

}  // namespace stepcast::kernels::gpu
