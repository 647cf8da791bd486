// GPUs whose profile is scaled from another's: the sustained clock under a power limit, and kernels of faster ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "model/catalog.h"
#include "model/convolution_law.h"
#include "model/profile/collective_law.h"
#include "model/profile/kernel_law.h"
#include "model/profile/profile.h"
#include "model/profile/query.h"
#include "model/profile/scan_law.h"

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
  ScanShape scan(const ScanLaw& law) {
    const double heads = 8 * up_to(16);
    return {
        find_scan(law.function), up_to(64), up_to(65536), heads, heads, law.value_size, law.key_size, law.positions};
  }
  Bytes bytes() { return Bytes(1024 * up_to(1 << 20)); }
  MoeQuery moe(const RooflineLaw& law) {
    MoeQuery out{up_to(16384), 4096, 1024 * up_to(8), up_to(8), 128};
    out.precision = law.precision;
    return out;
  }
};

/// Rounding of thresholds to single precision.
constexpr double rounding = 1 + 1e-5;

/// Times of one GPU's kernels beside those of a faster one.
struct Comparison {
  RandomShapes random;
  int compared = 0, longer = 0, refined = 0;

  void of(const char* what, const std::string& gpu, const KernelTime& fast, const KernelTime& slow) {
    ++compared, refined += slow.corrected ? 1 : 0;
    longer += fast.time > slow.time * rounding ? 1 : 0;
    EXPECT_LE(fast.time.value(), slow.time.value() * rounding) << what << " on " << gpu;
  }
  void kernels(const std::string& gpu, const Profile& fast, const Profile& slow) {
    for (const RooflineLaw& law : slow.gemm) {
      const GemmQuery query = random.gemm(law);
      const RooflineLaw* other = find_gemm(fast, law.precision, law.block_scaled);
      ASSERT_NE(other, nullptr) << gpu;
      of("product", gpu, gemm_time(*other, fast.units, query), gemm_time(law, slow.units, query));
    }
    ASSERT_EQ(slow.attention_kernels.size(), fast.attention_kernels.size());
    for (std::size_t law = 0; law < slow.attention_kernels.size(); ++law) {
      const AttentionQuery query = random.attention(slow.attention_kernels[law]);
      of("attention", gpu, attention_time(fast.attention_kernels[law], fast.units, query, false),
          attention_time(slow.attention_kernels[law], slow.units, query, false));
    }
    ASSERT_EQ(slow.moe.size(), fast.moe.size());
    for (std::size_t law = 0; law < slow.moe.size(); ++law) {
      const MoeQuery query = random.moe(slow.moe[law]);
      of("experts", gpu, moe_time(fast.moe[law], fast.units, query), moe_time(slow.moe[law], slow.units, query));
    }
    ASSERT_EQ(slow.scans.size(), fast.scans.size());
    for (std::size_t law = 0; law < slow.scans.size(); ++law) {
      if (names_convolution(slow.scans[law].function)) {
        for (const ChannelConvolution& shape : {ChannelConvolution{64, 1, 8192}, {1, 512, 4096}, {8, 4096, 8192}})
          of("convolution", gpu, convolution_time(fast.scans[law], shape), convolution_time(slow.scans[law], shape));
        continue;
      }
      const ScanShape shape = random.scan(slow.scans[law]);
      of("scan", gpu, scan_time(fast.scans[law], shape), scan_time(slow.scans[law], shape));
    }
    ASSERT_EQ(slow.memory_ops.size(), fast.memory_ops.size());
    for (std::size_t law = 0; law < slow.memory_ops.size(); ++law) {
      const Bytes bytes = random.bytes();
      of("stream", gpu, memory_time(fast.memory_ops[law], bytes), memory_time(slow.memory_ops[law], bytes));
    }
  }
  void collectives(const std::string& gpu, const Profile& fast, const Profile& slow) {
    for (const CollectiveCurve& curve : slow.collectives) {
      const Bytes bytes = random.bytes();
      const auto before = collective_time(slow, curve.kind, curve.fabric, curve.ranks, bytes),
                 after = collective_time(fast, curve.kind, curve.fabric, curve.ranks, bytes);
      ASSERT_TRUE(before && after) << gpu;
      ++compared;
      longer += after->time > before->time * rounding ? 1 : 0;
      EXPECT_LE(after->time.value(), before->time.value() * rounding) << "collective on " << gpu;
    }
  }
};

