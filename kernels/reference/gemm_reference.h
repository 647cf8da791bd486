// Matrix products in float64: where the numbers of one entry of the result lie in the stored matrices, the entry
// itself, and how far a GPU's may be from it.
//
// m, n and k of a query describe the product that is computed, whatever its layout: the result y is m x n, and each
// entry sums k products. All matrices are row-major; what differs is how the operands are stored (batches follow one
// another):
//   tn  x[m,k]  w[n,k]   forward: y = x wT
//   nn  x[m,k]  w[k,n]   input gradient: dx[tokens, in] = dy[tokens, out] w[out, in]; n = in, k = out
//   nt  x[k,m]  w[k,n]   weight gradient: dw[out, in] += dyT x with dy[tokens, out], x[tokens, in]; m = out, k = tokens
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/reference/number.h"
#include "model/profile/query.h"

namespace stepcast::kernels {

struct ProductShape {
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  GemmLayout layout = GemmLayout::tn;
};

// clang-format off
/// The k numbers of an operand that one entry sums over: element first, first + step, ...
struct OperandLine { std::int64_t first = 0, step = 1; };

struct EntryPlace { std::int64_t batch = 0, row = 0, column = 0; };
// clang-format on
OperandLine x_line(const ProductShape& shape, const EntryPlace& place);
OperandLine w_line(const ProductShape& shape, const EntryPlace& place);
std::int64_t y_index(const ProductShape& shape, const EntryPlace& place);

/// `count` entries: all of a result that has no more, else its corners and random others.
std::vector<EntryPlace> sample_entries(const ProductShape& shape, std::int64_t count, std::uint64_t seed);

/// A line of a stored operand on the host.
struct StoredLine {
  const void* array = nullptr;
  NumberFormat format = NumberFormat::fp32;
  OperandLine line;
};

struct GemmEntry {
  double value = 0;
  /// Square root of the sum of the squared terms: what the value is like when the terms' signs are random.
  double scale = 0;
};
/// before + factor * sum of x w.
GemmEntry gemm_entry(const StoredLine& x, const StoredLine& w, std::int64_t k, double factor, double before);

/// Of |got - value| over scale. Derived in gemm_reference.cpp.
double gemm_allowed_error(Precision precision, GemmLayout layout, std::int64_t k);

/// Of one entry; a result of exactly zero terms must be hit exactly.
double gemm_error(double got, const GemmEntry& reference);

}  // namespace stepcast::kernels
