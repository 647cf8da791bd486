// One work on the fake GPU: the right figure, the right number of replays, and what goes wrong at every call.
#include "calibrate/measure/sample.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/calibrate/measure/fake_gpu.h"

namespace stepcast::calibrate {
namespace {

const std::function<bool()> never_stop;

/// Without rests between replays: what a test says of pauses is then all that a GPU waits.
MethodRules without_rests() {
  MethodRules rules;
  rules.rest = 0;
  return rules;
}

Work square_gemm(double size) { return fake_work(GemmQuery{size, size, size, 1}); }
/// 8.4 MB: 18 sets in 150 MB.
Work small_copy() { return fake_work(MemoryQuery{find_memory_op("copy"), 1024, 2048, 2}); }

TEST(Sample, without_noise_the_time_is_exact) {
  FakeGpu gpu;
  const Work work = square_gemm(4096);
  const auto found = sample(gpu, work, {}, never_stop);
  ASSERT_TRUE(found.has_value()) << to_text(found.error());
  EXPECT_NEAR(found->time / gpu.true_time(work), 1, 1e-9);
  EXPECT_EQ(found->replays, 10);
  EXPECT_TRUE(found->settled);
  EXPECT_FALSE(found->throttled);
  EXPECT_EQ(found->thrown_away, 0);
  EXPECT_EQ(found->sm_clock_mhz, 1980);
  EXPECT_EQ(found->power_w, 690);
  EXPECT_EQ(found->temperature_c, 55);
  EXPECT_EQ(found->kernel, "fake_cublas");
  EXPECT_EQ(found->check.compared, 4096);
  EXPECT_TRUE(found->state_error.empty());
  EXPECT_EQ(gpu.allocated(), Bytes(0)) << "given back";
}

TEST(Sample, a_sequence_takes_what_its_works_take) {
  FakeGpu gpu;
  const Sequence sequence{"two products and a copy", {square_gemm(4096), square_gemm(8192), small_copy()}, true};
  const auto found = sample(gpu, sequence, {}, never_stop);
  ASSERT_TRUE(found.has_value()) << to_text(found.error());
  Seconds sum;
  for (const Work& work : sequence.calls) sum += gpu.true_time(work);
  EXPECT_NEAR(found->time / sum, 1, 0.01);
  const auto run = sample_sustained(gpu, sequence, Seconds(0.5), {}, never_stop);
  ASSERT_TRUE(run.has_value()) << to_text(run.error());
  EXPECT_NEAR(run->settled / sum, 1, 0.01);
}

TEST(Sample, rests_as_long_as_it_works) {
  FakeGpu gpu;
  const Work work = square_gemm(8192);  // 1.6 ms a call, replays of 3.1 ms
  const auto found = sample(gpu, work, {}, never_stop);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(gpu.waited() / (found->time * (found->replays * found->calls)), 1, 0.01);
}

TEST(Sample, cold_is_slower_than_warm) {
  FakeGpu gpu;
  Work work = small_copy();
  const auto cold = sample(gpu, work, {}, never_stop);
  work.warm = true;
  const auto warm = sample(gpu, work, {}, never_stop);
  ASSERT_TRUE(cold.has_value() && warm.has_value());
  EXPECT_NEAR(cold->time / gpu.true_time(work), 1, 1e-9);
  // Each replay of some hundred calls finds the set of the one before.
  EXPECT_NEAR(warm->time / gpu.true_time(work), 1 / 1.5, 1e-9);
}

TEST(Sample, rotations_that_are_not_cold_are_refused) {
  FakeGpu gpu;
  MethodRules rules;
  rules.caches_between = 1;  // what the assertion is there for
  const auto found = sample(gpu, small_copy(), rules, never_stop);
  ASSERT_FALSE(found.has_value());
  EXPECT_NE(found.error().what.find("6 sets of 8.00 MiB"), std::string::npos) << to_text(found.error());
  EXPECT_NE(found.error().what.find("47.7 MiB"), std::string::npos) << to_text(found.error());
}

TEST(Sample, noise_takes_more_replays_and_not_more_than_its_time) {
  FakeGpuOptions options;
  options.noise = 0.02;
  FakeGpu gpu(options);
  const auto found = sample(gpu, square_gemm(4096), {}, never_stop);
  ASSERT_TRUE(found.has_value());
  EXPECT_GT(found->replays, 20);
  EXPECT_NEAR(found->time / gpu.true_time(square_gemm(4096)), 1, 0.01);
  EXPECT_LT(found->low, found->time);
  EXPECT_GT(found->high, found->time);

  options.noise = 0.3;
  FakeGpu noisy(options);
  const Seconds start = noisy.now();
  const auto unsettled = sample(noisy, square_gemm(4096), {}, never_stop);
  ASSERT_TRUE(unsettled.has_value());
  EXPECT_FALSE(unsettled->settled);
  EXPECT_LT(noisy.now() - start, Seconds(0.4)) << "150 ms of replays, as long a rest, and what stands around them";
}

TEST(Sample, the_first_replay_of_a_graph_does_not_count) {
  FakeGpuOptions options;
  options.slow_replays = 1;
  FakeGpu gpu(options);
  const auto found = sample(gpu, square_gemm(4096), {}, never_stop);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->high, found->low);
  EXPECT_NEAR(found->time / gpu.true_time(square_gemm(4096)), 1, 1e-9);
}

TEST(Sample, long_works_are_timed_three_times) {
  FakeGpuOptions options;
  options.time = [](const Work&) { return Seconds(0.4); };
  FakeGpu gpu(options);
  const auto found = sample(gpu, square_gemm(16384), {}, never_stop);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->replays, 3);
  EXPECT_EQ(found->calls, 1);
  EXPECT_FALSE(found->settled);
}

