#include "tests/kernels/emulated/gpu.h"

#include <numeric>

#include "kernels/cuda/memory/embedding_kernels.cuh"
#include "kernels/cuda/memory/rope_kernels.cuh"
#include "tests/kernels/emulated/numbers.h"

namespace stepcast::kernels::gpu {
namespace {

template <typename T> void expect_embedding(int columns) {
  constexpr std::int64_t kRows = 5;
  const auto n = static_cast<std::size_t>(columns);
  const auto table = normal_numbers<T>(7 * n, 1);
  const std::vector<int> ids{6, 0, 3, 3, 1};
  auto out = unwritten<T>(kRows * n);
  emulate(2, kRowCopyThreads, 0, [&] { embedding_kernel<T>(table.data(), ids.data(), out.data(), kRows, columns); });
  for (std::size_t r = 0; r < kRows; ++r)
    EXPECT_EQ(values(out, r * n, n), values(table, static_cast<std::size_t>(ids[r]) * n, n)) << columns;
}

TEST(EmulatedEmbedding, GathersRows) {
  for (const int columns : {8, 1000, 4104, 8192}) {
    expect_embedding<Bf16>(columns);
    expect_embedding<float>(columns);
  }
}

/// Of columns that are no whole turn of the block's loads.
template <typename T, int AtOnce> void expect_embedding_gradient() {
  constexpr int kColumns = 1032;
  const auto dy = normal_numbers<T>(3 * kColumns, 1);
  const std::vector<int> ids{2, 0, 2};
  std::vector<float> table(4 * kColumns, 1);
  emulate(2, kRowCopyThreads, 0,
      [&] { embedding_backward_kernel<T, AtOnce>(dy.data(), ids.data(), table.data(), 3, kColumns); });
  for (std::size_t i = 0; i < kColumns; ++i) {
    EXPECT_EQ(table[i], 1 + to_float(dy[kColumns + i]));
    EXPECT_EQ(table[kColumns + i], 1);
    EXPECT_NEAR(table[2 * kColumns + i], 1 + to_float(dy[i]) + to_float(dy[2 * kColumns + i]), 1e-6);
  }
}

TEST(EmulatedEmbedding, AddsGradientsAlsoOfOneIdTwice) {
  expect_embedding_gradient<Bf16, 1>();
  expect_embedding_gradient<Bf16, 4>();
  expect_embedding_gradient<Fp16, 0>();
}

/// The last position has not all of its heads.
template <typename T> void expect_rope(int heads, int head_dim) {
  constexpr std::int64_t kPositions = 7;
  constexpr int kPeriod = 5;
  const std::int64_t total = kPositions * heads - heads / 2;
  const auto n = static_cast<std::size_t>(head_dim), count = static_cast<std::size_t>(total) * n;
  const auto x = normal_numbers<T>(count, 1);
  auto y = unwritten<T>(count);
  emulate(2, kRopeThreads, RopeTurns::bytes(head_dim / 2),
      [&] { rope_kernel<T>(x.data(), y.data(), total, head_dim, heads, kPeriod); });
  for (std::int64_t h = 0; h < total; ++h) {
    const std::size_t first = static_cast<std::size_t>(h) * n;
    const auto want = reference::rope(values(x, first, n), head_dim, static_cast<double>(h / heads % kPeriod));
    EXPECT_LE(reference::largest_error(values(y, first, n), want), reference::allowed_error(sizeof(T), 2))
        << "head " << h;
  }
}

TEST(EmulatedRope, TurnsEachHeadByItsPosition) {
  expect_rope<Bf16>(3, 16);
  expect_rope<Bf16>(32, 128);
  expect_rope<float>(3, 8);
  expect_rope<float>(9, 64);
}

}  // namespace
}  // namespace stepcast::kernels::gpu
