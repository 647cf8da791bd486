// A product on a GPU: the closed form of its traffic is what the counter says of the same kernel in the notation.
#include <random>

#include <gtest/gtest.h>

#include "dataflow/chip/count/count.h"
#include "dataflow/chip/account/gemm_kernel.h"

namespace stepcast::dataflow {
namespace {

constexpr GpuUnits hundred{100, Bytes(32.0 * 1024 * 1024)};

Counts counts_of(const GemmShape& shape, const GpuUnits& gpu, const CtaTile& tile) {
  const auto nest = nest_of(gemm_program(shape, gpu, tile));
  EXPECT_TRUE(nest) << to_text(nest.error());
  Counts counts;
  if (nest) count(*nest, counts);
  return counts;
}

/// Level and tensor positions of gemm_program().
enum { hbm, l2, sm, smem };
enum { a, b, c };

TEST(GemmKernel, SquareProductReadsEachOperandOnceForEveryBandOfWaves) {
  // 7680^3, tiles of 128 x 128: 60 x 60 tiles; 10 x 10 run at once: 6 x 6 waves. A panel of 1280 x 7680 takes 20 MB,
  // two do not fit in 32 MiB: both operands come 6 times.
  const GemmTraffic traffic = gemm_traffic({7680, 7680, 7680}, hundred, {128, 128, 64});
  EXPECT_EQ(traffic.wave_m, 10);
  EXPECT_EQ(traffic.wave_n, 10);
  EXPECT_EQ(traffic.hbm_bytes, (6.0 + 6.0 + 1.0) * 7680 * 7680 * 2);
  EXPECT_EQ(traffic.l2_bytes, (60.0 + 60.0 + 1.0) * 7680 * 7680 * 2);
  EXPECT_EQ(traffic.waves, 36);
  EXPECT_DOUBLE_EQ(traffic.occupancy, 1);
}

TEST(GemmKernel, AnOperandThatFitsInL2IsReadOnce) {
  // B is 1024 x 1024 x 2 B = 2 MiB and stays; A streams through.
  const GemmTraffic traffic = gemm_traffic({65536, 1024, 1024}, hundred, {128, 128, 64});
  EXPECT_EQ(traffic.hbm_bytes, traffic.footprint_bytes);
}

TEST(GemmKernel, OneRowMoreThanAWaveIdlesAlmostAWholeOne) {
  const CtaTile tile{128, 128, 64};
  EXPECT_EQ(gemm_traffic({1280, 1280, 4096}, hundred, tile).waves, 1);
  EXPECT_EQ(gemm_traffic({1281, 1280, 4096}, hundred, tile).waves, 2);
  EXPECT_DOUBLE_EQ(gemm_traffic({1281, 1280, 4096}, hundred, tile).occupancy, 0.55);
}

TEST(GemmKernel, SmallProductsOfABatchShareAWave) {
  EXPECT_EQ(gemm_traffic({128, 128, 64, 50}, hundred, {128, 128, 64}).waves, 1);
  EXPECT_EQ(gemm_traffic({128, 128, 64, 150}, hundred, {128, 128, 64}).waves, 2);
}

TEST(GemmKernel, TilesShrinkUntilEveryMultiprocessorHasWork) {
  EXPECT_EQ(choose_tile({8192, 8192, 1}, hundred).m, 256);
  EXPECT_EQ(choose_tile({1280, 1280, 1}, hundred).m, 128);
  EXPECT_EQ(choose_tile({64, 64, 1}, hundred).n, 64);
}

TEST(GemmKernel, ClosedFormIsWhatTheCounterSaysOfTheKernelInTheNotation) {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<>(low, high)(random); };
  for (int trial = 0; trial < 500; ++trial) {
    const GemmShape shape{
        static_cast<double>(pick(1, 3000)), static_cast<double>(pick(1, 3000)), static_cast<double>(pick(1, 3000))};
    const GpuUnits gpu{pick(1, 140), Bytes(static_cast<double>(pick(1 << 16, 1 << 23)))};
    const CtaTile& tile = cta_tiles()[pick(0, static_cast<int>(cta_tiles().size()) - 1)];
    const Counts counts = counts_of(shape, gpu, tile);
    const GemmTraffic traffic = gemm_traffic(shape, gpu, tile);
    const auto& memory = counts.at[hbm];
    EXPECT_EQ(traffic.hbm_bytes, 2 * (memory[a].reads + memory[b].reads + memory[c].updates))
        << shape.m << " " << shape.n << " " << shape.k << " on " << gpu.multiprocessors << " tile " << tile.m;
    EXPECT_EQ(memory[c].reads, 0);
    // A block that ends leaves nothing behind in shared memory; the notation's level would keep a slab that comes
    // again.
    if (shape.k > tile.k) {
      EXPECT_EQ(traffic.l2_bytes, 2 * (counts.at[l2][a].sent_apart + counts.at[l2][b].sent_apart + memory[c].updates));
    }
    EXPECT_EQ(static_cast<double>(counts.macs), shape.m * shape.n * shape.k);
  }
}

}  // namespace
}  // namespace stepcast::dataflow
