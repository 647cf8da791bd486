// What stages and ranks need in memory, put together from blocks.
#include "sim/fast/unit_memory.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "sim/memory/block_memory.h"
#include "tests/sim/small_program.h"

namespace stepcast::sim {
namespace {

Buffer buffer(const char* label, Count count, double bytes) {
  Buffer made;
  made.label = label;
  made.kind = count == Count::per_block_window ? BufferKind::gathered_weight : BufferKind::saved;
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

}  // namespace
}  // namespace stepcast::sim
