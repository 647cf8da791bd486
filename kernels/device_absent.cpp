#include "kernels/device.h"

namespace stepcast {

Expected<std::vector<DeviceInfo>> devices() {
  return fail("devices", "this build of stepcast has no CUDA",
              "install the CUDA toolkit, remove the build folder and build again (STEPCAST_CUDA=ON makes a missing toolkit an error)");
}

std::string cuda_support() { return "no CUDA"; }

}  // namespace stepcast
