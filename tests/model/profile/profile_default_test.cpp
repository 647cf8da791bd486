// What a power limit makes of the sustained clock of a GPU whose profile is scaled from another's.
#include <gtest/gtest.h>

#include "model/profile/profile.h"

namespace stepcast {
namespace {

Gpu limited_gpu(double bf16_tflops, int multiprocessors, double power_w) {
  Gpu gpu;
  gpu.id = gpu.name = "limited";
  gpu.peak[static_cast<int>(Precision::bf16)] = FlopsPerSecond(bf16_tflops * 1e12);
  gpu.memory_bandwidth = BytesPerSecond(1e12);
  gpu.multiprocessors = multiprocessors;
  gpu.power_w = power_w;
  return gpu;
}

double slowdown_on(const Gpu& to, double measured = 1.2) {
  Profile profile;
  profile.gemm = {
      {Precision::bf16, Seconds(0), FlopsPerSecond(80e12), BytesPerSecond(1e12), 2, Source::fitted, {1, 1}}};
  profile.sustained_slowdown = measured;
  return scaled_profile(profile, limited_gpu(100, 100, 800), to).sustained_slowdown;
}

TEST(PowerLimit, TheClockFollowsTheCubeRootOfThePower) {
  EXPECT_NEAR(slowdown_on(limited_gpu(100, 100, 800)), 1.2, 1e-12) << "the same chip";
  EXPECT_NEAR(slowdown_on(limited_gpu(100, 100, 100)), 2.4, 1e-12) << "an eighth of the power allows half the clock";
  EXPECT_NEAR(slowdown_on(limited_gpu(200, 200, 1600)), 1.2, 1e-12) << "two chips with two limits";
  EXPECT_NEAR(slowdown_on(limited_gpu(200, 200, 200)), 2.4, 1e-12) << "an eighth per multiprocessor";
}

TEST(PowerLimit, AFasterBoostClockIsThrottledByMore) {
  EXPECT_NEAR(slowdown_on(limited_gpu(150, 100, 800)), 1.8, 1e-12);
  EXPECT_NEAR(slowdown_on(limited_gpu(90, 100, 800)), 1.08, 1e-12);
}

/// Multiprocessors make the loads of odd rows: half as many of them, 6 x 20/120 x 100/50 = 2.
TEST(OddRows, WaitForTheMultiprocessorsLoads) {
  Profile profile;
  profile.gemm = {
      {Precision::bf16, Seconds(0), FlopsPerSecond(80e12), BytesPerSecond(1e12), 2, Source::fitted, {1, 1}}};
  profile.gemm.front().unaligned = 6;
  const auto slower = [&](const Gpu& to) {
    return scaled_profile(profile, limited_gpu(120, 100, 800), to).gemm.front();
  };
  EXPECT_NEAR(slower(limited_gpu(20, 50, 800)).unaligned, 2, 1e-12);
  EXPECT_EQ(slower(limited_gpu(10, 100, 800)).unaligned, 1) << "products as slow as the loads";
  EXPECT_EQ(slower(limited_gpu(20, 50, 800)).part_aligned, 0) << "not known";
}

TEST(PowerLimit, NothingRunsAboveItsBoostClock) { EXPECT_EQ(slowdown_on(limited_gpu(100, 100, 6400)), 1); }

TEST(PowerLimit, WhereNothingIsKnownTheSlowdownIsKept) {
  EXPECT_EQ(slowdown_on(limited_gpu(100, 100, 100), 1), 1) << "the measured one ran into no limit";
  EXPECT_EQ(slowdown_on(limited_gpu(100, 100, 0)), 1.2);
  EXPECT_EQ(slowdown_on(limited_gpu(100, 0, 100)), 1.2);
}

}  // namespace
}  // namespace stepcast
