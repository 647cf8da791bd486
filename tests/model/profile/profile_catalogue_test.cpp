// The profiles that ship: what is plausible, what is published, and their two files.
#include <gtest/gtest.h>

#include <cmath>

#include "model/base/embedded.h"
#include "model/catalog.h"
#include "model/profile/collective_law.h"
#include "model/profile/kernel_features.h"
#include "model/profile/kernel_law.h"
#include "model/profile/profile.h"

namespace stepcast {
namespace {

TEST(ProfileCatalogue, rates_lie_between_a_third_of_the_datasheet_and_the_datasheet) {
  ASSERT_GE(built_in().profiles.size(), 6u);
  for (const Profile& profile : built_in().profiles) {
    const auto gpu = find_row(built_in().gpus, profile.gpu, "gpu");
    ASSERT_TRUE(gpu.has_value()) << profile.id;
    for (const RooflineLaw& law : profile.gemm) {
      const double share = law.compute / (*gpu)->peak[static_cast<int>(law.precision)];
      EXPECT_GT(share, 0.33) << profile.id << " " << to_text(law.precision);
      EXPECT_LE(share, 1.0) << profile.id << " " << to_text(law.precision);
      EXPECT_LE(law.memory / (*gpu)->memory_bandwidth, 1.0) << profile.id;
    }
    for (const CollectiveCurve& curve : profile.collectives)
      EXPECT_GT(curve_time(curve, Bytes(1e9)).value(), curve_time(curve, Bytes(1e8)).value()) << profile.id;
  }
}

/// Fewer rows may be padded to more. Tiles explain a quarter; between paddings that are asked about some is left.
TEST(ProfileCatalogue, a_product_takes_no_longer_than_one_of_more_rows_but_for_its_tiles) {
  constexpr double most = 1.35;
  int laws = 0, bounded = 0;
  for (const Profile& profile : built_in().profiles)
    for (const RooflineLaw& law : profile.gemm) {
      ++laws, bounded += law.refinement.bounded_by_padding ? 1 : 0;
      double worst = 0;
      for (const double n : {1024, 7168, 8192, 28672})
        for (const double k : {1024, 2048, 7168, 8192}) {
          Seconds least(INFINITY);  // with more rows
          for (double m = 8192; m >= 32; m -= m > 1024 ? 128 : 32) {
            const Seconds time = gemm_time(law, profile.units, {m, n, k, 1, law.precision, law.block_scaled}).time;
            worst = std::max(worst, time / least);
            least = std::min(least, time);
          }
        }
      EXPECT_LT(worst, most) << profile.id << " " << to_text(law.precision) << (law.block_scaled ? " in blocks" : "");
    }
  EXPECT_GT(laws, 40);
  EXPECT_EQ(bounded, 2);  // DeepGEMM's on H100 and H200
}

std::string embedded_text(const std::string& name) {
  for (const EmbeddedFile& file : embedded_catalog())
    if (file.name == name) return std::string(file.text);
  return "";
}

TEST(ProfileCatalogue, forecasts_read_one_file_and_single_kernels_two) {
  std::size_t steps = 0, kernels = 0;
  for (const ProfileRow& row : built_in().profiles) {
    const std::string own = embedded_text("profiles/" + row.id + ".json"),
                      added = embedded_text("kernels/" + row.id + ".json");
    EXPECT_EQ(write_step_part(row.whole()), own) << row.id;
    if (!added.empty()) {
      EXPECT_EQ(write_kernel_part(row.whole()), added) << row.id;
    }
    for (const RooflineLaw& law : row.steps().gemm) EXPECT_TRUE(law.refinement.correction.empty()) << row.id;
    EXPECT_TRUE(row.steps().attention_kernels.empty() && row.steps().memory_ops.empty() && row.steps().moe.empty())
        << row.id;
    // One file with both parts, as users have it, is the same profile.
    const auto whole = read_profile(write_profile(row.whole()), row.id);
    ASSERT_TRUE(whole) << to_text(whole.error());
    EXPECT_EQ(write_step_part(*whole), own);
    steps += own.size(), kernels += added.size();
  }
  EXPECT_LT(steps, 250'000u);
  EXPECT_GT(kernels, 6 * steps);
  for (const EmbeddedFile& file : embedded_catalog()) {
    if (!file.name.starts_with("kernels/")) continue;
    const std::string id(file.name.substr(8, file.name.size() - 8 - 5));
    EXPECT_TRUE(find_row(built_in().profiles, id, "profile").has_value()) << file.name;
  }
}

TEST(ProfileCatalogue, a100_products_and_collectives_as_published) {
  const auto found = find_row(built_in().profiles, "a100-sxm-80", "profile");
  ASSERT_TRUE(found.has_value());
  const Profile& a100 = **found;
  // 8192^3 in bf16 at about 250 TFLOP/s: 1.1e12 FLOP in 4.4 to 4.6 ms.
  const double product =
      roofline_time(*find_gemm(a100, Precision::bf16), Flops(2 * 8192.0 * 8192 * 8192), Bytes(3 * 8192.0 * 8192 * 2))
          .value();
  EXPECT_NEAR(product, 4.5e-3, 0.2e-3);
  // all_reduce of 512 MiB over 8 GPUs: 222 GB/s bus bandwidth (aiconfigurator 095f58a).
  const double received = 1.75 * 512 * 1024 * 1024;
  const auto reduce = collective_time(a100, CollectiveKind::all_reduce, FabricKind::nvswitch, 8, Bytes(received));
  EXPECT_NEAR(received / reduce->time.value(), 222e9, 5e9);
  EXPECT_EQ(a100.sustained_slowdown, 1);
}

}  // namespace
}  // namespace stepcast
