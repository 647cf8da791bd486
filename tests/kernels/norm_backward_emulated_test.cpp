#include "tests/kernels/emulated/gpu.h"

#include "kernels/cuda/memory/norm_backward_kernels.cuh"
#include "tests/kernels/emulated/numbers.h"

namespace stepcast::kernels::gpu {
namespace {

using reference::Values;

template <typename T> struct NormGradientData {
  std::vector<T> x, dy, weight, dx;
  std::vector<float> dweight, partial;
};

template <typename T>
void run_norm_backward(NormGradientData<T>& data, const NormBackwardPlan& plan, std::int64_t rows, int columns) {
  emulate(plan.rows.blocks, plan.rows.threads, plan.rows.shared_bytes, [&] {
    const auto run = [&](auto kernel) {
      kernel(data.x.data(), data.dy.data(), data.weight.data(), data.dx.data(), data.partial.data(),
          data.dweight.data(), rows, columns);
    };
    if (plan.held == 2) run(norm_backward_kernel<T, 2>);
    if (plan.held == 4) run(norm_backward_kernel<T, 4>);
    if (plan.held == 0) run(norm_backward_long_kernel<T>);
  });
  emulate(plan.sums.blocks, {plan.sums.threads, plan.sums.rows_at_once}, plan.sums.shared_bytes, [&] {
    weight_gradient_kernel(data.partial.data(), data.dweight.data(), static_cast<int>(plan.rows.blocks), columns);
  });
}

/// Of several rows to each of two blocks.
template <typename T> void expect_norm_backward(int columns, int held) {
  constexpr std::int64_t kRows = 5;
  const auto n = static_cast<std::size_t>(columns);
  NormBackwardPlan plan = norm_backward_plan<T>(kRows, columns, 1);
  plan.rows.blocks = 2;
  ASSERT_EQ(plan.held, held) << columns;
  NormGradientData<T> data{normal_numbers<T>(kRows * n, 1, 3), normal_numbers<T>(kRows * n, 2), normal_numbers<T>(n, 3),
      unwritten<T>(kRows * n), std::vector<float>(n, NAN), std::vector<float>(2 * n, NAN)};
  run_norm_backward(data, plan, kRows, columns);
  Values dweight(n);
  for (std::size_t r = 0; r < kRows; ++r) {
    const auto want =
        reference::rms_norm_gradient(values(data.x, r * n, n), values(data.dy, r * n, n), values(data.weight, 0, n));
    EXPECT_LE(
        reference::largest_error(values(data.dx, r * n, n), want.x), reference::allowed_error(sizeof(T), columns));
    for (std::size_t i = 0; i < n; ++i) dweight[i] += want.weight[i];
  }
  EXPECT_LE(reference::largest_error(values(data.dweight, 0, n), dweight), reference::allowed_error(4, kRows));
}

TEST(EmulatedNormBackward, RowsInRegisters) {
  for (const int columns : {8, 48, 264, 1000, 1032, 4096}) expect_norm_backward<Bf16>(columns, 2);
  for (const int columns : {4, 260, 1004, 4096}) expect_norm_backward<float>(columns, 2);
  expect_norm_backward<Fp16>(520, 2);
  expect_norm_backward<Bf16>(8200, 4);
  expect_norm_backward<float>(8192, 4);
}

TEST(EmulatedNormBackward, RowsTooLongForThem) {
  expect_norm_backward<Bf16>(16392, 0);
  expect_norm_backward<float>(8196, 0);
}

/// Row p of the partial sums is p + 1 in every column but the last, where it is one: the sums are known.
void expect_weight_gradient(unsigned partials, int columns, int sm_count, unsigned blocks) {
  const LaunchShape shape = weight_gradient_shape(partials, columns, sm_count);
  EXPECT_EQ(shape.blocks, blocks);
  const auto n = static_cast<std::size_t>(columns);
  std::vector<float> partial, dweight(n, 0);
  for (unsigned p = 0; p < partials; ++p) {
    partial.insert(partial.end(), n - 1, static_cast<float>(p + 1));
    partial.push_back(1);
  }
  emulate(shape.blocks, {shape.threads, shape.rows_at_once}, shape.shared_bytes,
      [&] { weight_gradient_kernel(partial.data(), dweight.data(), static_cast<int>(partials), columns); });
  for (std::size_t c = 0; c + 1 < n; ++c) EXPECT_EQ(dweight[c], static_cast<float>(partials * (partials + 1) / 2)) << c;
  EXPECT_EQ(dweight.back(), static_cast<float>(partials));
}

TEST(EmulatedNormBackward, SeveralBlocksAddUpTheSameColumns) {
  expect_weight_gradient(100, 40, 10, 2 * 4);  // 2 groups of columns; of 5 parts that would fill it 4 have 32 rows
  expect_weight_gradient(100, 40, 6, 2 * 3);
  expect_weight_gradient(100, 40, 1, 2);
  expect_weight_gradient(1, 33, 132, 2);
}

TEST(NormBackwardPlan, ManyRowsToFewBlocks) {
  const auto plan = norm_backward_plan<Bf16>(16384, 4096, 132);
  EXPECT_EQ(plan.rows.threads, 256);     // 512 vectors, 2 each
  EXPECT_EQ(plan.rows.blocks, 2 * 132);  // 512 threads on each multiprocessor
  EXPECT_EQ(plan.sums.blocks, 128);
  EXPECT_EQ(norm_backward_plan<Bf16>(100, 4096, 132).rows.blocks, 100);
  EXPECT_EQ(norm_backward_plan<Bf16>(300, 4096, 132).rows.blocks, 150);  // two rows each
  EXPECT_EQ(norm_backward_plan<Bf16>(200, 4096, 132).rows.blocks, 132);
  EXPECT_EQ(norm_backward_plan<Bf16>(16384, 512, 132).rows.blocks, 16 * 132);  // of one warp
}

}  // namespace
}  // namespace stepcast::kernels::gpu
