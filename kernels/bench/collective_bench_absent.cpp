#include "kernels/bench/collective_bench.h"

namespace stepcast {

Expected<std::unique_ptr<CollectiveBench>> open_collectives(const LaunchPlace&) {
  return fail("collectives", "this build of stepcast has no CUDA",
              "install the CUDA toolkit, remove the build folder and build again (STEPCAST_CUDA=ON makes a missing "
              "toolkit an error)");
}

}  // namespace stepcast
