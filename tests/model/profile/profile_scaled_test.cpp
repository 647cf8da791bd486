// Profiles of GPUs that nobody measured: scaled from a relative, or made of the datasheet.
#include <gtest/gtest.h>

#include "model/catalog.h"
#include "model/profile/collective_law.h"
#include "tests/model/profile/round_profile.h"

namespace stepcast {
namespace {

TEST(Profile, roofs_stay_with_the_gpu_they_were_measured_on) {
  const Profile scaled =
      scaled_profile(profile_with_roofs(), round_gpu("round-1", 100, 1000), round_gpu("round-2", 200, 3000));
  EXPECT_TRUE(scaled.roofs.empty());
  EXPECT_DOUBLE_EQ(scaled.host.stream_kernel.value(), 0);
}

TEST(Profile, missing_precisions_take_the_bf16_share_of_the_peak) {
  const Profile full = with_all_precisions(round_profile(), round_gpu("round-1", 100, 1000));
  const RooflineLaw* fp8 = find_gemm(full, Precision::fp8);
  ASSERT_NE(fp8, nullptr);
  EXPECT_DOUBLE_EQ(fp8->compute.value(), 160e12);  // 80 of 100 with bf16, so 160 of 200
  EXPECT_EQ(fp8->source, Source::transferred);
  EXPECT_EQ(find_gemm(full, Precision::nvfp4), nullptr);
}

TEST(Profile, scaled_by_the_datasheet_ratio) {
  const Profile scaled =
      scaled_profile(round_profile(), round_gpu("round-1", 100, 1000), round_gpu("round-2", 200, 3000));
  EXPECT_EQ(scaled.gpu, "round-2");
  EXPECT_DOUBLE_EQ(scaled.gemm[0].compute.value(), 160e12);
  EXPECT_DOUBLE_EQ(scaled.gemm[0].memory.value(), 2700e9);
  EXPECT_DOUBLE_EQ(scaled.memory.memory.value(), 2400e9);
  EXPECT_DOUBLE_EQ(scaled.attention.compute.value(), 120e12);
  EXPECT_DOUBLE_EQ(scaled.collectives[0].bandwidth.value(), 80e9);  // same links
  EXPECT_EQ(scaled.gemm[0].source, Source::transferred);
  EXPECT_LT(scaled.step_spread.p10, 0.9);
}

TEST(Profile, datasheet_rates_stay_below_the_datasheet) {
  const Gpu gpu = round_gpu("round-9", 100, 1000);
  const Profile profile = datasheet_profile(gpu);
  for (const RooflineLaw& law : profile.gemm) {
    EXPECT_LT(law.compute, gpu.peak[static_cast<int>(law.precision)]);
    EXPECT_EQ(law.source, Source::datasheet);
  }
  EXPECT_LT(profile.memory.memory, gpu.memory_bandwidth);
  EXPECT_TRUE(collective_time(profile, CollectiveKind::all_reduce, FabricKind::nvswitch, 4, Bytes(1e6)).has_value());
}

TEST(DefaultProfile, own_profile_first_then_datasheet) {
  const std::vector<Profile> profiles{round_profile()};
  EXPECT_EQ(default_profile(round_gpu("round-1", 100, 1000), profiles).id, "round");
  EXPECT_EQ(default_profile(round_gpu("round-7", 100, 1000), profiles).id, "round-7-datasheet");
}

TEST(DefaultProfile, every_gpu_of_the_catalogue_has_one_that_says_its_source) {
  for (const Gpu& gpu : built_in().gpus) {
    const Profile profile = default_profile(gpu, built_in().profiles);
    EXPECT_EQ(profile.gpu, gpu.id);
    EXPECT_FALSE(profile.gemm.empty()) << gpu.id;
    EXPECT_FALSE(profile.context.empty()) << gpu.id;
    const Precision main = gpu.peak[static_cast<int>(Precision::bf16)].value() > 0 ? Precision::bf16 : Precision::fp16;
    ASSERT_NE(find_gemm(profile, main), nullptr) << gpu.id;
  }
}

TEST(DefaultProfile, a100_with_40_gb_is_scaled_from_its_sister) {
  for (const Gpu& gpu : built_in().gpus) {
    if (gpu.id != "a100-40gb") continue;
    EXPECT_EQ(default_profile(gpu, built_in().profiles).id, "a100-40gb-from-a100-sxm-80");
  }
}

TEST(DefaultProfile, where_a_correction_is_dropped_its_figures_go_too) {
  Gpu from = round_gpu("round-1", 100, 1000), wide = round_gpu("round-2", 200, 1000);
  from.multiprocessors = 100, wide.multiprocessors = 200;
  const Profile scaled = scaled_profile(corrected_profile(), from, wide);
  EXPECT_EQ(scaled.gemm[0].refinement.use, CorrectionUse::none);
  EXPECT_EQ(scaled.gemm[0].refinement.held_out.samples, 0);
  EXPECT_EQ(scaled.gemm[0].alone.samples, 250) << "of the law alone, where it was fitted";
}

}  // namespace
}  // namespace stepcast
