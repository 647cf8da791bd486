// GPU side only. cuDNN's graph interface, loaded when first needed. Only what was built with its headers has it.
#pragma once

#if __has_include(<cudnn.h>)
#define STEPCAST_HAS_CUDNN 1
#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <type_traits>

#include "kernels/library/shared_library.h"
#include "model/base/error.h"

namespace stepcast::kernels::gpu {

struct CudnnLibrary {
  FunctionReader read;
  decltype(&cudnnGetVersion) version = read("cudnnGetVersion");
  decltype(&cudnnGetErrorString) status_text = read("cudnnGetErrorString");
  decltype(&cudnnGetLastErrorString) last_error = read("cudnnGetLastErrorString");
  decltype(&cudnnCreate) create = read("cudnnCreate");
  decltype(&cudnnSetStream) set_stream = read("cudnnSetStream");
  decltype(&cudnnBackendCreateDescriptor) descriptor_create = read("cudnnBackendCreateDescriptor");
  decltype(&cudnnBackendDestroyDescriptor) descriptor_destroy = read("cudnnBackendDestroyDescriptor");
  decltype(&cudnnBackendSetAttribute) attribute_set = read("cudnnBackendSetAttribute");
  decltype(&cudnnBackendGetAttribute) attribute_get = read("cudnnBackendGetAttribute");
  decltype(&cudnnBackendFinalize) finalize = read("cudnnBackendFinalize");
  decltype(&cudnnBackendExecute) execute = read("cudnnBackendExecute");

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
  Expected<void> set(
      cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  Expected<void> get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t most,
      std::int64_t* count, void* values) const;
  Expected<void> finalize();
  [[nodiscard]] cudnnBackendDescriptor_t raw() const { return raw_.get(); }

 private:
  const CudnnLibrary* library_ = nullptr;
  std::unique_ptr<std::remove_pointer_t<cudnnBackendDescriptor_t>, decltype(&cudnnBackendDestroyDescriptor)> raw_{
      nullptr, nullptr};
};

}  // namespace stepcast::kernels::gpu

#endif
