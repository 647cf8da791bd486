#include "kernels/bench/device.h"

#include <cuda_runtime_api.h>

#include "kernels/library/library_version.h"
#include "kernels/library/nvml.h"

namespace stepcast::kernels {
namespace {

// Attributes, not cudaDeviceProp: the struct lost its clock fields in CUDA 13, the attributes did not.
int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

/// "GPU-" and the sixteen bytes as 8-4-4-4-12 digits, as nvidia-smi writes it.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int byte = 0; byte < 16; ++byte) {
    if (byte == 0 || byte == 4 || byte == 6 || byte == 8 || byte == 10) text += '-';
    const auto value = static_cast<unsigned char>(uuid.bytes[byte]);
    for (const int digit : {value / 16, value % 16}) text += "0123456789abcdef"[digit];
  }
  return text;
}

std::string bus_id_of(int device) {
  char text[32] = {};
  return cudaDeviceGetPCIBusId(text, sizeof text - 1, device) == cudaSuccess ? plain_bus_id(text) : "";
}

DeviceInfo describe(const cudaDeviceProp& properties, int device) {
  constexpr double kHzPerKilohertz = 1e3;  // cudaDevAttrClockRate is in kHz
  DeviceInfo info;
  info.name = properties.name;
  info.uuid = uuid_text(properties.uuid);
  info.bus_id = bus_id_of(device);
  info.capability_major = properties.major;
  info.capability_minor = properties.minor;
  info.sm_count = properties.multiProcessorCount;
  info.memory = Bytes(static_cast<double>(properties.totalGlobalMem));
  info.l2 = Bytes(static_cast<double>(attribute(cudaDevAttrL2CacheSize, device)));
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
      return fail(
          "devices/" + std::to_string(device), cudaGetErrorString(status), "nvidia-smi shows what the driver sees");
    }
    found.push_back(describe(properties, device));
  }
  return found;
}

std::string cuda_support() {
  return "CUDA " + std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
}

std::vector<LibraryState> gpu_libraries() {
  return {cublas_state(CUDART_VERSION / 1000), cudnn_state(), nccl_state(), nvml_state()};
}

}  // namespace stepcast::kernels
