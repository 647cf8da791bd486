#include <fmt/format.h>

#include "kernels/bench/gpu_bench.h"

namespace stepcast {

Expected<std::unique_ptr<GpuBench>> open_gpu(int index) {
  return fail(fmt::format("GPU {}", index), "this build of stepcast has no CUDA",
              "install the CUDA toolkit with nvcc, remove the build folder and build again, or bring a program "
              "that was built where nvcc is");
}

}  // namespace stepcast
