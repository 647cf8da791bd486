// Stages and groups on ranks of two kinds: the small machine, and one whose GPU is half as fast and half as large.
#include "sim/step/stage_costs.h"

#include <gtest/gtest.h>

#include "sim/step.h"
#include "tests/sim/small_program.h"

namespace stepcast::sim {
namespace {

struct TwoKinds {
  Machine fast = small::machine(), slow = small::machine();
  Profile fast_profile = small::profile(), slow_profile = small::profile();
  Stack stack = small::stack();

  TwoKinds() {
    slow.gpu.memory = Bytes(40e9);
    slow.levels.back().bandwidth_per_gpu = slow.levels.back().port_bandwidth = BytesPerSecond(1e9);
    slow_profile.gemm[0].compute = FlopsPerSecond(50e12);
  }

  [[nodiscard]] StageCosts of(std::vector<int> kind_of_stage, std::int64_t first_slow, std::int64_t alike) const {
    const CostModel a{fast, fast_profile, stack, Precision::bf16}, b{slow, slow_profile, stack, Precision::bf16};
    return {{{a, a, 0}, {b, b, first_slow}}, std::move(kind_of_stage), alike};
  }
};

// A micro-batch takes 1 + 2 s on the fast stage and 2 + 4 s on the slow one: 1 s until the slow stage begins, 4 x 6 s
// there, 2 s for the last backward on the fast one.
TEST(StageCosts, EachStageHasThePricesOfItsOwnKind) {
  const TwoKinds kinds;
  const auto report = forecast(small::pipeline(small::plain_layer(), 2, 1, 4), kinds.of({0, 1}, 1, 1));
  ASSERT_TRUE(report);
  EXPECT_NEAR(report->timeline.makespan.value(), 27, 1e-6);
  EXPECT_NEAR(report->stages[1].forward.value(), 2 * report->stages[0].forward.value(), 1e-9);
  EXPECT_EQ(report->slowest_stage, 1);
  // The other way round: 2 + 4 x 6 ends on the slow first stage, after 1 + 2 s of the fast one for the first.
  const auto turned = forecast(small::pipeline(small::plain_layer(), 2, 1, 4), kinds.of({1, 0}, 0, 1));
  EXPECT_EQ(turned->slowest_stage, 0);
}

TEST(StageCosts, KindsThatAreAlikeChangeNothing) {
  const TwoKinds kinds;
  const Program program = small::pipeline(small::plain_layer(), 4, 2, 8);
  const CostModel one{kinds.fast, kinds.fast_profile, kinds.stack, Precision::bf16};
  const auto alone = forecast(program, one);
  const auto twice = forecast(program, StageCosts({{one, one, 0}, {one, one, 2}}, {0, 0, 1, 1}, 2));
  EXPECT_DOUBLE_EQ(alone->step_time.value(), twice->step_time.value());
  EXPECT_DOUBLE_EQ(alone->p90.value(), twice->p90.value());
}

// 1 GB between the kinds goes over the outermost tier: 0.5 s at 2 GB/s, 1 s at the slow kind's 1 GB/s. Inside a node of
// the fast kind it is 10 ms.
TEST(StageCosts, WhatPassesBetweenKindsTakesTheSlowerNetwork) {
  const TwoKinds kinds;
  const StageCosts costs = kinds.of({0, 0, 1}, 2, 1);
  const double out = costs.send(Bytes(1e9), 1, 2, 1).time.value();
  EXPECT_NEAR(out, costs.kinds()[1].across.send_out(Bytes(1e9)).time.value(), 1e-12);
  EXPECT_GT(out, costs.kinds()[0].across.send_out(Bytes(1e9)).time.value());
  EXPECT_NEAR(costs.send(Bytes(1e9), 0, 1, 1).time.value(), 0.01, 1e-6);
}

TEST(StageCosts, AGroupLeavesItsKindWhereItsBlocksDoNotDivideWhatIsAlike) {
  const TwoKinds kinds;
  const StageCosts costs = kinds.of({0, 1}, 4, 4);
  EXPECT_FALSE(costs.leaves(small::group(1, 4)));
  EXPECT_FALSE(costs.leaves(small::group(2, 2)));
  EXPECT_TRUE(costs.leaves(small::group(4, 2)));
  EXPECT_TRUE(costs.leaves(small::group(1, 8)));
  EXPECT_FALSE(StageCosts(costs.kinds()[0].cost).leaves(small::group(1, 8)));
}

// 30 GB on every stage leave 50 GB on the large GPU and 10 GB on the small one; 45 GB do not fit there.
TEST(StageCosts, MemoryIsHeldAgainstEachKind) {
  const TwoKinds kinds;
  for (const auto& [bytes, fits] : {std::pair{30e9, true}, {45e9, false}}) {
    ProgramBlock block = small::plain_layer();
    block.buffers.push_back({"weights", BufferKind::weight, Count::persistent, Bytes(bytes)});
    const auto report = forecast(small::pipeline(block, 2, 1, 4), kinds.of({0, 1}, 1, 1));
    EXPECT_EQ(report->memory.fits, fits);
    EXPECT_EQ(report->memory.rank, 1);
    EXPECT_DOUBLE_EQ(report->memory.capacity.value(), 40e9);
    ASSERT_EQ(report->memory.peaks.size(), 2U);
    EXPECT_GE(report->memory.peaks[0].value(), bytes);
  }
}

}  // namespace
}  // namespace stepcast::sim
