// Laws recovered from times that they made themselves.
#include <gtest/gtest.h>

#include <cmath>

#include "calibrate/fit_kernel.h"
#include "calibrate/fit_profile.h"

namespace stepcast {
namespace {

Gpu round_chip() {
  Gpu gpu;
  gpu.id = "round";
  gpu.memory_bandwidth = BytesPerSecond(2e12);
  return gpu;
}

RooflineLaw true_law(double softness) {
  RooflineLaw law;
  law.t0 = Seconds(8e-6);
  law.compute = FlopsPerSecond(250e12);
  law.memory = BytesPerSecond(1.6e12);
  law.softness = softness;
  return law;
}

/// Sizes from 512 to 8192 in powers of two, timed by the law.
std::vector<GemmMeasurement> timed_products(const RooflineLaw& law) {
  std::vector<GemmMeasurement> gemms;
  for (double m = 512; m <= 8192; m *= 2)
    for (double n = 1024; n <= 8192; n *= 2)
      for (double k = 1024; k <= 8192; k *= 2) {
        GemmMeasurement gemm{m, n, k, Seconds(0), 2, 2, false};
        gemm.time = roofline_time(law, flops_of(gemm), bytes_of(gemm));
        gemms.push_back(gemm);
      }
  return gemms;
}

TEST(Measurement, sizes_by_hand) {
  const GemmMeasurement gemm{100, 10, 1, Seconds(1), 1, 2, true};
  EXPECT_DOUBLE_EQ(flops_of(gemm).value(), 2000);
  EXPECT_DOUBLE_EQ(bytes_of(gemm).value(), 100 + 10 + 2000);
  EXPECT_DOUBLE_EQ(cast_bytes_of(gemm).value(), 300);
  // 3 positions see 1 + 2 + 3 keys; 4 FLOPs per head element and pair.
  EXPECT_DOUBLE_EQ(causal_flops_of({2, 3, 5, 10, AttentionPass::forward, Seconds(1)}).value(), 4 * 2 * 5 * 10 * 6);
}

TEST(FitGemm, recovers_the_law_that_made_the_times) {
  for (const double softness : {1.0, 1.5, 2.0, 3.0}) {
    const auto fitted = fit_gemm(timed_products(true_law(softness)), Precision::bf16, round_chip());
    ASSERT_TRUE(fitted.has_value());
    EXPECT_EQ(fitted->law.softness, softness);
    EXPECT_NEAR(fitted->law.compute.value(), 250e12, 2.5e12) << softness;
    EXPECT_NEAR(fitted->law.memory.value(), 1.6e12, 1.6e10) << softness;
    EXPECT_NEAR(fitted->law.t0.value(), 8e-6, 8e-8) << softness;
    EXPECT_LT(fitted->error.mape, 1e-3);
    EXPECT_EQ(fitted->law.source, Source::fitted);
    EXPECT_EQ(fitted->error.samples, 80);
  }
}

TEST(FitGemm, a_tenth_of_disturbed_times_moves_nothing) {
  std::vector<GemmMeasurement> gemms = timed_products(true_law(2));
  for (std::size_t i = 0; i < gemms.size(); i += 10) gemms[i].time = gemms[i].time * 5;
  const auto fitted = fit_gemm(gemms, Precision::bf16, round_chip());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_NEAR(fitted->law.compute.value(), 250e12, 0.02 * 250e12);
}

TEST(FitGemm, the_cast_of_x_is_told_apart_from_the_product) {
  std::vector<GemmMeasurement> gemms = timed_products(true_law(2));
  for (GemmMeasurement& gemm : gemms) {
    gemm.operand_bytes = 1;
    gemm.casts_x = true;
    gemm.time = roofline_time(true_law(2), flops_of(gemm), bytes_of(gemm)) + cast_bytes_of(gemm) / BytesPerSecond(0.8e12);
  }
  const auto fitted = fit_gemm(gemms, Precision::fp8, round_chip(), Seconds(3e-6));
  ASSERT_TRUE(fitted.has_value());
  EXPECT_NEAR(fitted->law.compute.value(), 250e12, 2.5e12);
  EXPECT_DOUBLE_EQ(fitted->law.t0.value(), 3e-6);
}

TEST(FitGemm, memory_stays_near_the_datasheet_where_samples_do_not_see_it) {
  RooflineLaw slow = true_law(2);
  slow.memory = BytesPerSecond(0.4e12);
  const auto fitted = fit_gemm(timed_products(slow), Precision::bf16, round_chip());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_NEAR(fitted->law.memory.value(), 1.5e12, 1e6);  // 0.75 of 2 TB/s
}

TEST(FitGemm, small_products_do_not_count) {
  std::vector<GemmMeasurement> gemms = timed_products(true_law(2));
  for (GemmMeasurement& gemm : gemms) gemm.m = 64;
  const auto fitted = fit_gemm(gemms, Precision::bf16, round_chip());
  ASSERT_FALSE(fitted.has_value());
  EXPECT_EQ(fitted.error().what, "0 usable samples");
}

TEST(SustainedSlowdown, is_the_median_of_long_products) {
  std::vector<GemmMeasurement> gemms = timed_products(true_law(2));
  for (GemmMeasurement& gemm : gemms) gemm.time = gemm.time * (gemm.time > Seconds(300e-6) ? 1.2 : 1.0);
  EXPECT_NEAR(sustained_slowdown(true_law(2), gemms), 1.2, 1e-9);
  EXPECT_DOUBLE_EQ(sustained_slowdown(true_law(2), {}), 1);
  EXPECT_DOUBLE_EQ(sustained_slowdown(true_law(2), timed_products(true_law(2)), Seconds(0)), 1);
}

AttentionLaw true_attention() {
  AttentionLaw law;
  law.t0 = Seconds(10e-6);
  law.compute = FlopsPerSecond(200e12);
  law.ramp = 400;
  law.backward_efficiency = 0.7;
  return law;
}

std::vector<AttentionMeasurement> timed_attention() {
  const AttentionLaw law = true_attention();
  std::vector<AttentionMeasurement> samples;
  for (double positions = 512; positions <= 16384; positions *= 2)
    for (const AttentionPass pass : {AttentionPass::forward, AttentionPass::forward_and_backward})
      for (const double sequences : {4.0, 16.0}) {
        AttentionMeasurement a{sequences, positions, 32, 128, pass, Seconds(0)};
        a.time = attention_time(law, causal_flops_of(a), positions, false);
        if (pass == AttentionPass::forward_and_backward) a.time += attention_time(law, causal_flops_of(a), positions, true);
        samples.push_back(a);
      }
  return samples;
}

TEST(FitAttention, recovers_ramp_and_backward) {
  const auto fitted = fit_attention(timed_attention());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_NEAR(fitted->law.compute.value(), 200e12, 2e12);
  EXPECT_NEAR(fitted->law.ramp, 400, 4);
  EXPECT_NEAR(fitted->law.t0.value(), 10e-6, 1e-7);
  EXPECT_NEAR(fitted->law.backward_efficiency, 0.7, 0.007);
}

TEST(FitMemory, recovers_the_line) {
  std::vector<MemoryMeasurement> kernels;
  for (double bytes = 1e5; bytes < 1e10; bytes *= 3) kernels.push_back({Bytes(bytes), Seconds(4e-6 + bytes / 1.5e12)});
  const auto fitted = fit_memory(kernels);
  ASSERT_TRUE(fitted.has_value());
  EXPECT_NEAR(fitted->law.t0.value(), 4e-6, 4e-8);
  EXPECT_NEAR(fitted->law.memory.value(), 1.5e12, 1.5e10);
  EXPECT_FALSE(fit_memory({kernels.begin(), kernels.begin() + 3}).has_value());
}

TEST(FitProfile, joins_all_laws_and_their_errors) {
  FitInputs inputs;
  inputs.id = "round";
  inputs.name = "Round";
  inputs.gpu = round_chip();
  inputs.context = "synthetic";
  inputs.gemm = {{Precision::bf16, timed_products(true_law(2)), {Precision::fp16}}};
  inputs.attention = timed_attention();
  inputs.step_spread_source = "synthetic";
  const auto fitted = fit_profile(inputs);
  ASSERT_TRUE(fitted.has_value()) << to_text(fitted.error());
  const Profile& profile = fitted->profile;
  EXPECT_EQ(profile.gpu, "round");
  ASSERT_EQ(profile.gemm.size(), 2u);
  EXPECT_EQ(profile.gemm[1].precision, Precision::fp16);
  EXPECT_EQ(profile.gemm[1].source, Source::transferred);
  EXPECT_EQ(profile.memory.source, Source::assumed);
  EXPECT_DOUBLE_EQ(profile.memory.memory.value(), 1.6e12);
  EXPECT_EQ(fitted->errors.size(), 2u);
  EXPECT_EQ(read_profile(write_profile(profile), "round.json")->gemm.size(), 2u);
}

TEST(FitProfile, names_what_is_too_small) {
  FitInputs inputs;
  inputs.id = "round";
  inputs.gpu = round_chip();
  EXPECT_EQ(fit_profile(inputs).error().what, "no timed matrix products");
  inputs.gemm = {{Precision::bf16, timed_products(true_law(2)), {}}};
  EXPECT_EQ(fit_profile(inputs).error().where, "round, attention forward samples of 512 positions and more");
}

}  // namespace
}  // namespace stepcast
