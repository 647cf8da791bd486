// GPU side only. What operations on one GPU share: the device, buffers on it, and the error of a CUDA call as ours.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "kernels/bench/device.h"
#include "model/base/error.h"

namespace stepcast::kernels::gpu {

/// "cudaMalloc: out of memory", at what was being done.
inline Expected<void> checked(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return {};
  // Clears the error where the device survived it, so that the next call does not report it again.
  (void)cudaGetLastError();
  return fail(call, cudaGetErrorString(status), cudaGetErrorName(status));
}

/// What the CUDA runtime made, given back to it with the object.
template <auto destroy> struct GiveBack {
  template <typename Handle> void operator()(Handle handle) const { (void)destroy(handle); }
};
template <typename Handle, auto destroy>
using OwnedHandle = std::unique_ptr<std::remove_pointer_t<Handle>, GiveBack<destroy>>;

/// Memory of the GPU.
class DeviceBuffer {
 public:
  /// At least 256-byte aligned. Fails when the memory is used up.
  static Expected<DeviceBuffer> make(std::size_t bytes) {
    void* data = nullptr;
    TRY(checked(cudaMalloc(&data, bytes > 0 ? bytes : 1), "cudaMalloc"));
    DeviceBuffer buffer;
    buffer.data_.reset(data);
    buffer.bytes_ = bytes;
    return buffer;
  }
  template <typename T = void> [[nodiscard]] T* as(std::size_t byte_offset = 0) const {
    return reinterpret_cast<T*>(static_cast<unsigned char*>(data_.get()) + byte_offset);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  OwnedHandle<void*, cudaFree> data_;
  std::size_t bytes_ = 0;
};

/// What a buffer is filled with: random numbers of a type, or zeros, where an element is one byte.
enum class Fill : std::uint8_t { fp32, fp16, bf16, fp8_e4m3, zero };

struct GpuContext {
  int index = 0;
  DeviceInfo device;
  cudaStream_t stream = nullptr;       ///< where checks run and replays are timed
  cudaStream_t side_stream = nullptr;  ///< where work beside runs
  std::uint64_t seed = 1;              ///< of the next fill; fill() moves it on

  [[nodiscard]] bool at_least(int major, int minor) const {
    return device.capability_major > major || (device.capability_major == major && device.capability_minor >= minor);
  }
  /// Makes this GPU the one that the calling thread's CUDA calls go to.
  [[nodiscard]] Expected<void> use() const { return checked(cudaSetDevice(index), "cudaSetDevice"); }
  /// Normal numbers of mean 0 and the given deviation, on `stream`, waited for (fill.cu). Never NaN or infinite: what a
  /// type cannot hold becomes its largest number. `data` is aligned to two elements.
  Expected<void> fill(void* data, std::size_t elements, Fill type, double deviation = 1);
  /// A new buffer, filled. For zeros `elements` counts bytes, as in fill.
  Expected<DeviceBuffer> filled(std::size_t elements, Fill type, double deviation = 1);
  /// Waits for `stream`; a kernel's error comes out here.
  Expected<void> wait(const char* what) const { return checked(cudaStreamSynchronize(stream), what); }
};

}  // namespace stepcast::kernels::gpu