std::vector<const Gpu*> catalogue_gpus(bool timed) {
  std::vector<const Gpu*> out;
  for (const Gpu& gpu : built_in().gpus)
    if ((std::ranges::find(built_in().profiles, gpu.id, &ProfileRow::gpu) != built_in().profiles.end()) == timed)
      out.push_back(&gpu);
  return out;
}

/// A chip that somebody describes as the catalogue's with faster products and memory is a faster one: corrections do
/// not take another value because compute and memory are balanced otherwise.
TEST(DescribedGpus, NoKernelTakesLongerOnFasterOnes) {
  Comparison comparison;
  const std::vector<const Gpu*> timed = catalogue_gpus(true);
  ASSERT_GT(timed.size(), 8U);
  for (int i = 0; i < 500; ++i) {
    const Gpu& gpu = *timed[static_cast<std::size_t>(i) % timed.size()];
    Gpu slower = gpu, faster;
    for (FlopsPerSecond& peak : slower.peak) peak = peak * 1.01;  // no longer the one that was timed
    faster = slower;
    const double products = comparison.random.factor(), memory = comparison.random.factor();
    for (FlopsPerSecond& peak : faster.peak) peak = peak * products;
    faster.memory_bandwidth = faster.memory_bandwidth * memory;
    comparison.kernels(gpu.id, default_kernel_profile(faster, built_in().profiles),
        default_kernel_profile(slower, built_in().profiles));
  }
  EXPECT_EQ(comparison.longer, 0) << "of " << comparison.compared;
  EXPECT_GT(comparison.refined, 500);
}

/// As large in units and cache, and at least as fast in all that has a rate.
bool no_slower(const Gpu& a, const Gpu& b) {
  if (a.architecture != b.architecture || a.multiprocessors != b.multiprocessors || !(a.l2 == b.l2)) return false;
  for (std::size_t type = 0; type < std::size(a.peak); ++type)
    if (a.peak[type] < b.peak[type]) return false;
  return !(a.memory_bandwidth < b.memory_bandwidth) && !(a.scale_up_bandwidth < b.scale_up_bandwidth);
}

/// Whose profile it is scaled from.
std::string profile_behind(const Profile& profile) {
  const std::size_t from = profile.id.find("-from-");
  return from == profile.id.npos ? profile.id : profile.id.substr(from + std::size("-from-") - 1);
}

