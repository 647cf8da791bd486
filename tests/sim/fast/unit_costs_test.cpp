// What a stage costs, put together from blocks, against the walk through its chunk.
#include "sim/fast/unit_costs.h"

#include <gtest/gtest.h>

#include "tests/sim/chunk_times.h"
#include "tests/sim/small_program.h"

namespace stepcast::sim {
namespace {

/// Layers whose move holds up compute, or runs beside it.
Program pipeline_with_moves(bool blocking) {
  ProgramBlock layer = small::plain_layer();
  small::add(layer, layer.forward, small::move(0.5, MoveKind::all_reduce, Pass::forward, blocking));
  small::add(layer, layer.backward, small::move(0.25, MoveKind::all_reduce, Pass::input_grad, blocking));
  for (Move& move : layer.moves) move.group = 0;
  Program program = small::pipeline(layer, 4, 12, 8);
  if (program.groups.empty()) program.groups.push_back(small::group(1, 4));
  return program;
}

TEST(UnitCosts, AreThoseOfTheWalkThroughTheChunk) {
  const Machine machine = small::machine();
  const Profile profile = small::profile();
  const Stack stack = small::stack();
  const CostModel cost = CostModel(machine, profile, stack, Precision::bf16).with_ranks(4);
  for (const bool blocking : {true, false}) {
    const Program program = pipeline_with_moves(blocking);
    const UnitCosts units(program, cost);
    for (const std::int64_t layers : {1, 2, 3, 7}) {
      Chunk chunk = program.chunks.front();
      chunk.runs = {{0, layers}};
      const ChunkTimes walked = chunk_times(program, chunk, cost);
      StageCost stage;
      units.lay_stage(chunk.runs, stage);
      EXPECT_NEAR(stage.forward, walked.forward.value(), 1e-12 * walked.forward.value());
      EXPECT_NEAR(stage.backward(), walked.backward().value(), 1e-12 * walked.backward().value());
      EXPECT_NEAR(stage.compute, (walked.forward_compute + walked.backward_compute).value(), 1e-12 * stage.compute);
      ASSERT_EQ(stage.run_forward.size(), 1U);
      EXPECT_NEAR(stage.run_backward[0], walked.run_backward[0].value(), 1e-12 * walked.run_backward[0].value());
    }
  }
}

/// Room that is used again holds nothing of the stage before.
TEST(UnitCosts, LayingAStageAgainLeavesNothingBehind) {
  const Machine machine = small::machine();
  const Profile profile = small::profile();
  const Stack stack = small::stack();
  const CostModel cost = CostModel(machine, profile, stack, Precision::bf16).with_ranks(4);
  const UnitCosts units(pipeline_with_moves(true), cost);
  StageCost used, fresh;
  units.lay_stage({{0, 9}, {0, 4}}, used);
  units.lay_stage({{0, 2}}, used);
  units.lay_stage({{0, 2}}, fresh);
  EXPECT_EQ(used.all(), fresh.all());
  EXPECT_EQ(used.compute, fresh.compute);
  EXPECT_EQ(used.run_forward, fresh.run_forward);
  EXPECT_EQ(used.run_backward, fresh.run_backward);
}

}  // namespace
}  // namespace stepcast::sim