TEST(Sample, launches_need_no_buffers) {
  FakeGpu gpu;
  const auto found = sample(gpu, fake_work(LaunchQuery{LaunchKind::graph_kernel}), {}, never_stop);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->time.value(), 3e-6, 1e-12);
  EXPECT_EQ(found->calls, 667);  // 2 ms
}

TEST(Sample, more_than_the_memory_is_refused_with_its_size) {
  FakeGpuOptions options;
  options.used_memory = Bytes(79e9);  // 1 GB free, 0.8 GB may be taken
  FakeGpu gpu(options);
  const auto found = sample(gpu, square_gemm(16384), {}, never_stop);  // 1.6 GB
  ASSERT_FALSE(found.has_value());
  EXPECT_NE(found.error().what.find("1.50 GiB"), std::string::npos) << to_text(found.error());
  EXPECT_EQ(gpu.calls(FakeCall::allocate), 0);
}

TEST(Sample, wrong_numbers_are_never_timed) {
  FakeGpuOptions options;
  options.faults = {{FakeCall::check, 1, FakeFault::wrong}};
  FakeGpu gpu(options);
  const auto found = sample(gpu, square_gemm(4096), {}, never_stop);
  ASSERT_FALSE(found.has_value());
  for (const char* part : {"error 0.1", "0.01 is allowed", "fake_cublas", "4096 values"})
    EXPECT_NE(found.error().what.find(part), std::string::npos) << to_text(found.error());
  EXPECT_EQ(gpu.calls(FakeCall::replay), 0);
}

TEST(Sample, throttled_replays_are_set_aside_and_a_pause_helps) {
  FakeGpuOptions options;
  options.power.after = Seconds(25e-3);  // what warms up and six of ten replays of 3 ms: it happens once
  options.power.ratio = 0.5;
  options.power.thermal = true;
  FakeGpu gpu(options);
  const Work work = square_gemm(8192);
  const auto found = sample(gpu, work, {}, never_stop);
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->throttled);
  EXPECT_GT(found->thrown_away, 0);
  EXPECT_NEAR(found->time / gpu.true_time(work), 1, 0.01);
  EXPECT_EQ(found->sm_clock_mhz, 1980) << "of what counts";
}