/// Of GPUs of the catalogue that stand on one that was timed: a variant with faster links, memory or products, whether
/// the catalogue has it or somebody edits it, takes no longer.
TEST(CatalogueGpus, NoKernelOrCollectiveTakesLongerOnFasterVariants) {
  Comparison comparison;
  const std::vector<const Gpu*> scaled = catalogue_gpus(false);
  struct Pair {
    const Gpu *slow, *fast;
  };
  std::vector<Pair> pairs;
  const auto profile_of = [](const Gpu& gpu) { return default_kernel_profile(gpu, built_in().profiles); };
  for (const Gpu* gpu : scaled)
    for (const Gpu& other : built_in().gpus) {
      const bool same = profile_behind(profile_of(*gpu)) == profile_behind(profile_of(other));
      if (&other == gpu || !same) continue;
      if (no_slower(other, *gpu)) pairs.push_back({gpu, &other});
      else if (no_slower(*gpu, other)) pairs.push_back({&other, gpu});
    }
  ASSERT_GT(pairs.size(), 20U);
  std::vector<const Gpu*> with_relative;
  for (const Gpu* gpu : scaled)
    if (profile_of(*gpu).id.find("-from-") != std::string::npos) with_relative.push_back(gpu);
  std::mt19937& numbers = comparison.random.numbers;
  for (int i = 0; i < 500; ++i) {
    const Pair pair = pairs[numbers() % pairs.size()];
    const Gpu& gpu = i % 2 == 0 ? *pair.slow : *with_relative[numbers() % with_relative.size()];
    Gpu faster = i % 2 == 0 ? *pair.fast : gpu;
    if (i % 2 == 1) {
      const double products = comparison.random.factor();
      for (FlopsPerSecond& peak : faster.peak) peak = peak * products;
      faster.memory_bandwidth = faster.memory_bandwidth * comparison.random.factor();
      faster.scale_up_bandwidth = faster.scale_up_bandwidth * comparison.random.factor();
    }
    const Profile fast = profile_of(faster), slow = profile_of(gpu);
    comparison.kernels(gpu.id + " and " + faster.id, fast, slow);
    comparison.collectives(gpu.id + " and " + faster.id, fast, slow);
    if (i % 2 == 0) continue;
    for (const RooflineLaw& law : slow.gemm) {  // held for as long as training is
      const RooflineLaw* other = find_gemm(fast, law.precision, law.block_scaled);
      EXPECT_LE(
          law.compute.value() / slow.sustained_slowdown, other->compute.value() / fast.sustained_slowdown * rounding)
          << gpu.id;
    }
  }
  EXPECT_EQ(comparison.longer, 0) << "of " << comparison.compared;
  EXPECT_GT(comparison.refined, 500);
}

/// States and chunks take twice as long on half the multiprocessors; what a correction asks of the law's time is that
/// of the GPU that was timed, so that it stays the same.
TEST(ScaledScans, KeepTheirCorrections) {
  Gpu from = limited_gpu(100, 100, 800), wide = limited_gpu(100, 105, 800), half = limited_gpu(100, 50, 800);
  Profile profile;
  profile.gemm = {
      {Precision::bf16, Seconds(0), FlopsPerSecond(80e12), BytesPerSecond(1e12), 2, Source::fitted, {1, 1}}};
  ScanLaw& law = profile.scans.emplace_back();
  law.function = "gated_delta", law.t0 = Seconds(20e-6), law.state = Seconds(80e-9), law.chunk = Seconds(50e-9);
  law.step = Seconds(2e-6), law.state_step = Seconds(60e-9), law.source = Source::fitted, law.spread = {0.9, 1.1};
  law.refinement.use = CorrectionUse::kernels, law.refinement.spread = {0.95, 1.05};
  Correction& correction = law.refinement.correction;
  correction.depth = 1, correction.feature = {scan_feature_names.size() - 1};
  const ScanShape shape{find_scan("gated_delta"), 4, 4096, 32, 32, 128, 128, 64};
  const auto own_time = static_cast<float>(std::log2(scan_time_alone(law, shape).time.value()));
  correction.threshold = {own_time - 0.01F};  // a time that is scaled down lies below
  correction.value = {0.5F, 0.1F};
  correction.low.assign(scan_feature_names.size(), -100), correction.high.assign(scan_feature_names.size(), 100);
  const Profile scaled = scaled_profile(profile, from, wide);
  const ScanLaw& other = scaled.scans.front();
  EXPECT_EQ(other.source, Source::transferred);
  EXPECT_LT(other.refinement.spread.p10, 0.95);
  EXPECT_LT(scan_time_alone(other, shape).time, scan_time_alone(law, shape).time);
  EXPECT_NEAR(scan_time(other, shape).time / scan_time_alone(other, shape).time, std::exp(0.1), 1e-6);
  EXPECT_TRUE(scan_time(other, shape).corrected);
  EXPECT_EQ(scaled_profile(profile, from, half).scans.front().refinement.use, CorrectionUse::none) << "other waves";
}

}  // namespace
}  // namespace stepcast
