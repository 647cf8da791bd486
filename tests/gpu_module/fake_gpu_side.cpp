// A GPU side without a GPU, for the program to load: the port's mark is right or, with OTHER_SOURCES, that of other
// sources.
#include "kernels/gpu_module/gpu_side.h"

#include "kernels/gpu_module/gpu_port.h"

namespace {

using namespace stepcast;
using namespace stepcast::kernels;

Expected<std::vector<DeviceInfo>> no_devices() { return fail("devices", "this module has no GPU", "another module"); }
std::string fake_support() { return "CUDA of a test"; }
std::vector<LibraryState> no_libraries() { return {}; }
Expected<std::unique_ptr<GpuBench>> no_gpu(int) { return fail("GPU", "this module has no GPU", "another module"); }
Expected<std::unique_ptr<CollectiveBench>> no_collectives(const LaunchPlace&) {
  return fail("collectives", "this module has no GPU", "another module");
}

}  // namespace

const GpuSide* stepcast_gpu_side() {
#ifdef OTHER_SOURCES
  const char* port = "0";
#else
  const char* port = STEPCAST_GPU_PORT;
#endif
  static const GpuSide side{port, no_devices, fake_support, no_libraries, no_gpu, no_collectives};
  return &side;
}
