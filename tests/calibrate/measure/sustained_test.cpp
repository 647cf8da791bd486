// Seconds of work without rest on the fake GPU: what its clocks settle to, and how fast.
#include <cmath>

#include <gtest/gtest.h>

#include "calibrate/measure/sample.h"
#include "tests/calibrate/measure/fake_gpu.h"

namespace stepcast::calibrate {
namespace {

Work big_gemm() { return fake_work(GemmQuery{8192, 8192, 8192, 1}); }
Work big_copy() { return fake_work(MemoryQuery{find_memory_op("copy"), 8192, 16384, 2}); }  // 537 MB
const std::function<bool()> go_on;

FakeGpuOptions drooping(double noise) {
  FakeGpuOptions options;
  options.noise = noise;
  options.power = {Seconds(0.02), 0.8, Seconds(0.5), Seconds(0.04), false, false};
  return options;
}

TEST(Sustained, settles_with_the_clocks) {
  FakeGpu gpu(drooping(0.002));
  const auto found = sample_sustained(gpu, big_gemm(), Seconds(5), {}, go_on);
  ASSERT_TRUE(found.has_value()) << to_text(found.error());
  const double truth = gpu.true_time(big_gemm()).value();
  EXPECT_NEAR(found->burst / Seconds(truth), 1, 0.01);
  EXPECT_NEAR(found->settled / Seconds(truth), 1 / 0.8, 0.01);
  // Clocks fall by 20 % x (1 - e^-t/0.5); the time, 1 / clock, is 63.2 % of its way up when clocks are at 0.863, after
  // 0.5 s x ln(0.2 / 0.063) = 0.576 s, and 0.02 s pass first.
  EXPECT_NEAR(found->time_constant.value(), 0.6, 0.05);
  EXPECT_NEAR(static_cast<double>(found->points.size()), 49, 1);
  for (std::size_t i = 1; i < found->points.size(); ++i) {
    EXPECT_NEAR((found->points[i].at - found->points[i - 1].at).value(), 0.1, 0.01);
    EXPECT_LE(found->points[i].state.sm_clock_mhz, found->points[i - 1].state.sm_clock_mhz);
  }
  EXPECT_EQ(found->points.front().state.power_w, 690);
  EXPECT_NEAR(found->points.back().state.sm_clock_mhz, 0.8 * 1980, 2);
  EXPECT_LE(found->low, found->settled);
  EXPECT_GE(found->high, found->settled);
  EXPECT_GT(found->replays, 500);
  EXPECT_EQ(found->kernel, "fake_cublas");
}

TEST(Sustained, nothing_changes_where_clocks_stay) {
  FakeGpuOptions options;
  options.noise = 0.01;
  FakeGpu gpu(options);
  const auto found = sample_sustained(gpu, big_gemm(), Seconds(2), {}, go_on);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->time_constant, Seconds(0));
  EXPECT_NEAR(found->settled / found->burst, 1, 0.02);
}

TEST(Sustained, takes_its_duration_and_not_more) {
  FakeGpu gpu;
  const Seconds start = gpu.now();
  ASSERT_TRUE(sample_sustained(gpu, big_gemm(), Seconds(1), {}, go_on).has_value());
  EXPECT_NEAR((gpu.now() - start).value(), 1.1, 0.05);
}

TEST(Sustained, shorter_than_one_call_is_one_round) {
  FakeGpuOptions options;
  options.time = [](const Work&) { return Seconds(0.5); };
  FakeGpu gpu(options);
  const auto found = sample_sustained(gpu, big_gemm(), Seconds(0.01), {}, go_on);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->replays, 1);
  EXPECT_EQ(found->settled, Seconds(0.5));
  EXPECT_EQ(found->points.size(), 1u);
}

TEST(Sustained, works_in_turn_cost_a_call_of_each) {
  FakeGpu gpu;
  const Work works[] = {big_gemm(), big_copy()};
  const auto found = sample_alternating(gpu, works, Seconds(1), {}, go_on);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->settled / (gpu.true_time(works[0]) + gpu.true_time(works[1])), 1, 1e-6);
  EXPECT_EQ(gpu.allocated(), Bytes(0));
}

TEST(Sustained, tiny_works_in_turn_stay_cold_and_turns_short) {
  FakeGpu gpu;
  // 30 kB: flushed, as many sets as a replay has calls; 8.4 MB: 18 sets; both beside a product of 402 MB.
  const Work works[] = {big_gemm(), fake_work(MemoryQuery{find_memory_op("copy"), 8, 1024, 2}),
      fake_work(MemoryQuery{find_memory_op("copy"), 1024, 2048, 2})};
  const auto found = sample_alternating(gpu, works, Seconds(1), {}, go_on);
  ASSERT_TRUE(found.has_value());
  Seconds once{0};
  for (const Work& work : works) once += gpu.true_time(work);
  EXPECT_NEAR(found->settled / once, 1, 1e-6);
  EXPECT_GE(found->replays, 15) << "a round is 18 calls of the product, 29 ms";
}

TEST(Sustained, every_failure_comes_out) {
  for (const FakeCall call : {FakeCall::prepare, FakeCall::allocate, FakeCall::check, FakeCall::record,
           FakeCall::replay, FakeCall::free_memory})
    for (int nth = 1; nth <= 3; ++nth) {
      FakeGpuOptions options;
      options.faults = {{call, nth}};
      FakeGpu gpu(options);
      const Work works[] = {big_gemm(), big_copy(), big_gemm()};
      const auto found = sample_alternating(gpu, works, Seconds(0.1), {}, go_on);
      EXPECT_FALSE(found.has_value()) << static_cast<int>(call) << ' ' << nth;
      EXPECT_EQ(gpu.allocated(), Bytes(0));
    }
}

TEST(Sustained, stops_when_told) {
  FakeGpu gpu;
  const auto found = sample_sustained(gpu, big_gemm(), Seconds(1000), {}, [&] { return gpu.now() > Seconds(1); });
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().where, "interrupted");
  EXPECT_LT(gpu.now(), Seconds(1.1));
}

}  // namespace
}  // namespace stepcast::calibrate