TEST(Sample, a_card_that_stays_slow_is_marked_after_four_pauses) {
  FakeGpuOptions options;
  options.power = {Seconds(10e-3), 0.6, Seconds(0), Seconds(0.04), true, true};
  FakeGpu gpu(options);
  const Work work = square_gemm(8192);
  ClocksSeen seen;
  const auto found = sample(gpu, work, without_rests(), never_stop, &seen);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->throttled);
  EXPECT_GE(found->replays, 10);
  EXPECT_GT(found->thrown_away, 0) << "those before stay aside: they began at higher clocks";
  EXPECT_NEAR(found->time / gpu.true_time(work), 1 / 0.6, 0.01);
  EXPECT_NEAR(gpu.waited().value(), 4 * 0.05, 1e-9);
  // The next work does not wait for what did not come.
  ASSERT_TRUE(seen.stay_down);
  ASSERT_TRUE(sample(gpu, work, without_rests(), never_stop, &seen).has_value());
  EXPECT_NEAR(gpu.waited().value(), 6 * 0.05, 1e-9) << "once before, once between";
}

TEST(Sample, what_the_power_cap_slows_counts_as_it_is) {
  FakeGpuOptions options;
  options.power = {Seconds(10e-3), 0.6, Seconds(0), Seconds(0.04), true, false};  // 1188 of 1980 MHz, "power capped"
  FakeGpu gpu(options);
  const Work work = square_gemm(8192);
  const auto found = sample(gpu, work, without_rests(), never_stop);
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->throttled);
  EXPECT_TRUE(found->power_limited);
  EXPECT_EQ(found->thrown_away, 0);
  EXPECT_EQ(gpu.waited(), Seconds(0));
  EXPECT_NEAR(found->time / gpu.true_time(work), 1 / 0.6, 0.01);
}

TEST(Sample, a_card_that_idled_comes_up_by_working) {
  FakeGpuOptions options;
  options.power.ramps = Seconds(0.12);  // more than a pause of 50 ms, less than four
  FakeGpu gpu(options);
  const auto found = sample(gpu, small_copy(), without_rests(), never_stop);
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->throttled);
  EXPECT_NEAR(found->time / gpu.true_time(small_copy()), 1, 0.01);
  EXPECT_EQ(gpu.waited(), Seconds(0)) << "a rest would not help";
}

TEST(Sample, a_power_cap_that_leaves_clocks_up_is_no_throttling) {
  FakeGpuOptions options;
  options.power.after = Seconds(0);
  options.power.ratio = 0.85;  // above 75 %, and the driver says "power capped"
  FakeGpu gpu(options);
  const auto found = sample(gpu, square_gemm(8192), {}, never_stop);
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->throttled);
  EXPECT_EQ(found->thrown_away, 0);
  EXPECT_NEAR(found->sm_clock_mhz, 0.85 * 1980, 1e-6);
}

TEST(Sample, what_counts_as_throttled) {
  const MethodRules rules;
  GpuSettings settings;
  settings.default_sm_clock_mhz = 2000;
  EXPECT_FALSE(is_throttled({1500, 0, 0, 0, true, false}, settings, {}, rules)) << "75 %, not below";
  EXPECT_TRUE(is_throttled({1499, 0, 0, 0, false, false}, settings, {}, rules));
  EXPECT_FALSE(is_throttled({1990, 0, 0, 0, false, true}, settings, {}, rules)) << "heat that costs nothing";
  EXPECT_TRUE(is_throttled({1499, 0, 0, 0, true, true}, settings, {}, rules)) << "heat and power";
  EXPECT_TRUE(is_throttled({0, 0, 0, 0, false, true}, settings, {}, rules)) << "heat, clocks not known";
  EXPECT_FALSE(is_throttled({1400, 0, 0, 0, true, false}, settings, {}, rules)) << "power";
  settings.power_limit_w = 700;
  EXPECT_FALSE(is_throttled({1400, 0, 690, 0, false, false}, settings, {}, rules)) << "power, though not named";
  EXPECT_TRUE(is_throttled({1400, 0, 600, 0, false, false}, settings, {}, rules));
  EXPECT_FALSE(is_throttled({0, 0, 0, 0, true, false}, settings, {}, rules)) << "the driver says nothing";
  settings.default_sm_clock_mhz = 0;
  EXPECT_FALSE(is_throttled({1000, 0, 0, 0, false, false}, settings, {1000, false}, rules));
  EXPECT_TRUE(is_throttled({1000, 0, 0, 0, false, false}, settings, {1400, false}, rules)) << "71 % of what was seen";
}

