// GPU side only. Functions of single elements, for elementwise_kernel.
#pragma once

#include "kernels/cuda/lane.cuh"

namespace stepcast::gpu {

/// a + s b, of STREAM (McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance Computers", 1995).
struct Triad {
  static constexpr int reads = 2, writes = 1;
  float s;
  __device__ void operator()(const float (&in)[2], float (&out)[1]) const { out[0] = in[0] + s * in[1]; }
};

/// Of a layer's result to the stream that goes past it.
struct AddResidual {
  static constexpr int reads = 2, writes = 1;
  __device__ void operator()(const float (&in)[2], float (&out)[1]) const { out[0] = in[0] + in[1]; }
};

struct AddScalar {
  static constexpr int reads = 1, writes = 1;
  float s;
  __device__ void operator()(const float (&in)[1], float (&out)[1]) const { out[0] = in[0] + s; }
};

/// The tanh form of GELU: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel, arXiv 1606.08415,
/// section 2).
constexpr float kGeluScale = 0.7978845608028654f, kGeluCube = 0.044715f;
struct Gelu {
  static constexpr int reads = 1, writes = 1;
  __device__ void operator()(const float (&in)[1], float (&out)[1]) const {
    const float x = in[0];
    out[0] = 0.5f * x * (1.0f + fast_tanh(kGeluScale * (x + kGeluCube * x * x * x)));
  }
};
/// Reads x and the gradient of the result.
struct GeluBackward {
  static constexpr int reads = 2, writes = 1;
  __device__ void operator()(const float (&in)[2], float (&out)[1]) const {
    const float x = in[0];
    const float t = fast_tanh(kGeluScale * (x + kGeluCube * x * x * x));
    const float inner = kGeluScale * (1.0f + 3.0f * kGeluCube * x * x);
    out[0] = in[1] * 0.5f * (1.0f + t + x * (1.0f - t * t) * inner);
  }
};

/// silu(gate) up, with silu(x) = x sigmoid(x) (Shazeer, "GLU Variants Improve Transformer", arXiv 2002.05202).
struct SwiGlu {
  static constexpr int reads = 2, writes = 1;
  __device__ void operator()(const float (&in)[2], float (&out)[1]) const {
    out[0] = in[0] * fast_sigmoid(in[0]) * in[1];
  }
};
/// Reads gate, up and the gradient of the result; writes the gradients of gate and up.
struct SwiGluBackward {
  static constexpr int reads = 3, writes = 2;
  __device__ void operator()(const float (&in)[3], float (&out)[2]) const {
    const float gate = in[0], up = in[1], dy = in[2];
    const float s = fast_sigmoid(gate);
    out[0] = dy * up * s * (1.0f + gate * (1.0f - s));
    out[1] = dy * gate * s;
  }
};

}  // namespace stepcast::gpu
