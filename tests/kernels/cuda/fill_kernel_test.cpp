#include "tests/kernels/emulated/gpu.h"

#include "kernels/cuda/fill_kernel.cuh"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace stepcast::kernels::gpu {
namespace {

template <typename T> std::vector<float> filled_numbers(std::size_t count, unsigned long long seed, float deviation) {
  std::vector<T> data(count);
  emulate(2, 32, 0, [&] { fill_normal<T>(data.data(), count, seed, deviation); });
  std::vector<float> numbers;
  for (const T& value : data) numbers.push_back(to_float(value));
  return numbers;
}

TEST(FillKernel, NumbersAreNormalWithTheDeviationThatWasAsked) {
  const auto numbers = filled_numbers<float>(40000, 1, 2);
  double sum = 0, squares = 0;
  int beyond = 0;
  for (const float x : numbers) {
    sum += x;
    squares += double{x} * x;
    beyond += std::abs(x) > 4 ? 1 : 0;  // two deviations
  }
  EXPECT_NEAR(sum / 40000, 0, 0.04);              // four times 2 / sqrt(40000)
  EXPECT_NEAR(squares / 40000, 4, 0.12);          // four times 4 sqrt(2 / 40000)
  EXPECT_NEAR(beyond / 40000.0, 0.0455, 0.0045);  // of a normal distribution; four times sqrt(0.0455 / 40000)
}

TEST(FillKernel, NeighboursAndPairsAreIndependent) {
  const auto numbers = filled_numbers<float>(40000, 5, 1);
  double next = 0, pairs = 0;
  for (std::size_t i = 0; i + 2 < numbers.size(); i += 2) {
    pairs += double{numbers[i]} * numbers[i + 1];
    next += double{numbers[i]} * numbers[i + 2];
  }
  EXPECT_NEAR(pairs / 20000, 0, 0.03);  // four times 1 / sqrt(20000)
  EXPECT_NEAR(next / 20000, 0, 0.03);
}

TEST(FillKernel, EachSeedGivesOtherNumbersAndTheSameSeedTheSame) {
  EXPECT_EQ(filled_numbers<float>(64, 3, 1), filled_numbers<float>(64, 3, 1));
  const auto one = filled_numbers<float>(1000, 3, 1), other = filled_numbers<float>(1000, 4, 1);
  const std::set<float> seen(one.begin(), one.end());
  int again = 0;
  for (const float x : other) again += static_cast<int>(seen.count(x));
  EXPECT_LT(again, 5) << "one seed's numbers are the other's, shifted";
}

TEST(FillKernel, OddCountsFillTheLastOneAndNothingBehindIt) {
  std::vector<Bf16> data(8, Bf16{0xffff});
  emulate(1, 32, 0, [&] { fill_normal<Bf16>(data.data(), 7, 1, 1.0f); });
  for (int i = 0; i < 7; ++i) EXPECT_NE(data[static_cast<std::size_t>(i)].bits, 0xffff) << i;
  EXPECT_EQ(data[7].bits, 0xffff);
}

TEST(FillKernel, NumbersBeyondATypeBecomeItsLargest) {
  float largest_fp16 = 0, largest_fp8 = 0;
  for (const float x : filled_numbers<Fp16>(500, 1, 1e6f)) largest_fp16 = std::max(largest_fp16, std::abs(x));
  for (const float x : filled_numbers<Fp8E4m3>(500, 1, 1e3f)) largest_fp8 = std::max(largest_fp8, std::abs(x));
  EXPECT_EQ(largest_fp16, 65504);
  EXPECT_EQ(largest_fp8, 448);
}

}  // namespace
}  // namespace stepcast::kernels::gpu
