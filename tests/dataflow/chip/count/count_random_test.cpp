// The counter against the same programs run literally, with explicit sets of elements per unit.
#include <gtest/gtest.h>

#include "tests/dataflow/chip/brute_force.h"
#include "tests/dataflow/chip/brute_random.h"
#include "tests/trials.h"

namespace stepcast::dataflow {
namespace {

void expect_same_count(const TensorCount& counted, const TensorCount& run, const std::string& where) {
  EXPECT_EQ(counted.tile, run.tile) << where;
  EXPECT_DOUBLE_EQ(counted.reads, run.reads) << where;
  EXPECT_DOUBLE_EQ(counted.fills, run.fills) << where;
  EXPECT_DOUBLE_EQ(counted.updates, run.updates) << where;
  EXPECT_DOUBLE_EQ(counted.refills, run.refills) << where;
  EXPECT_DOUBLE_EQ(counted.reductions, run.reductions) << where;
  EXPECT_DOUBLE_EQ(counted.sent, run.sent) << where;
  EXPECT_DOUBLE_EQ(counted.sent_apart, run.sent_apart) << where;
}

void expect_counts_as_run(const ChipProgram& chip, const std::string& name) {
  const Expected<Nest> nest = nest_of(chip);
  ASSERT_TRUE(nest) << to_text(nest.error());
  Counts counted;
  count(*nest, counted);
  const Counts run = brute::run_literally(chip);
  const std::string where = name + " " + brute::described(chip);
  EXPECT_EQ(counted.macs, run.macs) << where;
  EXPECT_EQ(counted.steps, run.steps) << where;
  EXPECT_EQ(counted.units, run.units) << where;
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    EXPECT_EQ(counted.instances[l], run.instances[l]) << where;
    for (std::size_t t = 0; t < chip.tensors.size(); ++t)
      expect_same_count(
          counted.at[l][t], run.at[l][t], where + " at " + chip.levels[l].name + " " + chip.tensors[t].name);
  }
}

void expect_random_runs(brute::Problem problem, bool ragged, int times) {
  std::mt19937_64 random(static_cast<std::uint64_t>(problem) * 2 + (ragged ? 1 : 0));
  brute::RandomOptions options;
  options.ragged = ragged;
  for (int i = 0; i < trials(times) && !testing::Test::HasFailure(); ++i)
    expect_counts_as_run(brute::random_chip(problem, options, random), "case " + std::to_string(i));
}

TEST(CountRandom, Gemm) { expect_random_runs(brute::Problem::gemm, false, 600); }
TEST(CountRandom, GemmRagged) { expect_random_runs(brute::Problem::gemm, true, 1200); }
TEST(CountRandom, BatchedGemm) { expect_random_runs(brute::Problem::batched, false, 400); }
TEST(CountRandom, BatchedGemmRagged) { expect_random_runs(brute::Problem::batched, true, 600); }
TEST(CountRandom, Convolution) { expect_random_runs(brute::Problem::conv, false, 800); }
TEST(CountRandom, ConvolutionRagged) { expect_random_runs(brute::Problem::conv, true, 800); }
TEST(CountRandom, ThreeOperands) { expect_random_runs(brute::Problem::three_operands, false, 400); }
TEST(CountRandom, ThreeOperandsRagged) { expect_random_runs(brute::Problem::three_operands, true, 600); }
TEST(CountRandom, OutputOnlyLoops) { expect_random_runs(brute::Problem::output_only, false, 400); }
TEST(CountRandom, OutputOnlyLoopsRagged) { expect_random_runs(brute::Problem::output_only, true, 600); }
TEST(CountRandom, OutputIsTheWindow) { expect_random_runs(brute::Problem::upsampled, false, 400); }
TEST(CountRandom, OutputIsTheWindowRagged) { expect_random_runs(brute::Problem::upsampled, true, 600); }

}  // namespace
}  // namespace stepcast::dataflow
