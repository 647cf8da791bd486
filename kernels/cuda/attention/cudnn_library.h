// GPU side only. cuDNN's graph interface, loaded when first needed. Only what was built with its headers has it.
#pragma once

#if __has_include(<cudnn.h>)
#define STEPCAST_HAS_CUDNN 1
#include <cudnn.h>

#include <cstdint>
#include <utility>

#include "model/base/error.h"

namespace stepcast::gpu {

struct CudnnLibrary {
  decltype(&cudnnGetVersion) version = nullptr;
  decltype(&cudnnGetErrorString) status_text = nullptr;
  decltype(&cudnnGetLastErrorString) last_error = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) descriptor_create = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) descriptor_destroy = nullptr;
  decltype(&cudnnBackendSetAttribute) attribute_set = nullptr;
  decltype(&cudnnBackendGetAttribute) attribute_get = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;

  /// "cudnnBackendFinalize: CUDNN_STATUS_NOT_SUPPORTED", with what the library itself says about it as the hint.
  [[nodiscard]] Expected<void> checked(cudnnStatus_t status, const char* call) const;
};

/// Loaded once per process; the failure is remembered as well.
Expected<const CudnnLibrary*> cudnn_library();

/// A handle of this device, made once and kept until the process ends. The device must be the current one.
Expected<cudnnHandle_t> cudnn_handle(int device);

/// A descriptor of the graph interface, destroyed with the object.
class CudnnDescriptor {
 public:
  static Expected<CudnnDescriptor> make(const CudnnLibrary& library, cudnnBackendDescriptorType_t type);
  CudnnDescriptor() = default;
  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : library_(other.library_), raw_(std::exchange(other.raw_, nullptr)) {}
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~CudnnDescriptor() {
    if (raw_ != nullptr) (void)library_->descriptor_destroy(raw_);
  }
  Expected<void> set(
      cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  Expected<void> get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t most,
      std::int64_t* count, void* values) const;
  Expected<void> finalize();
  [[nodiscard]] cudnnBackendDescriptor_t raw() const { return raw_; }

 private:
  const CudnnLibrary* library_ = nullptr;
  cudnnBackendDescriptor_t raw_ = nullptr;
};

}  // namespace stepcast::gpu

#endif
