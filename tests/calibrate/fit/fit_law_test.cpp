// Laws recovered from times that they made themselves, and corrections only where they pay.
#include <gtest/gtest.h>

#include <cmath>

#include "calibrate/fit/numeric/boost.h"
#include "calibrate/fit/fit_law.h"
#include "model/profile/kernel_law.h"

namespace stepcast::calibrate {
namespace {

Gpu round_gpu() {
  Gpu gpu;
  gpu.id = "round";
  gpu.multiprocessors = 100;
  gpu.l2 = Bytes(50e6);
  gpu.memory_bandwidth = BytesPerSecond(2e12);
  gpu.peak[static_cast<int>(Precision::bf16)] = FlopsPerSecond(300e12);
  return gpu;
}

RooflineLaw law_with(double softness) {
  RooflineLaw law;
  law.t0 = Seconds(3e-6);
  law.compute = FlopsPerSecond(225e12);
  law.memory = BytesPerSecond(1.7e12);
  law.softness = softness;
  return law;
}

/// Sizes in powers of two from 512 (and below, where `small`), timed by `time`.
template <typename Time> std::vector<Sample<GemmQuery>> products(Time time, bool small = false) {
  std::vector<Sample<GemmQuery>> out;
  for (double m = small ? 16 : 512; m <= 8192; m *= 2)
    for (double n = 1024; n <= 8192; n *= 2)
      for (double k = 1024; k <= 8192; k *= 2) {
        const GemmQuery query{.m = m, .n = n, .k = k};
        out.push_back({query, time(query)});
      }
  return out;
}

/// Scatter of some percent that repeats: the same for the same shape.
double scatter(const GemmQuery& g, double size) {
  const double unit = static_cast<double>(hash_of({g.m, g.n, g.k}) >> 11) / 9007199254740992.0;
  return std::exp(size * (2 * unit - 1));
}

TEST(FitLaw, recovers_the_law_that_made_the_times) {
  for (const double softness : {1.0, 1.5, 2.0, 3.0}) {
    const RooflineLaw truth = law_with(softness);
    const auto fitted = fit_gemm(products([&](const GemmQuery& q) { return base_time(truth, q); }), round_gpu());
    ASSERT_TRUE(fitted.has_value());
    EXPECT_EQ(fitted->law.softness, softness);
    EXPECT_NEAR(fitted->law.compute.value(), 225e12, 2e12) << softness;
    EXPECT_NEAR(fitted->law.memory.value(), 1.7e12, 0.02e12) << softness;
    EXPECT_NEAR(fitted->law.t0.value(), 3e-6, 1e-7) << softness;
    EXPECT_LT(fitted->law.refinement.held_out.mape, 0.005);
    EXPECT_EQ(fitted->law.refinement.held_out.samples, 80);
    EXPECT_TRUE(fitted->law.refinement.correction.empty());
  }
}

/// The same sizes forward and as accumulating weight gradients, and some rows that no vector divides.
TEST(FitLaw, recovers_accumulators_and_alignment) {
  RooflineLaw truth = law_with(2);
  truth.accumulate = 1.4;
  truth.part_aligned = 3;
  truth.unaligned = 7;
  auto samples = products([&](const GemmQuery& q) { return base_time(truth, q); });
  for (const auto& sample : std::vector(samples)) {
    GemmQuery query = sample.query;
    query.layout = GemmLayout::nt;
    samples.push_back({query, base_time(truth, query)});
  }
  for (const double n : {4097.0, 5461.0, 4098.0, 4100.0, 8196.0}) {
    const GemmQuery query{.m = 2048, .n = n, .k = 4096};
    samples.push_back({query, base_time(truth, query)});
  }
  const auto fitted = fit_gemm(samples, round_gpu());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_NEAR(fitted->law.accumulate, 1.4, 0.02);
  EXPECT_NEAR(fitted->law.part_aligned, 3, 0.05);
  EXPECT_NEAR(fitted->law.unaligned, 7, 0.1);
  EXPECT_NEAR(fitted->law.compute.value(), 225e12, 2e12);
  // Without such samples the terms are not known.
  const auto plain = fit_gemm(products([&](const GemmQuery& q) { return base_time(truth, q); }), round_gpu());
  EXPECT_EQ(plain->law.accumulate, 0);
  EXPECT_EQ(plain->law.part_aligned, 0);
  EXPECT_EQ(plain->law.unaligned, 0);
}

std::vector<Sample<AttentionQuery>> cores(const AttentionLaw& truth, bool full, bool small_heads) {
  std::vector<Sample<AttentionQuery>> out;
  for (double s = 512; s <= 16384; s *= 2)
    for (const double d : {64.0, 128.0})
      for (const bool causal : {true, false})
        for (const AttentionPass pass : {AttentionPass::forward, AttentionPass::backward}) {
          if ((!causal && !full) || (d < 128 && !small_heads)) continue;
          const double heads = 1024 / d;
          const AttentionQuery query{.batch = 16384 / s,
              .queries = s,
              .keys = s,
              .heads = heads,
              .kv_heads = heads,
              .head_dim = d,
              .pass = pass,
              .causal = causal};
          out.push_back({query, base_time(truth, query)});
        }
  return out;
}

TEST(FitLaw, recovers_the_terms_of_attention) {
  AttentionLaw truth;
  truth.t0 = Seconds(4e-6);
  truth.compute = FlopsPerSecond(200e12);
  truth.memory = BytesPerSecond(2e12);
  truth.backward_efficiency = 0.9;
  truth.forward = {.causal_ramp = 150, .softmax = 80, .full_rate = 1.1, .traffic = 0.4};
  truth.backward = {.causal_ramp = 220, .softmax = 45, .full_rate = 1.05, .traffic = 3};
  const auto fitted = fit_attention(cores(truth, true, true), round_gpu());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_LT(fitted->law.refinement.held_out.mape, 0.02);
  EXPECT_NEAR(fitted->law.forward.softmax, 80, 8);
  EXPECT_NEAR(fitted->law.backward.softmax, 45, 5);
  EXPECT_NEAR(fitted->law.forward.full_rate, 1.1, 0.03);
  EXPECT_NEAR(fitted->law.backward.traffic, 3, 0.5);
  // What samples do not show stays as usual: causal kernels of one head size have one ramp.
  const auto plain = fit_attention(cores(truth, false, false), round_gpu());
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->law.forward, AttentionTerms{});
  EXPECT_EQ(plain->law.backward, usual_backward_terms);
  EXPECT_GT(plain->law.ramp, 1);
}

/// Three samples of its own, all of one size, say nothing of a start; the law of all operators does.
TEST(FitLaw, operators_with_few_samples_are_near_the_usual_one) {
  const MemoryLaw usual{Seconds(2e-6), BytesPerSecond(1.8e12), Source::fitted, {}};
  std::vector<Sample<MemoryQuery>> few;
  for (const double rows : {4096.0, 4097.0, 4100.0, 4104.0}) {
    const MemoryQuery query{find_memory_op("add"), rows, 4096, 2};
    few.push_back({query, base_time(usual, query)});
  }
  const MemoryQuery small{find_memory_op("add"), 64, 4096, 2};
  const auto with = fit_memory(few, round_gpu(), {}, &usual), without = fit_memory(few, round_gpu());
  ASSERT_TRUE(with.has_value() && without.has_value());
  EXPECT_NEAR(base_time(with->law, small) / base_time(usual, small), 1, 0.02);
  EXPECT_GT(std::abs(base_time(without->law, small) / base_time(usual, small) - 1), 0.2);
}

TEST(FitLaw, sixteen_samples_are_enough_for_a_base_law) {
  const RooflineLaw truth = law_with(2);
  auto samples = products([&](const GemmQuery& q) { return base_time(truth, q) * scatter(q, 0.05); });
  std::vector<Sample<GemmQuery>> sixteen;
  for (std::size_t i = 0; i < samples.size(); i += 5) sixteen.push_back(samples[i]);
  const auto fitted = fit_gemm(sixteen, round_gpu());
  ASSERT_TRUE(fitted.has_value());
  for (const auto& sample : samples)
    EXPECT_NEAR(
        gemm_time(fitted->law, units_of(round_gpu()), sample.query).time / base_time(truth, sample.query), 1, 0.06);
  EXPECT_FALSE(fit_gemm(std::vector(sixteen.begin(), sixteen.begin() + 3), round_gpu()).has_value());
}

TEST(FitLaw, learns_what_the_base_law_cannot_say_and_forecasts_held_out_shapes) {
  const RooflineLaw truth = law_with(2);
  const auto time = [&](const GemmQuery& q) {
    return base_time(truth, q) * (q.m < 100 ? 1.5 : q.n > 3000 ? 0.9 : 1.1) * scatter(q, 0.02);
  };
  std::vector<Sample<GemmQuery>> samples;
  for (double scale = 1; scale < 1.9; scale += 0.2)
    for (auto sample : products([](const GemmQuery&) { return Seconds(1); }, true)) {
      sample.query.k = std::round(sample.query.k * scale);
      sample.time = time(sample.query);
      samples.push_back(sample);
    }
  const auto fitted = fit_gemm(samples, round_gpu());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_GT(fitted->base_mape, 0.08);
  EXPECT_LT(fitted->law.refinement.held_out.mape, 0.03);
  EXPECT_FALSE(fitted->law.refinement.correction.empty());
  EXPECT_EQ(fitted->law.refinement.use, CorrectionUse::kernels);
  EXPECT_EQ(fitted->law.alone.samples, fitted->law.refinement.held_out.samples);
  EXPECT_EQ(fitted->law.alone.mape, fitted->base_mape);
  EXPECT_GT(fitted->law.alone.mape, fitted->law.refinement.held_out.mape);
  // Shapes that were nowhere in the samples.
  double sum = 0;
  int shapes = 0;
  for (double k = 1111; k < 8000; k *= 1.37, ++shapes) {
    const GemmQuery query{.m = 64, .n = 2048, .k = std::round(k)};
    sum += std::abs(gemm_time(fitted->law, units_of(round_gpu()), query).time / time(query) - 1);
  }
  EXPECT_LT(sum / shapes, 0.04);
}

/// From 257 to 512 rows all products take four times as long, and with 1,024 less: so it is, and held-out forecasts are
/// worse where padding bounds it.
TEST(FitLaw, products_that_are_slow_in_truth_are_not_bounded_by_padding) {
  const RooflineLaw truth = law_with(2);
  std::vector<Sample<GemmQuery>> samples;
  for (double scale = 1; scale < 1.9; scale += 0.1)
    for (auto sample : products([](const GemmQuery&) { return Seconds(1); }, true)) {
      sample.query.k = std::round(sample.query.k * scale);
      const bool slow = sample.query.m > 256 && sample.query.m <= 512;
      sample.time = base_time(truth, sample.query) * (slow ? 4.0 : 1.0);
      samples.push_back(sample);
    }
  const auto fitted = fit_gemm(samples, round_gpu());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_FALSE(fitted->law.refinement.correction.empty());
  EXPECT_FALSE(fitted->law.refinement.bounded_by_padding);
}

TEST(FitLaw, intervals_cover_what_they_say_and_are_wider_where_times_scatter) {
  const RooflineLaw truth = law_with(2);
  std::vector<Sample<GemmQuery>> samples;
  for (double scale = 1; scale < 1.9; scale += 0.1)
    for (auto sample : products([](const GemmQuery&) { return Seconds(1); }, true)) {
      sample.query.k = std::round(sample.query.k * scale);
      sample.time = base_time(truth, sample.query) * scatter(sample.query, sample.query.m < 300 ? 0.3 : 0.03);
      samples.push_back(sample);
    }
  const auto fitted = fit_gemm(samples, round_gpu());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_GT(fitted->law.refinement.held_out.coverage, 0.75);
  EXPECT_LT(fitted->law.refinement.held_out.coverage, 0.88);
  const auto width = [&](double m) {
    const Spread spread = gemm_time(fitted->law, units_of(round_gpu()), {.m = m, .n = 2048, .k = 2048}).spread;
    return spread.p90 - spread.p10;
  };
  EXPECT_GT(width(64), 3 * width(2048));
}

TEST(FitLaw, the_same_samples_give_the_same_law) {
  const RooflineLaw truth = law_with(2);
  const auto samples = products([&](const GemmQuery& q) { return base_time(truth, q) * scatter(q, 0.2); }, true);
  const auto one = fit_gemm(samples, round_gpu()), two = fit_gemm(samples, round_gpu());
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->law.compute, two->law.compute);
  EXPECT_EQ(one->law.refinement.width.value, two->law.refinement.width.value);
  EXPECT_EQ(one->predicted, two->predicted);
}

