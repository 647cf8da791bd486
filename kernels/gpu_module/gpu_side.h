// The GPU side of kernels/: what CUDA's compiler makes and no forecast needs. It is a module, libstepcast_gpu.so, that
// the program loads when it is first asked for a GPU. gpu_side_cuda.cpp is the module's end of the port;
// gpu_side_loaded.cpp is the program's, and answers in words where no module is there. A carried program has the GPU
// side linked in, and neither end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/bench/collective_bench.h"
#include "kernels/bench/device.h"
#include "kernels/bench/gpu_bench.h"
#include "kernels/process/launch_place.h"
#include "model/base/error.h"

namespace stepcast::kernels {

/// The functions of device.h, gpu_bench.h and collective_bench.h, as the module has them.
struct GpuSide {
  const char* port = "";  ///< marks the sources of the port; first, so that it can be read whatever follows
  Expected<std::vector<DeviceInfo>> (*devices)() = nullptr;
  std::string (*cuda_support)() = nullptr;
  std::vector<LibraryState> (*gpu_libraries)() = nullptr;
  Expected<std::unique_ptr<GpuBench>> (*open_gpu)(int index) = nullptr;
  Expected<std::unique_ptr<CollectiveBench>> (*open_collectives)(const LaunchPlace& place) = nullptr;
};

}  // namespace stepcast::kernels

/// What the module exports.
extern "C" const stepcast::kernels::GpuSide* stepcast_gpu_side();
