// Waves and folds: rounds of a level's units and the share of them that has work.
#include <gtest/gtest.h>

#include "dataflow/chip/account/gemm_kernel.h"
#include "dataflow/chip/account/occupancy.h"
#include "tests/dataflow/chip/chip_text.h"

namespace stepcast::dataflow {
namespace {

TEST(Occupancy, WholeTilesFillEveryRound) {
  const ChipProgram chip = *chip_of("arch mem { pe[4x4] }\ndim m:8 n:16 k:3\nO: O[m,n] += I[m,k] * W[k,n]\n"
                                    "mem: for m:2 for n:4 for k:3\npe: par m:4 on x par n:4 on y\n");
  EXPECT_EQ(occupancy_of(chip, 1).rounds, 2 * 4 * 3);
  EXPECT_EQ(occupancy_of(chip, 1).share, 1);
}

TEST(Occupancy, AShortLastRoundLeavesUnitsIdle) {
  // 9 columns on 4 units: rounds of 4, 4 and 1.
  const ChipProgram chip =
      *chip_of("arch mem { pe[4] }\ndim n:9 k:2\nO: O[n] += I[k] * W[k,n]\nmem: for n:*? for k:2\npe: par n:4 on pe\n");
  EXPECT_EQ(occupancy_of(chip, 1).rounds, 3 * 2);
  EXPECT_DOUBLE_EQ(occupancy_of(chip, 1).share, 9.0 / 12);
}

TEST(Occupancy, WavesOfAKernelAreItsRounds) {
  // 20 x 10 tiles of 128 x 128 on 100 multiprocessors: 2 waves of 10 x 10; a row more starts a third.
  const GpuUnits gpu{100, Bytes(64.0 * 1024 * 1024)};
  const ChipProgram whole = gemm_program({2560, 1280, 64}, gpu, {128, 128, 64});
  EXPECT_EQ(occupancy_of(whole, 2).rounds, 2);
  EXPECT_EQ(occupancy_of(whole, 2).share, 1);
  const ChipProgram more = gemm_program({2561, 1280, 64}, gpu, {128, 128, 64});
  EXPECT_EQ(occupancy_of(more, 2).rounds, 3);
  EXPECT_DOUBLE_EQ(occupancy_of(more, 2).share, 21.0 * 10 / 300);
}

}  // namespace
}  // namespace stepcast::dataflow
