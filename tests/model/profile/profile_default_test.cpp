// GPUs whose profile is scaled from another's: the sustained clock under a power limit, and kernels of faster ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "model/catalog.h"
#include "model/profile/kernel_law.h"
#include "model/profile/profile.h"
#include "model/profile/query.h"

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

/// Kernels of any shape that engines ask for, by one generator.
struct RandomShapes {
  std::mt19937 numbers{26};

  double up_to(double most) {
    return std::exp2(std::floor(std::uniform_real_distribution<>(0, std::log2(most) + 1)(numbers)));
  }
  double factor() { return std::exp2(std::uniform_real_distribution<>(0, 2)(numbers)); }
  GemmQuery gemm(const RooflineLaw& law) {
    GemmQuery out{up_to(16384), 512 * up_to(64), 512 * up_to(32)};
    out.precision = law.precision, out.block_scaled = law.block_scaled;
    return out;
  }
  AttentionQuery attention(const AttentionLaw& law) {
    AttentionQuery out{up_to(128), law.decode ? 1 : up_to(8192), up_to(65536), 64, up_to(8)};
    out.pass = law.decode ? AttentionPass::decode : AttentionPass::forward;
    out.keys = std::max(out.keys, out.queries);
    if (law.latent) out.kv_heads = 1, out.head_dim = 576, out.latent_values = 512;
    return out;
  }
  MoeQuery moe(const RooflineLaw& law) {
    MoeQuery out{up_to(16384), 4096, 1024 * up_to(8), up_to(8), 128};
    out.precision = law.precision;
    return out;
  }
};

/// Rounding of thresholds to single precision.
constexpr double rounding = 1 + 1e-5;

/// A chip that somebody describes as the catalogue's with faster products and memory is a faster one: corrections do
/// not take another value because compute and memory are balanced otherwise.
TEST(DescribedGpus, NoKernelTakesLongerOnFasterOnes) {
  RandomShapes random;
  std::vector<const Gpu*> timed;
  for (const Gpu& gpu : built_in().gpus)
    if (std::ranges::find(built_in().profiles, gpu.id, &ProfileRow::gpu) != built_in().profiles.end())
      timed.push_back(&gpu);
  ASSERT_GT(timed.size(), 8U);
  int compared = 0, longer = 0, refined = 0;
  const auto compare = [&](const char* what, const std::string& gpu, const KernelTime& fast, const KernelTime& slow) {
    ++compared, refined += slow.corrected ? 1 : 0;
    longer += fast.time > slow.time * rounding ? 1 : 0;
    EXPECT_LE(fast.time.value(), slow.time.value() * rounding) << what << " on " << gpu;
  };
  for (int i = 0; i < 500; ++i) {
    const Gpu& gpu = *timed[static_cast<std::size_t>(i) % timed.size()];
    Gpu slower = gpu, faster;
    for (FlopsPerSecond& peak : slower.peak) peak = peak * 1.01;  // no longer the one that was timed
    faster = slower;
    const double products = random.factor(), memory = random.factor();
    for (FlopsPerSecond& peak : faster.peak) peak = peak * products;
    faster.memory_bandwidth = faster.memory_bandwidth * memory;
    const Profile slow = default_kernel_profile(slower, built_in().profiles);
    const Profile fast = default_kernel_profile(faster, built_in().profiles);
    ASSERT_EQ(slow.gemm.size(), fast.gemm.size());
    for (std::size_t law = 0; law < slow.gemm.size(); ++law) {
      const GemmQuery query = random.gemm(slow.gemm[law]);
      compare("product", gpu.id, gemm_time(fast.gemm[law], fast.units, query),
          gemm_time(slow.gemm[law], slow.units, query));
    }
    for (std::size_t law = 0; law < slow.attention_kernels.size(); ++law) {
      const AttentionQuery query = random.attention(slow.attention_kernels[law]);
      compare("attention", gpu.id, attention_time(fast.attention_kernels[law], fast.units, query, false),
          attention_time(slow.attention_kernels[law], slow.units, query, false));
    }
    for (std::size_t law = 0; law < slow.moe.size(); ++law) {
      const MoeQuery query = random.moe(slow.moe[law]);
      compare(
          "experts", gpu.id, moe_time(fast.moe[law], fast.units, query), moe_time(slow.moe[law], slow.units, query));
    }
  }
  EXPECT_EQ(longer, 0) << "of " << compared;
  EXPECT_GT(refined, 500);
}

}  // namespace
}  // namespace stepcast
