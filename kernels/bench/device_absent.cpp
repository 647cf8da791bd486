#include "kernels/bench/device.h"

namespace stepcast {
namespace {

constexpr const char* no_cuda_here = "this build of stepcast has no CUDA";

}  // namespace

Expected<std::vector<DeviceInfo>> devices() {
  return fail("devices", no_cuda_here,
              "install the CUDA toolkit, remove the build folder and build again (STEPCAST_CUDA=ON makes a missing toolkit "
              "an error)");
}

std::string cuda_support() { return "no CUDA"; }

std::vector<LibraryState> gpu_libraries() {
  std::vector<LibraryState> libraries;
  for (const char* name : {"cublasLt", "cudnn", "nccl", "nvml"}) libraries.push_back({name, "", no_cuda_here});
  return libraries;
}

}  // namespace stepcast