TEST(Sample, clocks_are_asked_for_every_five_milliseconds_at_most) {
  FakeGpuOptions options;
  options.noise = 0.3;  // 150 ms of replays of 2 ms
  FakeGpu gpu(options);
  const auto found = sample(gpu, small_copy(), {}, never_stop);
  ASSERT_TRUE(found.has_value());
  EXPECT_GT(found->replays, 40);
  EXPECT_LE(gpu.calls(FakeCall::state), 33);
  EXPECT_GE(gpu.calls(FakeCall::state), 20);
}

TEST(Sample, clocks_that_cannot_be_read_cost_no_times) {
  FakeGpuOptions options;
  options.faults = {{FakeCall::state, 1, FakeFault::fails_always}};
  FakeGpu gpu(options);
  const auto found = sample(gpu, square_gemm(4096), {}, never_stop);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->sm_clock_mhz, 0);
  EXPECT_NE(found->state_error.find("told to fail"), std::string::npos);
}

TEST(Sample, times_that_are_none_are_refused) {
  FakeGpuOptions options;
  options.time = [](const Work&) { return Seconds(0); };
  FakeGpu gpu(options);
  const auto found = sample(gpu, square_gemm(4096), {}, never_stop);
  ASSERT_FALSE(found.has_value());
  EXPECT_NE(found.error().what.find("took 0 s"), std::string::npos) << to_text(found.error());
}

TEST(Sample, any_call_that_fails_gives_its_error) {
  int failed = 0;
  for (const FakeCall call : {FakeCall::prepare, FakeCall::allocate, FakeCall::check, FakeCall::record,
           FakeCall::replay, FakeCall::free_memory})
    for (int nth = 1; nth <= 12; ++nth) {
      FakeGpuOptions options;
      options.faults = {{call, nth}};
      FakeGpu gpu(options);
      const auto found = sample(gpu, small_copy(), {}, never_stop);
      EXPECT_EQ(found.has_value(), gpu.calls(call) < nth) << static_cast<int>(call) << ' ' << nth;
      if (!found) {
        ++failed;
        EXPECT_NE(found.error().what.find("told to fail"), std::string::npos);
      }
      EXPECT_EQ(gpu.allocated(), Bytes(0));
    }
  // prepare, free memory and check once, two allocations, three recordings, every one of the first twelve replays.
  EXPECT_EQ(failed, 1 + 1 + 1 + 2 + 3 + 12);
}

TEST(Sample, stops_when_told_at_any_place) {
  FakeGpu whole;
  ASSERT_TRUE(sample(whole, small_copy(), {}, never_stop).has_value());
  for (int at = 0; at < whole.calls() - 1; ++at) {
    FakeGpu gpu;
    const auto found = sample(gpu, small_copy(), {}, [&] { return gpu.calls() >= at; });
    ASSERT_FALSE(found.has_value()) << at;
    EXPECT_EQ(found.error().where, "interrupted");
    EXPECT_LE(gpu.calls(), at + 7) << "a probe, or recording with its warm-up, at most";
  }
}

}  // namespace
}  // namespace stepcast::calibrate
