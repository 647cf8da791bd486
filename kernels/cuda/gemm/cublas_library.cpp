#include "kernels/cuda/gemm/cublas_library.h"

#include <map>
#include <mutex>
#include <string_view>

namespace stepcast::kernels::gpu {
namespace {

#define STEPCAST_TEXT_OF(value) #value
#define STEPCAST_TEXT(value) STEPCAST_TEXT_OF(value)
// Another major version than the header's may lay its structs out differently; the plain name is what a toolkit links.
constexpr std::string_view library_names[] = {"libcublasLt.so." STEPCAST_TEXT(CUBLAS_VER_MAJOR), "libcublasLt.so"};
constexpr const char* kGetCublas =
    "it comes with the CUDA toolkit, and with pip's nvidia-cublas: put the folder that holds it into LD_LIBRARY_PATH";
#undef STEPCAST_TEXT
#undef STEPCAST_TEXT_OF

Expected<CublasLibrary> load_cublas() {
  TRY(auto library, SharedLibrary::open(library_names, kGetCublas));
  const CublasLibrary functions{{library, {}}};
  TRY(functions.read.all_found);
  // The plain name may lead to any version: structs and enumerators are those of one major version.
  const std::size_t version = functions.version();
  if (version / 10000 != CUBLAS_VER_MAJOR)
    return fail(library.path(),
        "cuBLASLt " + std::to_string(version) + ", but this program was built with version " +
            std::to_string(CUBLAS_VER_MAJOR),
        kGetCublas);
  return functions;
}

}  // namespace

Expected<void> CublasLibrary::checked(cublasStatus_t status, const char* call, const char* hint) const {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return fail(call, status_text(status), hint);
}

Expected<const CublasLibrary*> cublas_library() {
  static const Expected<CublasLibrary> loaded = load_cublas();
  if (!loaded) return tl::unexpected(loaded.error());
  return &*loaded;
}

Expected<cublasLtHandle_t> cublas_handle(int device) {
  TRY(auto library, cublas_library());
  static std::mutex guard;
  static std::map<int, cublasLtHandle_t> handles;
  const std::lock_guard lock(guard);
  if (const auto found = handles.find(device); found != handles.end()) return found->second;
  cublasLtHandle_t handle = nullptr;
  TRY(library->checked(library->create(&handle), "cublasLtCreate"));
  return handles.emplace(device, handle).first->second;
}

}  // namespace stepcast::kernels::gpu
