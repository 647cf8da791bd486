#include "kernels/reference/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stepcast::kernels {
namespace {

// Decoding by the definition: sign, exponent with its bias, mantissa in units of its last place.
double by_definition(const SmallFormat& format, std::uint32_t code) {
  const int exponent_bits = format.bits - 1 - format.mantissa;
  const int exponent = static_cast<int>(code >> format.mantissa & ((1U << exponent_bits) - 1));
  const int fraction = static_cast<int>(code & ((1U << format.mantissa) - 1));
  const int units = exponent == 0 ? fraction : fraction + (1 << format.mantissa);
  const double size = std::ldexp(units, std::max(exponent, 1) - format.bias - format.mantissa);
  return (code >> (format.bits - 1)) != 0 ? -size : size;
}

bool finite_code(const SmallFormat& format, std::uint32_t code) {
  return (code & ((1U << (format.bits - 1)) - 1)) <= format.largest;
}

void expect_every_pattern(const SmallFormat& format) {
  int finite = 0;
  for (std::uint32_t code = 0; code < 1U << format.bits; ++code) {
    if (!finite_code(format, code)) continue;
    ++finite;
    const auto value = static_cast<double>(decode(format, code));
    ASSERT_EQ(value, by_definition(format, code)) << code;
    ASSERT_EQ(encode(format, value), code) << value;
  }
  EXPECT_EQ(finite, 2 * (static_cast<int>(format.largest) + 1));
}

TEST(Number, EveryPatternOfEachFormatComesBack) {
  expect_every_pattern(kFp16);
  expect_every_pattern(kBf16);
  expect_every_pattern(kE4m3);
  expect_every_pattern(kE2m1);
}

// Between two neighbours: the nearer one, and in the middle the even one.
void expect_rounding_between_all(const SmallFormat& format) {
  for (std::uint32_t code = 0; code < format.largest; ++code) {
    const double low = by_definition(format, code), high = by_definition(format, code + 1), middle = (low + high) / 2;
    ASSERT_EQ(encode(format, middle), code % 2 == 0 ? code : code + 1) << middle;
    ASSERT_EQ(encode(format, std::nextafter(middle, 0)), code) << middle;
    ASSERT_EQ(encode(format, std::nextafter(middle, HUGE_VAL)), code + 1) << middle;
    ASSERT_EQ(encode(format, -middle), (code % 2 == 0 ? code : code + 1) | 1U << (format.bits - 1)) << middle;
  }
}

TEST(Number, RoundsToTheNearestAndTiesToEven) {
  expect_rounding_between_all(kFp16);
  expect_rounding_between_all(kBf16);
  expect_rounding_between_all(kE4m3);
  expect_rounding_between_all(kE2m1);
}

TEST(Number, KnownPatterns) {
  EXPECT_EQ(from_fp16(0x3c00), 1.0F);
  EXPECT_EQ(from_fp16(0x7bff), 65504.0F);
  EXPECT_EQ(from_bf16(0x3f80), 1.0F);
  EXPECT_EQ(to_bf16(1.0 + 0x1p-8), 0x3f80);  // a tie, to even
  EXPECT_EQ(from_e4m3(0x38), 1.0F);
  EXPECT_EQ(from_e4m3(0x7e), 448.0F);
  EXPECT_EQ(from_e4m3(0x01), 0x1p-9F);
  EXPECT_EQ(from_e2m1(0x7), 6.0F);
  EXPECT_EQ(from_e2m1(0x9), -0.5F);
}

TEST(Number, BeyondTheLargest) {
  EXPECT_TRUE(std::isinf(from_fp16(to_fp16(65520))));  // halfway to the next, which is even
  EXPECT_EQ(to_fp16(65519), 0x7bff);
  EXPECT_TRUE(std::isinf(from_bf16(to_bf16(-1e39))));
  EXPECT_EQ(from_e4m3(to_e4m3(1e6)), 448.0F);  // saturates: there is no infinity
  EXPECT_EQ(from_e4m3(to_e4m3(-HUGE_VAL)), -448.0F);
  EXPECT_EQ(from_e2m1(to_e2m1(7)), 6.0F);
  EXPECT_TRUE(std::isnan(from_e4m3(to_e4m3(std::numeric_limits<double>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(from_fp16(0x7c01)));
  EXPECT_TRUE(std::isnan(from_bf16(0xffff)));
  EXPECT_EQ(to_fp16(-0.0), 0x8000);
}

TEST(Number, ElementsOfAnArray) {
  const float single[] = {1.5F, -2.5F};
  EXPECT_EQ(number_at(NumberFormat::fp32, single, 1), -2.5);
  const std::uint16_t half[] = {0x3c00, 0xc000};
  EXPECT_EQ(number_at(NumberFormat::fp16, half, 1), -2.0);
  EXPECT_EQ(number_at(NumberFormat::bf16, half, 0), 0.0078125);
  const unsigned char bytes[] = {0x38, 0xb8};
  EXPECT_EQ(number_at(NumberFormat::e4m3, bytes, 1), -1.0);
  const unsigned char pair[] = {0x72};  // 1 in the low half, 6 in the high one
  EXPECT_EQ(number_at(NumberFormat::e2m1, pair, 0), 1.0);
  EXPECT_EQ(number_at(NumberFormat::e2m1, pair, 1), 6.0);
}

}  // namespace
}  // namespace stepcast::kernels
