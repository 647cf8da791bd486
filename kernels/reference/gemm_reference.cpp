#include "kernels/reference/gemm_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace stepcast::kernels {
namespace {

// Normal numbers of mean 0: an entry over its scale is close to a standard normal number, and one of 256 lies beyond 6
// once in two million checks.
constexpr double kGemmDeviations = 6;

/// How a product is computed and stored: relative errors.
struct GemmArithmetic {
  double result;        // half a unit in the last place of y, as forward and input gradient store it
  double inputs;        // of the sum, from what happens to the operands before they are accumulated
  double accumulation;  // of one addition to the accumulator
  double terms;         // products per addition that cuts; 0: additions round to nearest
};

GemmArithmetic gemm_arithmetic(Precision precision) {
  // Tensor cores add the products of a few terms to the accumulator and cut off what is below its last place (M. Fasi,
  // N. Higham, M. Mikaitis, S. Pranesh: Numerical behavior of NVIDIA tensor cores, PeerJ Computer Science 7:e330,
  // 2021): up to 2^-23 of the sum so far, always towards zero. 4 terms is the least of any generation.
  constexpr double kCut = 0x1p-23;
  // fp32 is cut to the 10 mantissa bits of tf32, both operands of each product.
  constexpr double kTf32 = 2 * 0x1p-10;
  // Products of fp8 are summed with 13 bits behind the point of the largest, and after at most 128 terms added to a
  // full fp32 (DeepSeek-V3 report, arXiv 2412.19437, section 3.3.2): four additions cut 2^-13 of a block's sum each.
  // The errors of blocks have random signs as the blocks have: together they are 4 * 2^-13 of the whole sum.
  constexpr double kFp8 = 4 * 0x1p-13;
  switch (precision) {
    case Precision::fp32: return {0x1p-24, 0, 0x1p-24, 0};
    case Precision::tf32: return {0x1p-24, kTf32, kCut, 4};
    case Precision::fp16: return {0x1p-11, 0, kCut, 4};
    case Precision::bf16: return {0x1p-8, 0, kCut, 4};
    case Precision::fp8:
    case Precision::mxfp8:
    case Precision::nvfp4: return {0x1p-8, kFp8, kCut, 4};
  }
  return {};
}

}  // namespace

OperandLine x_line(const ProductShape& shape, const EntryPlace& place) {
  const std::int64_t matrix = place.batch * shape.m * shape.k;
  if (shape.layout == GemmLayout::nt) return {matrix + place.row, shape.m};
  return {matrix + place.row * shape.k, 1};
}

OperandLine w_line(const ProductShape& shape, const EntryPlace& place) {
  const std::int64_t matrix = place.batch * shape.n * shape.k;
  if (shape.layout == GemmLayout::tn) return {matrix + place.column * shape.k, 1};
  return {matrix + place.column, shape.n};
}

std::int64_t y_index(const ProductShape& shape, const EntryPlace& place) {
  return (place.batch * shape.m + place.row) * shape.n + place.column;
}

std::vector<EntryPlace> sample_entries(const ProductShape& shape, std::int64_t count, std::uint64_t seed) {
  const std::int64_t matrix = shape.m * shape.n;
  const auto place_of = [&](std::int64_t index) {
    return EntryPlace{index / matrix, index % matrix / shape.n, index % shape.n};
  };
  std::set<std::int64_t> chosen;
  const std::int64_t all = matrix * shape.batch;
  if (all <= count) {
    for (std::int64_t index = 0; index < all; ++index) chosen.insert(index);
  } else {
    // A tile that sticks out of the matrix errs at its edges first.
    chosen = {0, shape.n - 1, matrix - shape.n, all - 1};
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::int64_t> index(0, all - 1);
    while (static_cast<std::int64_t>(chosen.size()) < count) chosen.insert(index(random));
  }
  std::vector<EntryPlace> places;
  places.reserve(chosen.size());
  for (const std::int64_t index : chosen) places.push_back(place_of(index));
  return places;
}

GemmEntry gemm_entry(const StoredLine& x, const StoredLine& w, std::int64_t k, double factor, double before) {
  double sum = before, squares = before * before;
  for (std::int64_t at = 0; at < k; ++at) {
    const double term = factor * number_at(x.format, x.array, x.line.first + at * x.line.step) *
                        number_at(w.format, w.array, w.line.first + at * w.line.step);
    sum += term;
    squares += term * term;
  }
  return {sum, std::sqrt(squares)};
}

// |value| <= kGemmDeviations scales, and so are the sums on the way. Storing y errs by `result` of that (nt stores
// fp32), the operands by `inputs`. Additions that cut err by `accumulation` of the sum so far, k / terms of them.
// Additions that round err with random signs, so that their squares add up: k of them, the sum so far growing with the
// root of the terms, come to accumulation * sqrt(k / 2), taken twice.
double gemm_allowed_error(Precision precision, GemmLayout layout, std::int64_t k) {
  const GemmArithmetic a = gemm_arithmetic(precision);
  const double length = static_cast<double>(k) + (layout == GemmLayout::nt ? 1 : 0);
  const double stored = layout == GemmLayout::nt ? 0x1p-24 : a.result;
  const double additions = a.terms > 0 ? std::ceil(length / a.terms) : 2 * std::sqrt(length / 2);
  const double summed = a.accumulation * additions;
  return kGemmDeviations * (stored + a.inputs + summed);
}

double gemm_error(double got, const GemmEntry& reference) {
  const double distance = std::abs(got - reference.value);
  if (reference.scale > 0) return distance / reference.scale;
  return distance == 0 ? 0 : std::numeric_limits<double>::infinity();
}

}  // namespace stepcast::kernels