TEST(FitLaw, cast_is_told_from_the_product) {
  RooflineLaw truth = law_with(2);
  truth.precision = Precision::fp8;
  truth.compute = FlopsPerSecond(450e12);
  truth.cast = BytesPerSecond(0.8e12);
  truth.cast_t0 = Seconds(8e-6);
  std::vector<Sample<GemmQuery>> samples;
  for (auto sample : products([](const GemmQuery&) { return Seconds(1); })) {
    sample.query.precision = Precision::fp8;
    sample.query.casts_x = true;
    sample.time = base_time(truth, sample.query);
    samples.push_back(sample);
  }
  Gpu gpu = round_gpu();
  gpu.peak[static_cast<int>(Precision::fp8)] = FlopsPerSecond(600e12);
  const auto fitted = fit_gemm(samples, gpu);
  ASSERT_TRUE(fitted.has_value());
  EXPECT_NEAR(fitted->law.compute.value(), 450e12, 10e12);
  EXPECT_NEAR(fitted->law.cast.value(), 0.8e12, 0.05e12);
  // two launches in a row: only their sum shows
  EXPECT_NEAR((fitted->law.cast_t0 + fitted->law.t0).value(), 11e-6, 0.3e-6);
}

TEST(FitLaw, sustained_runs_give_their_slow_down) {
  const RooflineLaw truth = law_with(2);
  const auto slow = products([&](const GemmQuery& q) { return base_time(truth, q) * 1.15; });
  EXPECT_NEAR(sustained_slowdown(truth, units_of(round_gpu()), slow), 1.15, 1e-9);
  EXPECT_EQ(sustained_slowdown(truth, units_of(round_gpu()), slow, Seconds(1)), 1);  // none that long
}

TEST(Boost, a_step_is_learned_where_it_is) {
  std::vector<float> features;
  std::vector<double> target;
  for (int i = 0; i < 400; ++i) {
    features.push_back(static_cast<float>(i));
    features.push_back(static_cast<float>(i % 7));
    target.push_back(i < 100 ? -0.1 : 0.1);
  }
  const Correction c = boost(features, 2, target);
  EXPECT_NEAR(sum_at(c, std::array{20.0F, 3.0F}), -0.1, 0.005);
  EXPECT_NEAR(sum_at(c, std::array{300.0F, 3.0F}), 0.1, 0.005);
}

TEST(Boost, features_that_never_change_give_nothing) {
  const std::vector<float> features(50, 1.0F);
  const std::vector<double> target(50, 0.5);
  EXPECT_TRUE(boost(features, 1, target).empty());
}

}  // namespace
}  // namespace stepcast::calibrate
