#include "kernels/bench/gpu_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace stepcast::kernels {
namespace {

using testing::HasSubstr;

TEST(GpuBench, OpensOrSaysWhyNot) {
  const auto bench = open_gpu(0);
  if (cuda_support() == "no CUDA") {
    ASSERT_FALSE(bench);
    EXPECT_EQ(bench.error().what, "this build of stepcast has no CUDA");
    EXPECT_THAT(bench.error().hint, HasSubstr("nvcc"));
  } else if (!bench) {
    EXPECT_FALSE(bench.error().what.empty());
    EXPECT_THAT(bench.error().hint, HasSubstr("nvidia-smi"));
  }
}

/// The first GPU of this machine; what has none is skipped.
class GpuBenchOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto found = devices();
    if (!found || found->empty()) GTEST_SKIP() << "skipped: no GPU";
    auto opened = open_gpu(0);
    ASSERT_TRUE(opened) << to_text(opened.error());
    bench = std::move(*opened);
  }

  /// Allocated, checked and recorded; null where that failed, which fails the test.
  std::unique_ptr<PreparedWork> ready(const Work& work, int copies, int calls) {
    auto made = bench->prepare(work);
    EXPECT_TRUE(made) << to_text(made.error());
    if (!made || !done((*made)->allocate(copies))) return nullptr;
    const auto check = (*made)->check();
    EXPECT_TRUE(check) << to_text(check.error());
    if (!check) return nullptr;
    EXPECT_TRUE(check->good()) << to_text(work) << ": error " << check->error << ", allowed " << check->allowed;
    return done((*made)->record(calls)) ? std::move(*made) : nullptr;
  }

  /// The shortest of ten replays, per call; 0 where one failed, which fails the test.
  double shortest(PreparedWork& work, int calls, bool flush) {
    double best = INFINITY;
    for (int i = 0; i < 10; ++i) {
      const auto time = work.replay(flush);
      EXPECT_TRUE(time) << to_text(time.error());
      if (!time) return 0;
      best = std::min(best, time->value() / calls);
    }
    return best;
  }

  /// A card that idled takes a moment to raise its clocks, and its cache is no faster than its memory until then.
  void raise_clocks() {
    const auto load = ready(memory("copy", 8192, 8192), 1, 16);
    ASSERT_TRUE(load);
    for (const Seconds begun = bench->now(); bench->now() - begun < Seconds(0.3);) ASSERT_TRUE(load->replay(false));
  }

  static bool done(const Expected<void>& step) {
    EXPECT_TRUE(step) << to_text(step.error());
    return step.has_value();
  }

  static Work memory(const char* op, double rows, double columns) {
    return {MemoryQuery{find_memory_op(op), rows, columns, 2}, KernelSource::stepcast, false, {}};
  }

  std::unique_ptr<GpuBench> bench;
};

TEST_F(GpuBenchOnGpu, EveryKindOfLaunchCostsMicroseconds) {
  constexpr int calls = 500;
  for (const LaunchKind kind :
      {LaunchKind::stream_kernel, LaunchKind::graph_kernel, LaunchKind::graph, LaunchKind::event}) {
    const auto work = ready({LaunchQuery{kind}, KernelSource::cuda, false, {}}, 1, calls);
    ASSERT_TRUE(work) << to_text(kind);
    EXPECT_EQ(work->touched(), Bytes(0));
    const double time = shortest(*work, calls, false);
    EXPECT_GT(time, 20e-9) << to_text(kind);
    EXPECT_LT(time, 100e-6) << to_text(kind);
  }
}

TEST_F(GpuBenchOnGpu, CopiesGoBothWaysAtTheSpeedOfABus) {
  for (const TransferKind kind : {TransferKind::host_to_device, TransferKind::device_to_host}) {
    const auto work = ready({TransferQuery{kind, Bytes(64e6)}, KernelSource::cuda, false, {}}, 2, 4);
    ASSERT_TRUE(work) << to_text(kind);
    EXPECT_EQ(work->touched(), Bytes(64e6));
    const double rate = 64e6 / shortest(*work, 4, false);
    EXPECT_GT(rate, 1e9) << to_text(kind);  // one lane of PCIe 4 and more
    EXPECT_LT(rate, 900e9) << to_text(kind);
  }
}

TEST_F(GpuBenchOnGpu, CopyOfAnOddNumberOfBytesBringsAll) {
  EXPECT_TRUE(ready({TransferQuery{TransferKind::device_to_host, Bytes(1001)}, KernelSource::cuda, false, {}}, 3, 7));
  EXPECT_TRUE(ready({TransferQuery{TransferKind::host_to_device, Bytes(1)}, KernelSource::cuda, false, {}}, 1, 1));
}

/// A quarter of the level-2 cache: warm it comes from there, after a flush or a rotation from memory.
TEST_F(GpuBenchOnGpu, FlushAndRotationTakeDataOutOfTheCache) {
  const double l2 = bench->device().l2.value();
  ASSERT_GT(l2, 1e6);
  constexpr double columns = 4096;
  const double rows = std::floor(l2 / 4 / 2 / columns);
  const int copies = 14;  // 3.5 caches
  const auto one = ready(memory("read", rows, columns), 1, 1);
  const auto again = ready(memory("read", rows, columns), 1, copies);
  const auto round = ready(memory("read", rows, columns), copies, copies);
  ASSERT_TRUE(one && again && round);
  raise_clocks();
  const double warm = shortest(*again, copies, false), rotated = shortest(*round, copies, false);
  const double flushed = shortest(*one, 1, true), kept = shortest(*one, 1, false);
  EXPECT_GT(rotated, 1.1 * warm);
  EXPECT_GT(flushed, 1.1 * kept);
}

