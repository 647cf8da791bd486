#include "kernels/bench/device.h"

#include <gtest/gtest.h>

namespace stepcast::kernels {
namespace {

TEST(Device, EitherListsGpusOrSaysWhyNot) {
  const auto found = devices();
  if (cuda_support() == "no CUDA") {
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().what, "this build of stepcast has no CUDA");
  }
  if (!found) {
    EXPECT_EQ(found.error().where, "devices");
    EXPECT_FALSE(found.error().what.empty());
    EXPECT_FALSE(found.error().hint.empty());
  }
}

TEST(DeviceOnGpu, FiguresOfEachGpuArePhysical) {
  const auto found = devices();
  if (!found || found->empty()) GTEST_SKIP() << "skipped: no GPU";
  for (const DeviceInfo& gpu : *found) {
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_GE(gpu.capability_major, 7);
    EXPECT_GT(gpu.sm_count, 0);
    EXPECT_GT(gpu.memory, Bytes(1e9));
    EXPECT_GT(gpu.l2, Bytes(1e6));
    EXPECT_LT(gpu.l2, Bytes(1e9));
    EXPECT_EQ(gpu.uuid.size(), 40u) << gpu.uuid;
    EXPECT_EQ(gpu.bus_id.find(':'), 4u) << gpu.bus_id;  // "0000:19:00.0"
    EXPECT_GT(gpu.sm_clock_hz, 5e8);                    // a kHz figure taken for Hz would be 1e6
    EXPECT_LT(gpu.sm_clock_hz, 5e9);
    EXPECT_GT(gpu.memory_clock_hz, 5e8);
  }
}

}  // namespace
}  // namespace stepcast::kernels
