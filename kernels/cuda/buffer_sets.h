// GPU side only. One matrix of every set of buffers, one set behind another.
#pragma once

#include "kernels/cuda/gpu_context.h"

namespace stepcast::kernels::gpu {

class BufferSets {
 public:
  /// `copies` of so many bytes, each 256-byte aligned: what libraries suppose of matrices that cudaMalloc gave.
  static Expected<BufferSets> make(std::size_t bytes, int copies) {
    constexpr std::size_t kAlignment = 256;
    BufferSets sets;
    sets.stride_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    TRY(sets.memory_, DeviceBuffer::make(sets.stride_ * static_cast<std::size_t>(copies)));
    return sets;
  }
  [[nodiscard]] void* at(int copy) const { return memory_.as<>(static_cast<std::size_t>(copy) * stride_); }
  /// Of all sets, with what lies between them.
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }

 private:
  DeviceBuffer memory_;
  std::size_t stride_ = 0;
};

}  // namespace stepcast::kernels::gpu
