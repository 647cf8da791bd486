// What stages and ranks need in memory, put together from blocks.
#include "sim/fast/unit_memory.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "sim/memory/block_memory.h"
#include "sim/schedule/schedule_table.h"
#include "tests/sim/fast/small_shapes.h"
#include "tests/sim/small_program.h"
#include "tests/trials.h"

namespace stepcast::sim {
namespace {

Buffer buffer(const char* label, Count count, double bytes) {
  Buffer made;
  made.label = label;
  made.kind = count == Count::per_block_window ? BufferKind::gathered_weight
              : count == Count::persistent     ? BufferKind::weight
                                               : BufferKind::saved;
  made.count = count;
  made.bytes = Bytes(bytes);
  return made;
}

/// Two blocks that keep 10 and 20 bytes for backward, and share a table of 5 and 7 bytes; the second has one of its
/// own.
Program two_blocks() {
  ProgramBlock first = small::plain_layer(), second = small::plain_layer();
  first.buffers = {buffer("kept", Count::per_micro_batch, 10), buffer("table", Count::shared, 5)};
  second.buffers = {buffer("kept", Count::per_micro_batch, 20), buffer("table", Count::shared, 7),
      buffer("other", Count::shared, 100)};
  Program program;
  program.blocks = {first, second};
  return program;
}

TEST(UnitMemory, StagesKeepWhatTheirBlocksKeep) {
  const UnitMemory memory(two_blocks());
  EXPECT_EQ(memory.saved({{0, 3}}), 30);
  EXPECT_EQ(memory.saved({{0, 1}, {1, 4}}), 90);
  EXPECT_EQ(
      memory.fullest({{0, 1}, {1, 4}}).sum(), fullest_moment({{0, 1}, {1, 4}}, block_memories(two_blocks())).sum());
}

/// Of a table of one name the largest counts once, however many blocks of the rank have it.
TEST(UnitMemory, BlocksShareByName) {
  const UnitMemory memory(two_blocks());
  EXPECT_EQ(memory.shared({{0, 3}}), 5);
  EXPECT_EQ(memory.shared({{0, 3}, {1, 2}, {0, 1}}), 107);
  EXPECT_EQ(memory.shared({}), 0);
}

/// Two ranks of one stage: the first holds two units of 30 bytes and 5 of its table, the second one of 40 and 107; with
/// 1000 and 900 bytes that stay it is 1065 against 1047.
TEST(UnitMemory, TheFullestRankIsThatOfTheSum) {
  Program program = two_blocks();
  program.stages = 2;
  program.chunks = {{0, 0, {{0, 3}}}, {1, 0, {{1, 2}}}};
  const StageShape shape = stage_shape(program);
  const UnitMemory units(program);
  MemoryOnShape memory;
  lay_memory(units, shape, memory);
  ASSERT_EQ(memory.saved, (std::vector<double>{30, 40}));
  OnceOnShape once;
  once.ranks = {{.persistent = 1000}, {.persistent = 900}};
  const double at_work[] = {memory.ranks[0].fullest, memory.ranks[1].fullest};
  EXPECT_EQ(tensor_bytes(memory, once, {{{2, 0}}, {{0, 1}}}), std::max(1065 + at_work[0], 1047 + at_work[1]));
  // Laid again, nothing of before is left.
  lay_memory(units, shape, memory);
  EXPECT_EQ(memory.saved.size(), 2U);
  EXPECT_EQ(memory.ranks.size(), 2U);
}

/// Layers of two blocks, laid anyhow: no order holds less on its fullest rank, and of layers that are all alike on
/// ranks that hold as many units the bound is what each of them has.
TEST(UnitMemory, NoLayoutHasLessThanTheLeast) {
  const Machine machine = small::machine();
  const Profile profile = small::profile();
  const Stack stack = small::stack();
  std::mt19937 random(3);
  double closest = 0;
  for (const ScheduleKind* kind : small_shapes::priced_kinds())
    for (int trial = 0; trial < 20; ++trial) {
      const ScheduleSize size = small_shapes::legal_size(*kind, 8, 20, random);
      if (size.ranks == 0) continue;
      Program program = small_shapes::program_of(make_order(kind->id, size).value(), random);
      program.ranks = program.stages, program.groups = {small::group(1, 4)};
      for (int block = 0; block < 4; ++block) {
        ProgramBlock& made = program.blocks.emplace_back(small::plain_layer());
        made.is_layer = block < 2;
        made.buffers = {buffer("weight", Count::persistent, small_shapes::draw(random, 1, 50)),
            buffer("kept", Count::per_micro_batch, small_shapes::draw(random, 0, 20))};
      }
      std::vector<BlockRun> layers = {{0, 0}, {1, 0}};
      for (const Chunk& chunk : program.chunks)
        for (const BlockRun& run : chunk.runs)
          if (run.block < 2) layers[run.block].count += run.count;
      const CostModel cost = CostModel(machine, profile, stack, Precision::bf16).with_ranks(program.ranks);
      const StageShape shape = stage_shape(program);
      const StepCosts step(program, cost);
      const UnitMemory units(program);
      MemoryOnShape memory;
      lay_memory(units, shape, memory);
      const HeldOnStages held = held_on_stages(*kind, size).value();
      const double least = least_tensor_bytes(units, step, held, layers),
                   here = tensor_bytes(memory, once_on_shape(step, shape), held_units(shape, held));
      EXPECT_GT(least, 0);
      EXPECT_LE(least, here * (1 + 1e-12)) << small_shapes::sized_name(*kind, size);
      closest = std::max(closest, least / here);
    }
  EXPECT_GT(closest, 0.6);
  // Eight layers of 10 bytes that stay and 3 that are kept for each of two units, on four ranks.
  Program alike;
  alike.stages = 4;
  alike.blocks = {small::plain_layer()};
  alike.blocks.front().buffers = {buffer("weight", Count::persistent, 10), buffer("kept", Count::per_micro_batch, 3)};
  for (int stage = 0; stage < 4; ++stage) alike.chunks.push_back({stage, 0, {{0, 2}}});
  const StepCosts step(alike, CostModel(machine, profile, stack, Precision::bf16).with_ranks(4));
  const std::vector<BlockRun> eight = {{0, 8}};
  EXPECT_NEAR(least_tensor_bytes(UnitMemory(alike), step, HeldOnStages(4, {{2}}), eight), 2 * (10 + 2 * 3), 1e-9);
  EXPECT_EQ(least_tensor_bytes(UnitMemory(alike), step, HeldOnStages(4, {{2}}), {}), 0) << "nothing lies in layers";
}

}  // namespace
}  // namespace stepcast::sim
