#include "kernels/cuda/attention/cudnn_library.h"

#ifdef STEPCAST_HAS_CUDNN

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace stepcast::kernels::gpu {
namespace {

// The first loads the parts that it needs by itself (cuDNN documentation, "Sub-libraries").
constexpr std::string_view cudnn_names[] = {"libcudnn.so.9"};
constexpr const char* kGetCudnn =
    "install cuDNN 9 (NVIDIA's package, or pip's nvidia-cudnn) and put the folder that holds it into LD_LIBRARY_PATH";

Expected<CudnnLibrary> load_cudnn() {
  TRY(auto library, SharedLibrary::open(cudnn_names, kGetCudnn));
  const CudnnLibrary functions{{library, {}}};
  TRY(functions.read.all_found);
  return functions;
}

}  // namespace

Expected<void> CudnnLibrary::checked(cudnnStatus_t status, const char* call) const {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  std::array<char, 512> more{};
  last_error(more.data(), more.size() - 1);
  return fail(call, status_text(status), more.data());
}

Expected<const CudnnLibrary*> cudnn_library() {
  static const Expected<CudnnLibrary> loaded = load_cudnn();
  if (!loaded) return tl::unexpected(loaded.error());
  return &*loaded;
}

Expected<cudnnHandle_t> cudnn_handle(int device) {
  TRY(auto library, cudnn_library());
  static std::mutex guard;
  static std::map<int, cudnnHandle_t> handles;
  const std::lock_guard lock(guard);
  if (const auto found = handles.find(device); found != handles.end()) return found->second;
  cudnnHandle_t handle = nullptr;
  TRY(library->checked(library->create(&handle), "cudnnCreate"));
  return handles.emplace(device, handle).first->second;
}

Expected<CudnnDescriptor> CudnnDescriptor::make(const CudnnLibrary& library, cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t raw = nullptr;
  TRY(library.checked(library.descriptor_create(type, &raw), "cudnnBackendCreateDescriptor"));
  CudnnDescriptor descriptor;
  descriptor.library_ = &library;
  descriptor.raw_ = {raw, library.descriptor_destroy};
  return descriptor;
}

Expected<void> CudnnDescriptor::set(
    cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
  return library_->checked(library_->attribute_set(raw(), name, type, count, values), "cudnnBackendSetAttribute");
}

Expected<void> CudnnDescriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
    std::int64_t most, std::int64_t* count, void* values) const {
  return library_->checked(library_->attribute_get(raw(), name, type, most, count, values), "cudnnBackendGetAttribute");
}

Expected<void> CudnnDescriptor::finalize() {
  return library_->checked(library_->finalize(raw()), "cudnnBackendFinalize");
}

}  // namespace stepcast::kernels::gpu

#endif
