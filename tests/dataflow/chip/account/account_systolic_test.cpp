// Weight-, input- and output-stationary systolic arrays against SCALE-Sim v3 (scalesim-project/SCALE-Sim 1d62b68).
#include <gtest/gtest.h>

#include "tests/dataflow/chip/accounted.h"

namespace stepcast::dataflow {
namespace {

using accounted::account_of;
using accounted::array;
using accounted::counted;

/// As printed: cycles are one less than the sum of the folds; the output count of "os" is without the rows + columns
/// per fold that the tool adds (its issue 166).
struct SystolicRun {
  const char* dataflow;
  std::int64_t rows, columns, m, n, k, cycles, input_reads, weight_reads, output_writes;
};

constexpr SystolicRun kSystolicRuns[] = {
    {"ws", 32, 32, 128, 64, 128, 1775, 32768, 8192, 32768},
    {"is", 32, 32, 8, 1024, 1024, 35775, 8192, 1048576, 262144},
    {"is", 32, 32, 8, 8, 8, 101, 64, 64, 64},
    {"ws", 32, 32, 64, 64, 512, 5055, 65536, 32768, 65536},
    {"is", 32, 32, 512, 512, 128, 38783, 65536, 1048576, 1048576},
    {"os", 32, 32, 169, 96, 576, 11483, 292032, 331776, 16224},
    {"ws", 32, 32, 196, 64, 128, 2319, 50176, 8192, 50176},
    {"is", 128, 128, 128, 2304, 768, 16115, 98304, 1769472, 1769472},
    {"ws", 128, 128, 128, 128, 64, 509, 8192, 8192, 16384},
    {"os", 128, 128, 128, 768, 768, 6131, 589824, 589824, 98304},
    {"os", 128, 128, 128, 3072, 768, 24527, 2359296, 2359296, 393216},
    {"os", 16, 8, 128, 128, 64, 11007, 131072, 65536, 16384},
    {"is", 16, 8, 128, 128, 64, 10623, 8192, 131072, 65536},
    {"ws", 16, 8, 64, 64, 288, 14687, 147456, 18432, 73728},
    {"os", 16, 8, 64, 64, 288, 9919, 147456, 73728, 4096},
    {"os", 16, 8, 196, 64, 128, 15599, 200704, 106496, 12544},
    {"is", 16, 8, 196, 64, 128, 20399, 25088, 204800, 100352},
};

std::string described(const SystolicRun& run) {
  return std::string(run.dataflow) + " " + std::to_string(run.rows) + "x" + std::to_string(run.columns) + " m " +
         std::to_string(run.m) + " n " + std::to_string(run.n) + " k " + std::to_string(run.k);
}

TEST(SystolicAccount, CyclesOfScaleSim) {
  for (const SystolicRun& run : kSystolicRuns)
    EXPECT_EQ(account_of(array(run.dataflow, run.rows, run.columns, run.m, run.n, run.k)).cycles,
        static_cast<double>(run.cycles + 1))
        << described(run);
}

TEST(SystolicAccount, StoreAccessesOfScaleSim) {
  for (const SystolicRun& run : kSystolicRuns) {
    const Counts counts = counted(array(run.dataflow, run.rows, run.columns, run.m, run.n, run.k));
    EXPECT_EQ(counts.at[0][0].reads, static_cast<double>(run.input_reads)) << described(run);
    EXPECT_EQ(counts.at[0][1].reads, static_cast<double>(run.weight_reads)) << described(run);
    EXPECT_EQ(counts.at[0][2].updates, static_cast<double>(run.output_writes)) << described(run);
  }
}

TEST(SystolicAccount, ClosedFormsForEverySize) {
  // With R x C units: F(2R+C+M-2), F(2R+C+N-2) and F(R+C+K-2), F = folds; sizes of one and cut edges included.
  using accounted::parts;
  for (const std::int64_t rows : {1, 4, 8})
    for (const std::int64_t columns : {1, 3, 8})
      for (const std::int64_t m : {1, 7, 16})
        for (const std::int64_t n : {1, 5, 24})
          for (const std::int64_t k : {1, 9, 32}) {
            const auto cycles = [&](const char* dataflow) {
              return account_of(array(dataflow, rows, columns, m, n, k)).cycles;
            };
            const std::int64_t ws = parts(k, rows) * parts(n, columns), is = parts(k, rows) * parts(m, columns),
                               os = parts(m, rows) * parts(n, columns);
            EXPECT_EQ(cycles("ws"), ws * (2 * rows + columns + m - 2)) << rows << columns << m << n << k;
            EXPECT_EQ(cycles("is"), is * (2 * rows + columns + n - 2)) << rows << columns << m << n << k;
            EXPECT_EQ(cycles("os"), os * (rows + columns + k - 2)) << rows << columns << m << n << k;
          }
}

TEST(SystolicAccount, FoldsPayFillDrainAndPreload) {
  // 8 x 4 folds of 128 rounds; 15 + 15 across the array and 16 to load it, each fold.
  const ChipAccount account = account_of(array("ws", 16, 16, 128, 128, 64));
  EXPECT_EQ(account.compute_cycles, 4096);
  EXPECT_EQ(account.skew_cycles, 8 * 4 * (15 + 15 + 16));
  EXPECT_EQ(account.cycles, 8 * 4 * (2 * 16 + 16 + 128 - 2));
}

TEST(SystolicAccount, OutputsThatStayNeedNoPreload) {
  // 2 x 2 folds of 10 rounds on 4 x 8.
  EXPECT_EQ(account_of(array("os", 4, 8, 8, 16, 10)).cycles, 4 * (4 + 8 + 10 - 2));
}

TEST(SystolicAccount, DoubleBufferingHidesAllButTheFirstFold) {
  ChipProgram chip = array("ws", 16, 16, 128, 128, 64);
  chip.levels[1].buffers = 2;
  EXPECT_EQ(account_of(chip).skew_cycles, 15 + 15 + 16);
}

TEST(SystolicAccount, EdgeFoldsPayTheWholeArray) {
  // One fold that uses 3 x 5 of 4 x 8.
  EXPECT_EQ(account_of(array("ws", 4, 8, 10, 5, 3)).cycles, 2 * 4 + 8 + 10 - 2);
}

TEST(SystolicAccount, BusHasNoSkew) {
  ChipProgram chip = array("ws", 16, 16, 128, 128, 64);
  chip.levels[1].fabric = FabricClass::bus;
  EXPECT_EQ(account_of(chip).cycles, 4096);
}

TEST(SystolicAccount, RegistersInsideTheArrayDecideItsFolds) {
  // The array itself keeps nothing; each unit's register file holds one weight, and hops of 2 cycles double the skew.
  ChipProgram chip = array("ws", 4, 4, 10, 4, 8);
  chip.levels[1].keeps = {false, false, false};
  chip.levels[1].store = false;
  chip.levels[1].latency_cycles = 2;
  chip.levels.push_back(accounted::store("rf", {false, true, false}, {}));
  EXPECT_EQ(account_of(chip).skew_cycles, 2 * 2 * (3 + 3 + 4));
}

TEST(SystolicAccount, TheTensorThatStaysLongestMakesTheFold) {
  // Units that hold all three: I and O change every round, W with each of the 2 folds.
  ChipProgram chip = array("ws", 4, 4, 10, 4, 8);
  chip.levels[1].keeps = {true, true, true};
  EXPECT_EQ(account_of(chip).skew_cycles, 2 * (3 + 3 + 4));
}

TEST(SystolicAccount, ChangesCountShortRounds) {
  // k 70 as 3 x 4 tiles of 8: the third outer round reaches one tile only, 9 tiles in all.
  ChipProgram chip = accounted::gemm(1, 1, 70);
  chip.levels = {accounted::store("a", {true, true, true}, {accounted::loop(accounted::k, 3)}),
      accounted::store("b", {true, true, true}, {accounted::loop(accounted::k, 4)}),
      accounted::store("c", {false, true, false}, {accounted::loop(accounted::k, 8)})};
  EXPECT_EQ(tile_changes(nest_of(chip).value(), 1, 2), 9);
  EXPECT_EQ(tile_changes(nest_of(chip).value(), 1, 1), 3);
  EXPECT_EQ(tile_changes(nest_of(chip).value(), 2, 2), 1);
}

}  // namespace
}  // namespace stepcast::dataflow
