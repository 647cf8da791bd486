#include "kernels/reference/gemm_reference.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <vector>

namespace stepcast::kernels {
namespace {

double float_entry(const ProductShape& shape, const float* x, const float* w, const EntryPlace& place) {
  const StoredLine x_stored{x, NumberFormat::fp32, x_line(shape, place)};
  const StoredLine w_stored{w, NumberFormat::fp32, w_line(shape, place)};
  return gemm_entry(x_stored, w_stored, shape.k, 1, 0).value;
}

// The same product, y = [1 2 3; 4 5 6] times [1 0; 0 1; 2 3] = [7 11; 16 23], stored in each of the three ways.
TEST(GemmReference, EachLayoutByHand) {
  constexpr std::array x_rows{1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F};     // x[m,k]
  constexpr std::array x_columns{1.0F, 4.0F, 2.0F, 5.0F, 3.0F, 6.0F};  // x[k,m]
  constexpr std::array w_rows{1.0F, 0.0F, 0.0F, 1.0F, 2.0F, 3.0F};     // w[k,n]
  constexpr std::array w_columns{1.0F, 0.0F, 2.0F, 0.0F, 1.0F, 3.0F};  // w[n,k]
  constexpr double expected[] = {7, 11, 16, 23};
  // clang-format off
  struct Case { GemmLayout layout; const float* x; const float* w; };
  // clang-format on
  for (const Case& c : {Case{GemmLayout::tn, x_rows.data(), w_columns.data()},
           Case{GemmLayout::nn, x_rows.data(), w_rows.data()}, Case{GemmLayout::nt, x_columns.data(), w_rows.data()}}) {
    const ProductShape shape{2, 2, 3, 1, c.layout};
    for (const EntryPlace& place : sample_entries(shape, 256, 1))
      EXPECT_EQ(float_entry(shape, c.x, c.w, place), expected[y_index(shape, place)]) << static_cast<int>(c.layout);
  }
}

TEST(GemmReference, BatchesFollowOneAnother) {
  // Two products of 1x2 by 2x1: 1*5 + 2*6 = 17 and 3*7 + 4*8 = 53.
  constexpr std::array x{1.0F, 2.0F, 3.0F, 4.0F}, w{5.0F, 6.0F, 7.0F, 8.0F};
  for (const GemmLayout layout : {GemmLayout::tn, GemmLayout::nn, GemmLayout::nt}) {
    const ProductShape shape{1, 1, 2, 2, layout};
    EXPECT_EQ(float_entry(shape, x.data(), w.data(), {0, 0, 0}), 17);
    EXPECT_EQ(float_entry(shape, x.data(), w.data(), {1, 0, 0}), 53);
  }
}

TEST(GemmReference, AddsToWhatWasThereAndScales) {
  constexpr std::array x{3.0F, 4.0F}, w{1.0F, 1.0F};
  const StoredLine stored_x{x.data(), NumberFormat::fp32, {}}, stored_w{w.data(), NumberFormat::fp32, {}};
  const GemmEntry entry = gemm_entry(stored_x, stored_w, 2, 0.5, 10);
  EXPECT_EQ(entry.value, 13.5);  // 10 + 1.5 + 2
  EXPECT_DOUBLE_EQ(entry.scale, std::sqrt(100 + 2.25 + 4));
  EXPECT_DOUBLE_EQ(gemm_error(13.5 + entry.scale / 4, entry), 0.25);
}

TEST(GemmReference, AllOfASmallResultAndTheCornersOfALargeOne) {
  const ProductShape small{3, 5, 7, 2, GemmLayout::tn};
  EXPECT_EQ(sample_entries(small, 256, 1).size(), 30U);
  const ProductShape large{1000, 500, 7, 3, GemmLayout::tn};
  const std::vector<EntryPlace> places = sample_entries(large, 256, 1);
  ASSERT_EQ(places.size(), 256U);
  std::set<std::int64_t> indices;
  for (const EntryPlace& place : places) {
    EXPECT_LT(place.row, 1000);
    EXPECT_LT(place.column, 500);
    EXPECT_LT(place.batch, 3);
    indices.insert(y_index(large, place));
  }
  EXPECT_EQ(indices.size(), 256U);
  constexpr std::int64_t corners[] = {0, 499, 999 * 500, 3 * 500'000 - 1};
  for (const std::int64_t corner : corners) EXPECT_TRUE(indices.contains(corner)) << corner;
}

TEST(GemmReference, ZeroTermsMustBeHitExactly) {
  EXPECT_EQ(gemm_error(0, {0, 0}), 0);
  EXPECT_EQ(gemm_error(1e-30, {0, 0}), HUGE_VAL);
}

struct WorstOf {
  double exact_accumulation, tf32_inputs;
};

// A product of normal numbers summed one after another in fp32, with its inputs as they are and cut to tf32.
WorstOf worst_of_sums(std::int64_t k, int entries) {
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  const auto cut = [](float value) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffffe000U); };
  WorstOf worst{};
  for (int entry = 0; entry < entries; ++entry) {
    std::vector<float> x(static_cast<std::size_t>(k)), w(static_cast<std::size_t>(k));
    float plain = 0, cut_sum = 0;
    for (std::size_t at = 0; at < x.size(); ++at) {
      x[at] = normal(random), w[at] = normal(random);
      plain += x[at] * w[at];
      cut_sum += cut(x[at]) * cut(w[at]);
    }
    const StoredLine x_stored{x.data(), NumberFormat::fp32, {}}, w_stored{w.data(), NumberFormat::fp32, {}};
    const GemmEntry reference = gemm_entry(x_stored, w_stored, k, 1, 0);
    worst.exact_accumulation = std::max(worst.exact_accumulation, gemm_error(static_cast<double>(plain), reference));
    worst.tf32_inputs = std::max(worst.tf32_inputs, gemm_error(static_cast<double>(cut_sum), reference));
  }
  return worst;
}

TEST(GemmReference, AllowedErrorHoldsForItsPrecisionAndNotForACoarserOne) {
  for (const std::int64_t k : {std::int64_t{64}, std::int64_t{4096}}) {
    const WorstOf worst = worst_of_sums(k, 64);
    const double fp32 = gemm_allowed_error(Precision::fp32, GemmLayout::tn, k);
    EXPECT_LT(worst.exact_accumulation, fp32) << k;
    EXPECT_GT(worst.tf32_inputs, fp32) << k;  // tf32 passed off as fp32 is found
    EXPECT_LT(worst.tf32_inputs, gemm_allowed_error(Precision::tf32, GemmLayout::tn, k)) << k;
  }
}

TEST(GemmReference, AllowedErrorByHand) {
  // bf16, k = 4: six deviations of half a unit in the last place, 2^-8, and of one addition, 2^-23.
  EXPECT_DOUBLE_EQ(gemm_allowed_error(Precision::bf16, GemmLayout::tn, 4), 6 * (0x1p-8 + 0x1p-23));
  // A weight gradient is stored in fp32, and what was there is one more term.
  EXPECT_DOUBLE_EQ(gemm_allowed_error(Precision::bf16, GemmLayout::nt, 4), 6 * (0x1p-24 + 2 * 0x1p-23));
}

}  // namespace
}  // namespace stepcast::kernels
