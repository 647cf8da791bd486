// Tiles of attention's kernels in shared memory: rows of 16-byte chunks, their order within 128 bytes turned by the row
// (swizzled), so that neither ldmatrix (8 rows of one chunk) nor filling (chunks of one row) meets a bank twice.
#pragma once

#include <cstdint>

#include "kernels/cuda/lane.cuh"
#include "kernels/cuda/tensor_core.cuh"

namespace stepcast::kernels::gpu {

/// What both passes are told. Tensors are [batch, positions, heads, head_dim], 2 bytes an element, as training keeps
/// them; keys and values have heads / group heads.
struct AttentionSizes {
  int positions = 1, heads = 1, group = 1;
  bool causal = true;
  float scale = 1;       ///< of scores: 1 / sqrt(head_dim)
  float scale_log2 = 1;  ///< scale * log2(e): exponentials are taken to the base 2
};

/// Element offset of (batch, position, head) in a tensor of that many heads. Rows fit 32 bits (make_attention sees to
/// it).
__device__ __forceinline__ std::int64_t row_offset(
    const AttentionSizes& sizes, int heads, int head_dim, int batch, int position, int head) {
  return static_cast<std::int64_t>((batch * sizes.positions + position) * heads + head) * head_dim;
}

/// A tile of rows of `columns` 2-byte elements. Its address is a multiple of a row's bytes.
template <int columns> struct SwizzledTile {
  static constexpr int chunks = columns / 8;
  static constexpr int row_bytes = columns * 2;
  static_assert(chunks == 4 || chunks == 8 || chunks == 16);

  /// Two rows of 64 bytes share the 128 bytes of all banks, others have them alone.
  static __device__ __forceinline__ int turn(int row) { return chunks == 4 ? (row >> 1) & 3 : row & 7; }
  static __device__ __forceinline__ SharedAddress chunk(SharedAddress tile, int row, int chunk) {
    return tile + static_cast<SharedAddress>(row * row_bytes + (chunk ^ turn(row)) * 16);
  }
};

/// Where a lane's row of an ldmatrix lies; at() moves on by multiples of 8 rows and 2 chunks, which leave the turn as
/// it is: chunks by exclusive or, as the lane's own chunk differs from an even one in bits that the even one does not
/// have.
template <int columns> struct MatrixReader {
  SharedAddress lane_row;
  [[nodiscard]] __device__ __forceinline__ SharedAddress at(int rows, int chunks) const {
    return (lane_row ^ static_cast<SharedAddress>(chunks * 16)) +
           static_cast<SharedAddress>(rows * SwizzledTile<columns>::row_bytes);
  }
};

/// Four matrices in the order: down, right. Of a tile [m][k]: an `a`. Transposed, of a tile [k][n]: two `b` side by
/// side.
template <int columns>
__device__ __forceinline__ MatrixReader<columns> read_down_first(SharedAddress tile, int row, int chunk, int lane) {
  return {SwizzledTile<columns>::chunk(tile, row + lane % 16, chunk + lane / 16)};
}
/// In the order: right, down. Of a tile [n][k]: two `b` side by side. Transposed, of a tile [k][m]: an `a`.
template <int columns>
__device__ __forceinline__ MatrixReader<columns> read_right_first(SharedAddress tile, int row, int chunk, int lane) {
  return {SwizzledTile<columns>::chunk(tile, row + lane / 16 * 8 + lane % 8, chunk + lane / 8 % 2)};
}

/// Starts copying `rows` rows of a head from global memory (`stride` elements apart); those from `valid` on become
/// zero.
template <int columns, int rows, int threads>
__device__ __forceinline__ void load_tile(SharedAddress tile, const std::uint16_t* from, int stride, int valid) {
  using Tile = SwizzledTile<columns>;
  constexpr int step = threads / Tile::chunks;  // rows that all threads copy at once
  static_assert(step % 8 == 0 && rows % step == 0);
  const int thread = thread_anew(), row = thread / Tile::chunks, chunk = thread % Tile::chunks;
  const SharedAddress to = Tile::chunk(tile, row, chunk);
  const int source = row * stride + chunk * 8;  // a tile's span fits 32 bits, a tensor's need not
  STEPCAST_UNROLL
  for (int i = 0; i < rows; i += step) {
    const bool there = row + i < valid;
    cp_async_16(to + static_cast<SharedAddress>(i * Tile::row_bytes), from + (there ? source + i * stride : 0), there);
  }
}

/// sums[m][n] += a b over `depth`: `tiles_m` tiles of 16 rows of an [m][k] tile, tiles_n of 8 rows of an [n][k] tile.
template <HalfType type, int depth, int tiles_m, int tiles_n, int columns>
__device__ __forceinline__ void multiply_rows(
    float (&sums)[tiles_m][tiles_n][4], const MatrixReader<columns>& a_rows, const MatrixReader<columns>& b_rows) {
  // Not unrolled in full: loads that the compiler moves ahead would take more registers than there are.
  STEPCAST_UNROLL_BY(4)
  for (int k = 0; k < depth / 16; ++k) {
    std::uint32_t a[tiles_m][4];
    STEPCAST_UNROLL
    for (int m = 0; m < tiles_m; ++m) ldmatrix_x4(a[m], a_rows.at(m * 16, k * 2));
    STEPCAST_UNROLL
    for (int n = 0; n < tiles_n / 2; ++n) {
      std::uint32_t b[4];
      ldmatrix_x4(b, b_rows.at(n * 16, k * 2));
      STEPCAST_UNROLL
      for (int m = 0; m < tiles_m; ++m) {
        mma_16x8x16<type>(sums[m][2 * n], a[m], b[0], b[1]);
        mma_16x8x16<type>(sums[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

/// sums[n] += a b for one step of 16 of the depth, a in registers, b 16 rows of a [k][n] tile.
template <HalfType type, int tiles_m, int tiles_n, int columns>
__device__ __forceinline__ void multiply_step(float (&sums)[tiles_m][tiles_n][4], const std::uint32_t (&a)[tiles_m][4],
    const MatrixReader<columns>& b_rows, int k) {
  STEPCAST_UNROLL
  for (int n = 0; n < tiles_n / 2; ++n) {
    std::uint32_t b[4];
    ldmatrix_x4_trans(b, b_rows.at(k * 16, n * 2));
    STEPCAST_UNROLL
    for (int m = 0; m < tiles_m; ++m) {
      mma_16x8x16<type>(sums[m][2 * n], a[m], b[0], b[1]);
      mma_16x8x16<type>(sums[m][2 * n + 1], a[m], b[2], b[3]);
    }
  }
}

/// Two sums side by side as the `a` of a next product.
template <HalfType type>
__device__ __forceinline__ void pack_sums(std::uint32_t (&a)[4], const float (&left)[4], const float (&right)[4]) {
  a[0] = pack_halves<type>(left[0], left[1]);
  a[1] = pack_halves<type>(left[2], left[3]);
  a[2] = pack_halves<type>(right[0], right[1]);
  a[3] = pack_halves<type>(right[2], right[3]);
}

}  // namespace stepcast::kernels::gpu
