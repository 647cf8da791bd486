#include "kernels/device.h"

#include <cuda_runtime_api.h>

namespace stepcast {
namespace {

// Attributes, not cudaDeviceProp: the struct lost its clock fields in CUDA 13, the attributes did not.
int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

DeviceInfo describe(const cudaDeviceProp& properties, int device) {
  constexpr double kHzPerKilohertz = 1e3;  // cudaDevAttrClockRate is in kHz
  DeviceInfo info;
  info.name = properties.name;
  info.capability_major = properties.major;
  info.capability_minor = properties.minor;
  info.sm_count = properties.multiProcessorCount;
  info.memory = Bytes(static_cast<double>(properties.totalGlobalMem));
  info.sm_clock_hz = kHzPerKilohertz * attribute(cudaDevAttrClockRate, device);
  info.memory_clock_hz = kHzPerKilohertz * attribute(cudaDevAttrMemoryClockRate, device);
  return info;
}

}  // namespace

Expected<std::vector<DeviceInfo>> devices() {
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) {
    return fail("devices", cudaGetErrorString(status), "nvidia-smi shows whether the driver sees a GPU");
  }
  std::vector<DeviceInfo> found;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    if (const cudaError_t status = cudaGetDeviceProperties(&properties, device); status != cudaSuccess) {
      return fail("devices/" + std::to_string(device), cudaGetErrorString(status));
    }
    found.push_back(describe(properties, device));
  }
  return found;
}

std::string cuda_support() {
  return "CUDA " + std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
}

}  // namespace stepcast
