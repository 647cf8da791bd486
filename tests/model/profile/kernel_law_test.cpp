// Times of kernels by a profile: the parts by hand, corrections on top, intervals wider outside what was measured.
#include <gtest/gtest.h>

#include <cmath>

#include "model/profile/kernel_features.h"
#include "model/profile/kernel_law.h"

namespace stepcast {
namespace {

/// 100 TFLOP/s, 1 TB/s, 10 us, sum of both: 1e9 FLOPs take 10 us, 1e6 bytes 1 us.
RooflineLaw sum_law() {
  RooflineLaw law;
  law.t0 = Seconds(10e-6);
  law.compute = FlopsPerSecond(100e12);
  law.memory = BytesPerSecond(1e12);
  law.softness = 1;
  law.spread = {0.9, 1.2};
  law.source = Source::fitted;
  return law;
}

constexpr GpuUnits hundred_units{100, Bytes(10e6)};

/// Says "20 % more" of products with m above 1024, and knows m from 1 to 4096.
Refinement twenty_more_above() {
  Refinement out;
  out.spread = {0.9, 1.2};
  Correction& c = out.correction;
  c.depth = 1;
  c.feature = {0};
  c.threshold = {10};
  c.value = {0, static_cast<float>(std::log(1.2))};
  c.low.assign(gemm_feature_names.size(), -100);
  c.high.assign(gemm_feature_names.size(), 100);
  c.low[0] = 0;
  c.high[0] = 12;
  return out;
}

TEST(KernelLaw, product_by_hand) {
  // 2 x 1000 x 500 x 1000 = 1e9 FLOPs; 2 x (1e6 + 5e5 + 5e5) = 4e6 bytes.
  const KernelTime time = gemm_time(sum_law(), hundred_units, {.m = 1000, .n = 500, .k = 1000});
  EXPECT_NEAR(time.time.value(), 10e-6 + 10e-6 + 4e-6, 1e-12);
  EXPECT_EQ(time.source, Source::fitted);
  EXPECT_EQ(time.spread.p90, 1.2);
  EXPECT_FALSE(time.extrapolated);
}

/// Says "twice" of 257 to 512 rows, and nothing else.
RooflineLaw bump_law() {
  RooflineLaw law = sum_law();
  law.refinement = twenty_more_above();
  Correction& c = law.refinement.correction;
  c.depth = 2;
  c.feature = {0, 0};
  c.threshold = {8, 9};                                    // 256 and 512 rows
  c.value = {0, static_cast<float>(std::log(2.0)), 0, 0};  // above the first alone
  return law;
}

TEST(KernelLaw, where_a_table_contradicts_itself_more_rows_bound_fewer) {
  RooflineLaw law = bump_law();
  const auto at = [&](double m) { return gemm_time(law, hundred_units, {.m = m, .n = 1000, .k = 1000}).time.value(); };
  EXPECT_GT(at(480), 1.4 * at(544));
  const double low = at(256), high = at(1024);
  law.refinement.bounded_by_padding = true;
  EXPECT_NEAR(at(480), at(544), 1e-12);  // 480 x 1.125 = 540, a multiple of 16 is 544
  EXPECT_NEAR(at(256), low, 1e-12);
  EXPECT_NEAR(at(1024), high, 1e-12);
}

TEST(KernelLaw, accumulators_come_after_their_product) {
  RooflineLaw law = sum_law();
  const GemmQuery weights{.m = 1000, .n = 500, .k = 1000, .layout = GemmLayout::nt};
  // 1e9 FLOPs, operands of 3e6 bytes, and 6 bytes for each of 5e5 sums.
  EXPECT_NEAR(gemm_time(law, hundred_units, weights).time.value(), 10e-6 + 10e-6 + 3e-6 + 3e-6, 1e-12);
  // Known: read and written whole, 8 bytes; added to the product's 13 us.
  law.accumulate = 1;
  EXPECT_NEAR(gemm_time(law, hundred_units, weights).time.value(), 10e-6 + 13e-6 + 4e-6, 1e-12);
  law.accumulate = 2;
  EXPECT_NEAR(gemm_time(law, hundred_units, weights).time.value(), 10e-6 + std::hypot(13e-6, 4e-6), 1e-12);
  // A step whose gradients are stored in two bytes adds nothing up.
  const StepLoad stored{flops_of(weights), Bytes(4e6)};
  EXPECT_NEAR(gemm_time(law, hundred_units, weights, stored).time.value(), 10e-6 + 10e-6 + 4e-6, 1e-12);
  const GemmQuery forward{.m = 1000, .n = 500, .k = 1000};
  EXPECT_NEAR(gemm_time(law, hundred_units, forward).time.value(), 10e-6 + 10e-6 + 4e-6, 1e-12);
}

TEST(KernelLaw, rows_at_odd_addresses_take_longer) {
  RooflineLaw law = sum_law();
  law.part_aligned = 3;
  law.unaligned = 7;
  const auto compute = [&](double n, double k, GemmLayout layout = GemmLayout::tn, double m = 1024) {
    const GemmQuery query{.m = m, .n = n, .k = k, .layout = layout};
    const double bytes = bytes_of(query).value() / 1e12;
    return (gemm_time(law, hundred_units, query).time.value() - 10e-6 - bytes) / (flops_of(query).value() / 100e12);
  };
  EXPECT_NEAR(compute(1024, 1024), 1, 1e-9);
  EXPECT_NEAR(compute(1032, 1024), 1, 1e-9) << "8 elements are 16 bytes";
  EXPECT_NEAR(compute(1028, 1024), 3, 1e-9) << "8 bytes";
  EXPECT_NEAR(compute(1026, 1024), 3, 1e-9) << "4 bytes";
  EXPECT_NEAR(compute(1025, 1024), 7, 1e-9) << "GPT-2's 50257 rows of logits";
  EXPECT_NEAR(compute(1024, 1025), 7, 1e-9);
  // Rows of m are not what is read in order, but for weight gradients.
  EXPECT_NEAR(compute(1024, 1024, GemmLayout::tn, 1025), 1, 1e-9);
  EXPECT_NEAR(compute(1024, 1024, GemmLayout::nt, 1025), 7, 1e-9);
  EXPECT_NEAR(compute(1024, 1025, GemmLayout::nt), 1, 1e-9);
}

TEST(KernelLaw, what_bounds_it) {
  const auto bound = [](double m, double n, double k) {
    return gemm_time(sum_law(), hundred_units, {.m = m, .n = n, .k = k}).bound;
  };
  EXPECT_EQ(bound(16, 16, 16), Bound::launch);
  EXPECT_EQ(bound(8192, 8192, 8192), Bound::compute);
  EXPECT_EQ(bound(16, 8192, 8192), Bound::memory);
}

TEST(KernelLaw, cast_is_a_part_of_its_own) {
  RooflineLaw law = sum_law();
  law.precision = Precision::fp8;
  law.cast_t0 = Seconds(5e-6);
  law.cast = BytesPerSecond(0.5e12);
  GemmQuery query{.m = 1000, .n = 500, .k = 1000, .precision = Precision::fp8};
  const Seconds alone = gemm_time(law, hundred_units, query).time;
  query.casts_x = true;
  const KernelTime both = gemm_time(law, hundred_units, query);
  EXPECT_NEAR(both.cast.value(), 5e-6 + 3e6 / 0.5e12, 1e-12);  // 1e6 elements: 2 bytes in, 1 out
  EXPECT_NEAR((both.time - alone).value(), both.cast.value(), 1e-12);
}

TEST(KernelLaw, correction_multiplies_and_fades) {
  RooflineLaw law = sum_law();
  law.refinement = twenty_more_above();
  const auto ratio = [&](double m) {
    const GemmQuery query{.m = m, .n = 512, .k = 512};
    return gemm_time(law, hundred_units, query).time / base_time(law, query);
  };
  EXPECT_NEAR(ratio(512), 1, 1e-6);
  EXPECT_NEAR(ratio(2048), 1.2, 1e-6);
  EXPECT_NEAR(ratio(4096 * 4), std::pow(1.2, std::exp(-1.0)), 1e-5);  // two doublings outside
  const KernelTime far = gemm_time(law, hundred_units, {.m = 4096 * 4, .n = 512, .k = 512});
  EXPECT_TRUE(far.extrapolated);
  EXPECT_GT(far.spread.p90, 1.2);
  EXPECT_LT(far.spread.p10, 0.9);
}

TEST(KernelLaw, a_step_takes_the_correction_only_where_the_row_says_so) {
  RooflineLaw law = sum_law();
  law.refinement = twenty_more_above();
  law.refinement.held_out = {.mape = 0.02, .samples = 300};
  law.alone = {0.07, 250, true};
  const GemmQuery query{.m = 2048, .n = 512, .k = 512};
  const StepLoad load{flops_of(query), bytes_of(query)};
  law.refinement.use = CorrectionUse::kernels;
  EXPECT_EQ(gemm_time(law, hundred_units, query, load).time, base_time(law, query));
  EXPECT_EQ(gemm_time(law, hundred_units, query, load).error.samples, 250);
  EXPECT_EQ(gemm_time(law, hundred_units, query).error.samples, 300);
  EXPECT_EQ(gemm_time(law, hundred_units, query).alone.samples, 250);
  law.refinement.use = CorrectionUse::kernels_and_steps;
  EXPECT_EQ(gemm_time(law, hundred_units, query, load).time, gemm_time(law, hundred_units, query).time);
  EXPECT_EQ(gemm_time(law, hundred_units, query, load).error.samples, 300);
}

TEST(KernelLaw, what_slows_a_step_stretches_the_compute_term) {
  const GemmQuery query{.m = 1000, .n = 500, .k = 1000};  // 10 us of launch and compute each, 4 us of memory
  const KernelTime slow = gemm_time(sum_law(), hundred_units, query, {flops_of(query) * 1.5, bytes_of(query)});
  EXPECT_NEAR(slow.time.value(), 10e-6 + 15e-6 + 4e-6, 1e-12);
}

TEST(KernelLaw, without_units_there_is_no_correction) {
  RooflineLaw law = sum_law();
  law.refinement = twenty_more_above();
  const GemmQuery query{.m = 2048, .n = 512, .k = 512};
  EXPECT_EQ(gemm_time(law, GpuUnits{}, query).time, base_time(law, query));
}

TEST(KernelFeatures, occupancy_by_hand) {
  // 1280 x 1280 in tiles of 128 x 128: 100 tiles, one full wave of 100.
  EXPECT_NEAR(wave_occupancy({.m = 1280, .n = 1280}, {128, 128, 64}, hundred_units), 1, 1e-12);
  // One row more: 110 tiles in two waves, a sixteenth of a percent more elements.
  EXPECT_NEAR(wave_occupancy({.m = 1281, .n = 1280}, {128, 128, 64}, hundred_units), 0.5 * 1281 / 1280, 1e-12);
}

TEST(KernelLaw, memory_op_takes_its_own_law_or_the_general_one) {
  Profile profile;
  profile.memory = {Seconds(1e-6), BytesPerSecond(1e12), Source::fitted, {0.9, 1.1}};
  profile.memory_ops = {{Seconds(2e-6), BytesPerSecond(0.5e12), Source::fitted, {0.9, 1.1}, "norm"}};
  const MemoryQuery norm{find_memory_op("rmsnorm"), 1000, 1000, 2}, add{find_memory_op("add"), 1000, 1000, 2};
  EXPECT_NEAR(memory_time(profile, norm).time.value(), 2e-6 + 4e6 / 0.5e12, 1e-12);  // one read, one write
  EXPECT_NEAR(memory_time(profile, add).time.value(), 1e-6 + 6e6 / 1e12, 1e-12);     // two reads, one write
}

}  // namespace
}  // namespace stepcast