TEST_F(GpuBenchOnGpu, WorkBesideSlowsWhatIsTimed) {
  const auto alone = ready(memory("copy", 16384, 8192), 1, 8);
  Work loaded = memory("copy", 16384, 8192);
  loaded.beside = loaded.what;
  const auto beside = ready(loaded, 1, 8);
  ASSERT_TRUE(alone && beside);
  EXPECT_GT(shortest(*beside, 8, false), 1.2 * shortest(*alone, 8, false));
  EXPECT_GT(shortest(*beside, 8, true), 0);
}

TEST_F(GpuBenchOnGpu, ReplayingTwiceTheCallsTakesTwiceAsLong) {
  const auto work = ready(memory("copy", 16384, 8192), 2, 4);
  ASSERT_TRUE(work);
  const double few = 4 * shortest(*work, 4, false);
  ASSERT_TRUE(work->record(8));
  EXPECT_NEAR(8 * shortest(*work, 8, false) / few, 2, 0.2);
}

TEST_F(GpuBenchOnGpu, MoreBuffersThanMemoryFailAndTheGpuGoesOn) {
  auto large = bench->prepare(memory("copy", 65536, 65536));  // 17 GB
  ASSERT_TRUE(large) << to_text(large.error());
  const auto allocated = (*large)->allocate(1000);
  ASSERT_FALSE(allocated);
  EXPECT_THAT(to_text(allocated.error()), HasSubstr("memory"));
  EXPECT_FALSE((*large)->record(1)) << "there is nothing to record on";
  EXPECT_TRUE(done(bench->usable()));
  EXPECT_TRUE(ready(memory("copy", 1024, 1024), 1, 1));
}

TEST_F(GpuBenchOnGpu, WhatIsNotTimedIsRefusedWithItsReason) {
  const auto experts = bench->prepare({MoeQuery{}, KernelSource::stepcast, false, {}});
  ASSERT_FALSE(experts);
  EXPECT_THAT(experts.error().what, HasSubstr("routed experts are not timed by this program"));

  Work loaded = memory("copy", 1024, 1024);
  loaded.beside = CollectiveQuery{};
  const auto collective = bench->prepare(loaded);
  ASSERT_FALSE(collective);
  EXPECT_THAT(collective.error().what, HasSubstr("a collective needs several GPUs"));

  const auto foreign = bench->prepare({MemoryQuery{find_memory_op("copy"), 8, 8, 2}, KernelSource::cudnn, false, {}});
  ASSERT_FALSE(foreign);
  EXPECT_THAT(to_text(foreign.error()), HasSubstr("it is timed by stepcast"));

  Work launch{LaunchQuery{}, KernelSource::cuda, false, MemoryQuery{find_memory_op("copy"), 8, 8, 2}};
  EXPECT_FALSE(bench->prepare(launch));
  EXPECT_FALSE(bench->prepare({TransferQuery{TransferKind::host_to_device, Bytes(0)}, KernelSource::cuda, false, {}}));
  EXPECT_TRUE(done(bench->usable()));
}

TEST_F(GpuBenchOnGpu, StepsOutOfOrderFailWithTheOneThatIsMissing) {
  auto work = bench->prepare(memory("copy", 1024, 1024));
  ASSERT_TRUE(work) << to_text(work.error());
  EXPECT_THAT(to_text((*work)->replay(false).error()), HasSubstr("record comes first"));
  EXPECT_THAT(to_text((*work)->record(4).error()), HasSubstr("allocate comes first"));
  ASSERT_TRUE((*work)->allocate(1));
  EXPECT_FALSE((*work)->record(0));
  EXPECT_THAT(to_text((*work)->replay(true).error()), HasSubstr("record comes first"));
}

TEST_F(GpuBenchOnGpu, StateAndSettingsArePlausible) {
  const auto free = bench->free_memory();
  ASSERT_TRUE(free);
  EXPECT_GT(*free, Bytes(1e8));
  EXPECT_LE(*free, bench->device().memory);
  EXPECT_THAT(bench->device().uuid, testing::StartsWith("GPU-"));
  EXPECT_EQ(bench->device().uuid.size(), 40u);
  EXPECT_THAT(bench->settings().cuda, HasSubstr("."));
  const auto state = bench->state();
  ASSERT_TRUE(state);
  if (!bench->settings().driver.empty()) {  // NVML is there
    EXPECT_GT(state->sm_clock_mhz, 50);
    EXPECT_LT(state->sm_clock_mhz, 5000);
    EXPECT_LT(state->power_w, 3000);
  }
  const Seconds before = bench->now();
  bench->wait(Seconds(0.01));
  EXPECT_GE(bench->now() - before, Seconds(0.01));
}

TEST_F(GpuBenchOnGpu, NumberOfAGpuThatIsNotThereNamesThoseThatAre) {
  const auto none = open_gpu(1000);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().where, "GPU 1000");
  EXPECT_THAT(none.error().hint, HasSubstr("0 to "));
}

}  // namespace
}  // namespace stepcast::kernels
