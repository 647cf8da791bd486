// GPU side only. Functions of single elements, for elementwise_kernel, each with its reference: the results for one
// place of the inputs, in float64.
#pragma once

#include "kernels/cuda/lane.cuh"
#include "kernels/reference/memory_reference.h"

namespace stepcast::kernels::gpu {

/// a + s b, of STREAM (McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance Computers", 1995).
struct Triad {
  static constexpr int reads = 2, writes = 1;
  float s = 0.75f;  ///< exact in every format
  __device__ void operator()(const float (&in)[2], float (&out)[1]) const { out[0] = in[0] + s * in[1]; }
  reference::Values reference(reference::Numbers in) const { return {in[0] + static_cast<double>(s) * in[1]}; }
};

/// Of a layer's result to the stream that goes past it.
struct AddResidual {
  static constexpr int reads = 2, writes = 1;
  __device__ void operator()(const float (&in)[2], float (&out)[1]) const { out[0] = in[0] + in[1]; }
  static reference::Values reference(reference::Numbers in) { return {in[0] + in[1]}; }
};

struct AddScalar {
  static constexpr int reads = 1, writes = 1;
  float s = 0.75f;  ///< exact in every format
  __device__ void operator()(const float (&in)[1], float (&out)[1]) const { out[0] = in[0] + s; }
  reference::Values reference(reference::Numbers in) const { return {in[0] + static_cast<double>(s)}; }
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
  static reference::Values reference(reference::Numbers in) { return {reference::gelu(in[0])}; }
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
  static reference::Values reference(reference::Numbers in) { return {reference::gelu_gradient(in[0], in[1])}; }
};

/// silu(gate) up, with silu(x) = x sigmoid(x) (Shazeer, "GLU Variants Improve Transformer", arXiv 2002.05202).
struct SwiGlu {
  static constexpr int reads = 2, writes = 1;
  __device__ void operator()(const float (&in)[2], float (&out)[1]) const {
    out[0] = in[0] * fast_sigmoid(in[0]) * in[1];
  }
  static reference::Values reference(reference::Numbers in) { return {reference::silu(in[0]) * in[1]}; }
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
  static reference::Values reference(reference::Numbers in) {
    const auto gradient = reference::swiglu_gradient(in[0], in[1], in[2]);
    return {gradient.gate, gradient.up};
  }
};

}  // namespace stepcast::kernels::gpu
