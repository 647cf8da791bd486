// The number formats of GPU kernels on the host: bits to value and value to bits, rounded to nearest, ties to even. One
// rule for all of them: a sign, an exponent with a bias, a mantissa, subnormals; what lies above the largest finite
// number becomes infinity where the format has one and saturates where not (OCP Microscaling Formats 1.0, section 5.3;
// E4M3 and E2M1 as the GPU's cvt.satfinite).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stepcast::kernels {

enum class NumberFormat : std::uint8_t { fp32, fp16, bf16, e4m3, e2m1 };

/// A format of at most 16 bits. Codes are without the sign.
struct SmallFormat {
  int bits, mantissa, bias;
  std::uint32_t largest;  ///< code of the largest finite number
  std::uint32_t beyond;   ///< code of what is larger
  std::uint32_t nan;      ///< code of not a number; 0: the format has none
};
inline constexpr SmallFormat kFp16{16, 10, 15, 0x7bff, 0x7c00, 0x7e00};
inline constexpr SmallFormat kBf16{16, 7, 127, 0x7f7f, 0x7f80, 0x7fc0};
inline constexpr SmallFormat kE4m3{8, 3, 7, 0x7e, 0x7e, 0x7f};
inline constexpr SmallFormat kE2m1{4, 1, 1, 0x7, 0x7, 0};

constexpr int bits_of(NumberFormat format) {
  constexpr int bits[] = {32, 16, 16, 8, 4};
  return bits[static_cast<int>(format)];
}

/// Value of the bits of a small format. Exact: a float holds every number of each.
inline float decode(const SmallFormat& format, std::uint32_t code) {
  const std::uint32_t magnitude = code & ((1U << (format.bits - 1)) - 1);
  const float sign = (code >> (format.bits - 1) & 1U) != 0 ? -1.0F : 1.0F;
  if (magnitude > format.largest) return magnitude == format.beyond ? sign * INFINITY : std::copysign(NAN, sign);
  // A float with this exponent field and mantissa is the number times 2^(bias - 127), subnormals included.
  const float unscaled = std::bit_cast<float>(magnitude << (23 - format.mantissa));
  return sign * unscaled * std::bit_cast<float>(static_cast<std::uint32_t>(254 - format.bias) << 23);
}

/// Bits of the nearest number of a small format.
inline std::uint32_t encode(const SmallFormat& format, double value) {
  const std::uint32_t sign = std::signbit(value) ? 1U << (format.bits - 1) : 0;
  if (std::isnan(value)) return sign | format.nan;
  const double size = std::abs(value);
  if (std::isinf(size)) return sign | format.beyond;
  if (size == 0) return sign;
  const int exponent = std::max(std::ilogb(size), 1 - format.bias);
  // In units of the last place; nearbyint rounds ties to even. A carry into the exponent comes by itself with the sum.
  const double units = std::nearbyint(std::ldexp(size, format.mantissa - exponent));
  const auto code =
      (static_cast<std::int64_t>(exponent + format.bias - 1) << format.mantissa) + static_cast<std::int64_t>(units);
  return sign | (code > format.largest ? format.beyond : static_cast<std::uint32_t>(code));
}

inline float from_fp16(std::uint16_t bits) { return decode(kFp16, bits); }
inline float from_bf16(std::uint16_t bits) { return decode(kBf16, bits); }
inline float from_e4m3(std::uint8_t bits) { return decode(kE4m3, bits); }
inline float from_e2m1(std::uint8_t bits) { return decode(kE2m1, bits & 0xfU); }
inline std::uint16_t to_fp16(double value) { return static_cast<std::uint16_t>(encode(kFp16, value)); }
inline std::uint16_t to_bf16(double value) { return static_cast<std::uint16_t>(encode(kBf16, value)); }
inline std::uint8_t to_e4m3(double value) { return static_cast<std::uint8_t>(encode(kE4m3, value)); }
inline std::uint8_t to_e2m1(double value) { return static_cast<std::uint8_t>(encode(kE2m1, value)); }

/// Element `index` of an array of that format. Of two E2M1 numbers in a byte the first lies in the low half.
inline double number_at(NumberFormat format, const void* array, std::int64_t index) {
  const auto* bytes = static_cast<const unsigned char*>(array);
  std::uint16_t half = 0;
  float single = 0;
  switch (format) {
    case NumberFormat::fp32: std::memcpy(&single, bytes + 4 * index, 4); return static_cast<double>(single);
    case NumberFormat::fp16: std::memcpy(&half, bytes + 2 * index, 2); return static_cast<double>(from_fp16(half));
    case NumberFormat::bf16: std::memcpy(&half, bytes + 2 * index, 2); return static_cast<double>(from_bf16(half));
    case NumberFormat::e4m3: return static_cast<double>(from_e4m3(bytes[index]));
    case NumberFormat::e2m1: return static_cast<double>(from_e2m1(bytes[index / 2] >> (index % 2 == 0 ? 0 : 4)));
  }
  return 0;
}

}  // namespace stepcast::kernels
