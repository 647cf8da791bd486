#include "sim/fast/stage_shape.h"
#include "sim/schedule/schedule_table.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/sim/fast/small_shapes.h"

namespace stepcast::sim {
namespace {

using namespace small_shapes;

/// Two dense layers and six of experts on 4 ranks, there and back.
Program v_of_mixed_layers() {
  Program program;
  program.stages = 4;
  const int ranks[] = {0, 1, 2, 3, 3, 2, 1, 0};
  for (int stage = 0; stage < 8; ++stage) program.chunks.push_back({ranks[stage], 0, {{stage < 2 ? 0 : 1, 1}}});
  return program;
}

TEST(StageShape, TellsEqualStagesAndRanksApartOnce) {
  const StageShape shape = stage_shape(v_of_mixed_layers());
  EXPECT_EQ(shape.ranks, 4);
  EXPECT_EQ(shape.kinds.size(), 2U);
  EXPECT_EQ(shape.kind_of, (std::vector<int>{0, 0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(shape.rank_kind_of, (std::vector<int>{0, 0, 1, 1}));
  ASSERT_EQ(shape.rank_kinds.size(), 2U);
  EXPECT_EQ(shape.rank_kinds[0].count, (std::vector<int>{1, 1}));
  EXPECT_EQ(shape.rank_kinds[0].stages, (std::vector<int>{0, 7}));
  EXPECT_EQ(shape.rank_kinds[1].count, (std::vector<int>{0, 2}));
}

/// The same blocks in equal numbers are one kind; in another order or number they are not.
TEST(StageShape, StagesAreAlikeWhenTheirListsAre) {
  Program program;
  program.stages = 4;
  program.chunks = {
      {0, 0, {{0, 2}, {1, 1}}}, {1, 0, {{1, 1}, {0, 2}}}, {2, 0, {{0, 2}, {1, 1}}}, {3, 0, {{0, 3}, {1, 1}}}};
  EXPECT_EQ(stage_shape(program).kind_of, (std::vector<int>{0, 1, 0, 2}));
}

/// An embedding, two dense layers, six of experts and a head on a V of 2 ranks.
Program v_of_layers(const std::vector<std::vector<BlockRun>>& runs) {
  Program program;
  program.stages = 2;
  const int ranks[] = {0, 1, 1, 0};
  for (int stage = 0; stage < 4; ++stage) program.chunks.push_back({ranks[stage], stage / 2, runs[stage]});
  return program;
}

TEST(StageShape, RelaidIsTheShapeOfTheProgramWithTheseLayers) {
  const std::vector<char> is_layer = {0, 1, 1, 0};
  const StageShape even = stage_shape(v_of_layers({{{0, 1}, {1, 2}}, {{2, 2}}, {{2, 2}}, {{2, 2}, {3, 1}}}));
  const struct {
    std::vector<std::int64_t> layers;
    std::vector<std::vector<BlockRun>> runs;
  } cases[] = {{{2, 2, 2, 2}, {{{0, 1}, {1, 2}}, {{2, 2}}, {{2, 2}}, {{2, 2}, {3, 1}}}},
      {{1, 3, 3, 1}, {{{0, 1}, {1, 1}}, {{1, 1}, {2, 2}}, {{2, 3}}, {{2, 1}, {3, 1}}}},
      {{0, 4, 4, 0}, {{{0, 1}}, {{1, 2}, {2, 2}}, {{2, 4}}, {{3, 1}}}}};
  for (const auto& one : cases) {
    const StageShape shape = relaid(even, is_layer, even.ranks, even.rank_of, one.layers),
                     lowered = stage_shape(v_of_layers(one.runs));
    EXPECT_EQ(shape.kind_of, lowered.kind_of);
    EXPECT_EQ(shape.rank_of, lowered.rank_of);
    EXPECT_EQ(shape.rank_kind_of, lowered.rank_kind_of);
    EXPECT_EQ(shape.crossings, lowered.crossings);
    EXPECT_TRUE(std::ranges::equal(shape.kinds, lowered.kinds, equal_runs));
  }
}

/// Rank 0 first, of each kind of rank the nearest and the furthest, with all stages in front of theirs counted.
TEST(StageShape, WaysLeadToTheNearestAndFurthestOfAKind) {
  std::mt19937 random(2);
  for (const ScheduleKind* kind : priced_kinds())
    for (int trial = 0; trial < 40; ++trial) {
      const ScheduleSize size = legal_size(*kind, 12, 24, random);
      if (size.ranks == 0) continue;
      const Order order = make_order(kind->id, size).value();
      const StageShape shape = stage_shape(program_of(order, random));
      ASSERT_FALSE(shape.ways.empty());
      EXPECT_EQ(shape.ways.front().rank, 0);
      std::vector<int> ways_of(shape.rank_kinds.size(), 0);
      for (const StageShape::Way& way : shape.ways) {
        ++ways_of[way.kind];
        EXPECT_EQ(shape.rank_of[way.first], way.rank);
        EXPECT_EQ(shape.rank_kind_of[way.rank], way.kind);
        EXPECT_EQ(std::accumulate(way.before.begin(), way.before.end(), 0), way.first);
        for (int stage = 0; stage < way.first; ++stage) EXPECT_NE(shape.rank_of[stage], way.rank);
      }
      for (std::size_t rank_kind = 0; rank_kind < ways_of.size(); ++rank_kind) {
        const auto ranks =
            std::count(shape.rank_kind_of.begin(), shape.rank_kind_of.end(), static_cast<int>(rank_kind));
        EXPECT_EQ(ways_of[rank_kind], ranks > 1 ? 2 : 1) << sized_name(*kind, size);
      }
    }
}

TEST(StageShape, StagesOfRankKindsAddUpToTheProgram) {
  std::mt19937 random(3);
  for (const ScheduleKind* kind : priced_kinds()) {
    const ScheduleSize size = legal_size(*kind, 8, 16, random);
    if (size.ranks == 0) continue;
    const Program program = program_of(make_order(kind->id, size).value(), random);
    const StageShape shape = stage_shape(program);
    std::int64_t blocks = 0, expected = 0;
    for (const int of : shape.rank_kind_of)
      for (const BlockRun& run : shape.rank_kinds[of].runs) blocks += run.count;
    for (const Chunk& chunk : program.chunks)
      for (const BlockRun& run : chunk.runs) expected += run.count;
    EXPECT_EQ(blocks, expected) << sized_name(*kind, size);
  }
}

}  // namespace
}  // namespace stepcast::sim
