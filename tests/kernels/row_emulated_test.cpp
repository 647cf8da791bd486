#include "tests/kernels/emulated/gpu.h"

#include "kernels/cuda/memory/loss_kernels.cuh"
#include "kernels/cuda/memory/norm_kernels.cuh"
#include "kernels/cuda/memory/row_plan.cuh"
#include "tests/kernels/emulated/numbers.h"

namespace stepcast::kernels::gpu {
namespace {

using reference::Values;

/// How a row is kept: as the plan has it, or in a little shared memory and the rest read again.
struct RowCase {
  int columns;
  std::size_t shared_limit = 64 << 10;
  unsigned most_threads = 1024;
};
// Warps with 1, 2 and 4 vectors per lane; blocks; blocks whose rows are longer than what they keep.
constexpr RowCase kWholeVectors[] = {
    {8}, {16}, {256}, {512}, {1000}, {1032}, {3200}, {1600, 1024, 32}, {2000, 64 << 10, 64}};
// Rows that begin and end in the midst of a vector, down to two rows in one vector.
constexpr RowCase kAnyColumns[] = {{3}, {9}, {257}, {1001}, {1021}, {2049}, {1601, 1024, 32}, {1607, 2048, 64}};
constexpr std::int64_t kRows = 3;

template <typename T> dim3 threads_of(const RowPlan& plan) { return {plan.shape.threads, plan.shape.rows_at_once}; }

template <typename T> void expect_rows(const std::vector<T>& got, const std::vector<Values>& want, int columns) {
  const auto n = static_cast<std::size_t>(columns);
  for (std::size_t r = 0; r < want.size(); ++r) {
    EXPECT_LE(reference::largest_error(values(got, r * n, n), want[r]), reference::allowed_error(sizeof(T), columns))
        << "row " << r << " of " << columns << " columns of " << sizeof(T) << " bytes";
  }
  for (std::size_t i = want.size() * n; i < got.size(); ++i) {
    EXPECT_TRUE(std::isnan(to_float(got[i]))) << "written beyond the end";
  }
}

template <typename T> void expect_norm(const RowCase& c) {
  const auto n = static_cast<std::size_t>(c.columns);
  const auto x = normal_numbers<T>(kRows * n, 1, 3), weight = normal_numbers<T>(n, 2);
  auto y = unwritten<T>(kRows * n);
  const RowPlan plan = row_plan<T>(kRows, c.columns, c.shared_limit, 1, c.most_threads);
  with_storage<T>(plan, [&]<typename Storage, bool OneWarp>() {
    emulate(plan.shape.blocks, threads_of<T>(plan), plan.shape.shared_bytes, [&] {
      norm_kernel<T, Storage, OneWarp>(x.data(), weight.data(), y.data(), kRows, c.columns, plan.shared_vectors);
    });
  });
  std::vector<Values> want;
  for (std::size_t r = 0; r < kRows; ++r)
    want.push_back(reference::rms_norm(values(x, r * n, n), values(weight, 0, n)));
  expect_rows(y, want, c.columns);
}

TEST(EmulatedRows, NormOfEveryLength) {
  for (const RowCase& c : kWholeVectors) {
    expect_norm<Bf16>(c);
    expect_norm<float>(c);
  }
  expect_norm<Fp16>({520});
}

template <typename T> void expect_softmax(const RowCase& c) {
  const auto n = static_cast<std::size_t>(c.columns);
  const auto x = normal_numbers<T>(kRows * n, 1, 4);
  auto y = unwritten<T>(kRows * n);
  const RowPlan plan = row_plan<T>(kRows, c.columns, c.shared_limit, 1, c.most_threads);
  with_storage<T>(plan, [&]<typename Storage, bool OneWarp>() {
    emulate(plan.shape.blocks, threads_of<T>(plan), plan.shape.shared_bytes,
        [&] { softmax_kernel<T, Storage, OneWarp>(x.data(), y.data(), kRows, c.columns, plan.shared_vectors); });
  });
  std::vector<Values> want;
  for (std::size_t r = 0; r < kRows; ++r) want.push_back(reference::softmax(values(x, r * n, n)));
  expect_rows(y, want, c.columns);
}

template <typename T> void expect_softmax_backward(const RowCase& c) {
  const auto n = static_cast<std::size_t>(c.columns);
  const auto y = normal_numbers<T>(kRows * n, 1, 0.1f), dy = normal_numbers<T>(kRows * n, 2);
  auto dx = unwritten<T>(kRows * n);
  const RowPlan plan = row_plan<T>(kRows, c.columns, c.shared_limit, 2, c.most_threads < 512 ? c.most_threads : 512);
  with_storage<T>(plan, [&]<typename Storage, bool OneWarp>() {
    emulate(plan.shape.blocks, threads_of<T>(plan), plan.shape.shared_bytes, [&] {
      softmax_backward_kernel<T, Storage, OneWarp>(
          y.data(), dy.data(), dx.data(), kRows, c.columns, plan.shared_vectors);
    });
  });
  std::vector<Values> want;
  for (std::size_t r = 0; r < kRows; ++r)
    want.push_back(reference::softmax_gradient(values(y, r * n, n), values(dy, r * n, n)));
  expect_rows(dx, want, c.columns);
}

TEST(EmulatedRows, SoftmaxOfEveryLengthWhereverRowsBegin) {
  for (const auto& cases : {std::span<const RowCase>(kWholeVectors), std::span<const RowCase>(kAnyColumns)}) {
    for (const RowCase& c : cases) {
      expect_softmax<Bf16>(c);
      expect_softmax<float>(c);
      expect_softmax_backward<Bf16>(c);
      expect_softmax_backward<float>(c);
    }
  }
}

TEST(EmulatedRows, SoftmaxOfLargeNumbersDoesNotOverflow) {
  const std::vector<float> x{1e30f, -1e30f, 1e30f, 0, 88, 89, 90, 91};
  std::vector<float> y(8);
  const RowPlan plan = row_plan<float>(2, 4, 64 << 10);
  emulate(1, threads_of<float>(plan), plan.shape.shared_bytes,
      [&] { softmax_kernel<float, HeldRow<float, 1>, true>(x.data(), y.data(), 2, 4, 0); });
  EXPECT_EQ((std::vector<float>(y.begin(), y.begin() + 4)), (std::vector<float>{0.5f, 0, 0.5f, 0}));
  EXPECT_NEAR(y[7], 1 / (1 + std::exp(-1.0) + std::exp(-2.0) + std::exp(-3.0)), 1e-6);
}

template <typename T> void expect_cross_entropy(const RowCase& c) {
  const auto n = static_cast<std::size_t>(c.columns);
  const auto before = normal_numbers<T>(kRows * n, 1, 3);
  auto logits = before;
  const std::vector<int> targets{0, c.columns / 2, c.columns - 1};
  std::vector<float> loss(kRows);
  const RowPlan plan = row_plan<T>(kRows, c.columns, c.shared_limit, 1, c.most_threads);
  with_storage<T>(plan, [&]<typename Storage, bool OneWarp>() {
    emulate(plan.shape.blocks, threads_of<T>(plan), plan.shape.shared_bytes, [&] {
      cross_entropy_kernel<T, Storage, OneWarp>(
          logits.data(), targets.data(), loss.data(), kRows, c.columns, plan.shared_vectors);
    });
  });
  for (std::size_t r = 0; r < kRows; ++r) {
    const auto want = reference::cross_entropy(values(before, r * n, n), targets[r]);
    EXPECT_NEAR(loss[r], want.loss, 1e-5) << "row " << r << " of " << c.columns;
    EXPECT_LE(reference::cross_entropy_error(values(logits, r * n, n), want.gradient, targets[r]),
        reference::allowed_error(sizeof(T), c.columns))
        << "row " << r << " of " << c.columns;
  }
  for (std::size_t i = kRows * n; i < logits.size(); ++i) {
    EXPECT_TRUE(std::isnan(to_float(logits[i]))) << "written beyond the end";
  }
}

TEST(EmulatedRows, CrossEntropyOverTheLogitsThemselves) {
  for (const auto& cases : {std::span<const RowCase>(kWholeVectors), std::span<const RowCase>(kAnyColumns)}) {
    for (const RowCase& c : cases) {
      expect_cross_entropy<Bf16>(c);
      expect_cross_entropy<float>(c);
    }
  }
}

TEST(RowPlan, GivesRowsToWarpsThenBlocksThenSharedMemory) {
  const RowPlan warps = row_plan<Bf16>(100, 512, 232448);
  EXPECT_TRUE(warps.one_warp);
  EXPECT_EQ(warps.held, 2);
  EXPECT_EQ(warps.shape.blocks, 13);  // 8 rows each
  const RowPlan block = row_plan<Bf16>(100, 8192, 232448);
  EXPECT_FALSE(block.one_warp);
  EXPECT_EQ(block.shape.threads, 256);  // 1024 vectors, 4 each
  EXPECT_EQ(block.shape.blocks, 100);
  const RowPlan vocabulary = row_plan<Bf16>(100, 128256, 232448);
  EXPECT_EQ(vocabulary.held, 0);
  EXPECT_EQ(vocabulary.shared_vectors, (232448 - 128) / 16);  // of 16032
  EXPECT_EQ(vocabulary.shape.shared_bytes, 232448);
  const RowPlan uneven = row_plan<Bf16>(100, 50257, 232448);
  EXPECT_EQ(uneven.shared_vectors, 6284);  // one more than 50257 / 8, rounded up: a row may begin late in its first
}

}  // namespace
}  // namespace stepcast::kernels::gpu
