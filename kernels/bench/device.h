// The GPUs of this machine. cuda/device_cuda.cpp asks the CUDA runtime; gpu_side_loaded.cpp reaches it from the
// program.
#pragma once

#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/base/units.h"

namespace stepcast::kernels {

struct DeviceInfo {
  std::string name;          ///< as the driver spells it: "NVIDIA H100 80GB HBM3"
  std::string uuid;          ///< "GPU-..."; "" where the driver does not say
  std::string bus_id;        ///< "0000:19:00.0"
  int capability_major = 0;  ///< compute capability 9.0 is {9, 0}
  int capability_minor = 0;
  int sm_count = 0;
  Bytes memory, l2;
  double sm_clock_hz = 0;      ///< maximum, not what the card runs at now
  double memory_clock_hz = 0;  ///< maximum
};

/// The GPUs in driver order. Fails when the build has no CUDA, or the machine no driver or no GPU; the text says which.
Expected<std::vector<DeviceInfo>> devices();

/// What this build can do with GPUs, for `stepcast --version`: "CUDA 13.0" or "no CUDA".
std::string cuda_support();

/// A library that is loaded when it is first needed: "cublasLt", "cudnn", "nccl", "nvml".
struct LibraryState {
  std::string name, version;  ///< version "" where it could not be loaded
  std::string missing;        ///< why, and how to get it; "" where it is there
};
std::vector<LibraryState> gpu_libraries();

}  // namespace stepcast::kernels
