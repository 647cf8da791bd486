// What a rank holds at its fullest, by counts of units, against the whole order.
#include "sim/fast/held_units.h"

#include <gtest/gtest.h>

#include "sim/schedule/engine/engine.h"
#include "sim/schedule/schedule_table.h"
#include "tests/sim/fast/small_shapes.h"
#include "tests/trials.h"

namespace stepcast::sim {
namespace {

using namespace small_shapes;

double fullest(const HeldUnits& held, int rank_kind, const std::vector<double>& bytes) {
  double most = 0;
  for (const std::vector<int>& counts : held[rank_kind]) {
    double sum = 0;
    for (std::size_t kind = 0; kind < counts.size(); ++kind) sum += counts[kind] * bytes[kind];
    most = std::max(most, sum);
  }
  return most;
}

void expect_fullest_moments(const ScheduleKind& kind, const ScheduleSize& size, std::mt19937& random) {
  const Order order = make_order(kind.id, size).value();
  const StageShape shape = stage_shape(program_of(order, random));
  const auto on_stages = held_on_stages(kind, size);
  ASSERT_TRUE(on_stages) << to_text(on_stages.error());
  const HeldUnits held = held_units(shape, *on_stages);
  for (int weights = 0; weights < 4; ++weights) {
    std::vector<double> bytes, by_stage;
    for (std::size_t i = 0; i < shape.kinds.size(); ++i)
      bytes.push_back(draw(random, weights == 0 ? 1 : 0, weights == 0 ? 1 : 9));
    for (const int of : shape.kind_of) by_stage.push_back(bytes[of]);
    const std::vector<double> peaks = peak_weighted(order, by_stage);
    std::vector<double> of_kind(shape.rank_kinds.size(), 0);
    for (int rank = 0; rank < size.ranks; ++rank)
      of_kind[shape.rank_kind_of[rank]] = std::max(of_kind[shape.rank_kind_of[rank]], peaks[rank]);
    for (int rank_kind = 0; rank_kind < static_cast<int>(of_kind.size()); ++rank_kind)
      ASSERT_EQ(fullest(held, rank_kind, bytes), of_kind[rank_kind])
          << sized_name(kind, size) << " kind of rank " << rank_kind;
  }
}

/// More stages on a rank, and more micro-batches, than are compared in one word.
TEST(HeldUnits, WeighWhatTheOrderHoldsOfManyStages) {
  std::mt19937 random(7);
  const ScheduleKind& kind = **find_schedule("interleaved-1f1b");
  for (const ScheduleSize& size : {ScheduleSize{4, 8, 16}, ScheduleSize{4, 9, 16}, ScheduleSize{2, 20, 12},
           ScheduleSize{2, 64, 8}, ScheduleSize{2, 65, 8}, ScheduleSize{22, 3, 154}, ScheduleSize{32, 12, 256}})
    expect_fullest_moments(kind, size, random);
}

TEST(HeldUnits, WeighWhatTheOrderHolds) {
  std::mt19937 random(5);
  for (const ScheduleKind* kind : priced_kinds()) {
    int tried = 0;
    for (int trial = 0; trial < 60; ++trial) {
      const ScheduleSize size = legal_size(*kind, 16, trial % 4 == 0 ? 400 : 60, random);
      if (size.ranks == 0) continue;
      expect_fullest_moments(*kind, size, random);
      ++tried;
    }
    EXPECT_GT(tried, 20) << kind->id;
  }
}

/// Every count of micro-batches up to far beyond the settled one: nothing is added there.
TEST(HeldUnits, SettledMicroBatchesHoldAsMuchAsAnyMore) {
  std::mt19937 random(6);
  for (const ScheduleKind* kind : priced_kinds()) {
    int settled = 0;
    for (const int ranks : {1, 2, 3, 4, 5, 7, 8})
      for (const int chunks : {1, 2, 3, 4})
        for (int m = 1; m <= 15 * ranks + 3; m += sanitized ? 7 : ranks < 4 ? 1 : 3) {
          const ScheduleSize size{ranks, chunks, m, 0};
          if ((kind->own_chunks > 0 && chunks != kind->own_chunks) || !check_size(*kind, size)) continue;
          settled += settled_micro_batches(*kind, size) < m;
          expect_fullest_moments(*kind, size, random);
          if (testing::Test::HasFatalFailure()) return;
        }
    const bool keeps_all = settled_micro_batches(*kind, {2, 2, 1000, 0}) == 1000;
    EXPECT_TRUE(keeps_all || settled > trials(20)) << kind->id;
  }
}

/// 490 micro-batches on 64 ranks go in 7 rounds of 70; 6 rounds with the same rest would be of 71.
TEST(HeldUnits, RoundsKeepTheirLength) {
  std::mt19937 random(8);
  for (const char* id : {"interleaved-flex", "interleaved-zb"}) {
    const ScheduleKind& kind = **find_schedule(id);
    EXPECT_EQ(settled_micro_batches(kind, {64, 2, 490, 0}), 420);
    EXPECT_EQ(settled_micro_batches(kind, {8, 2, 63, 0}), 54);
    EXPECT_EQ(settled_micro_batches(kind, {8, 2, 800, 0}), 48);
    expect_fullest_moments(kind, {64, 2, 490, 0}, random);
    expect_fullest_moments(kind, {8, 3, 63, 0}, random);
  }
}

TEST(HeldUnits, CountsOfBothChunksOfAVPeakApart) {
  const ScheduleKind& kind = **find_schedule("zb-v");
  const Order order = make_order("zb-v", {4, 2, 12, 0}).value();
  Program program;
  program.stages = 4;
  for (int stage = 0; stage < 8; ++stage) program.chunks.push_back({order.rank_of[stage], 0, {{stage < 4 ? 0 : 1, 1}}});
  const StageShape shape = stage_shape(program);
  const HeldUnits held = held_units(shape, held_on_stages(kind, {4, 2, 12, 0}).value());
  ASSERT_EQ(held.size(), 1U);
  for (const auto& moments : held) {
    EXPECT_FALSE(moments.empty());
    for (const auto& a : moments)
      for (const auto& b : moments)
        EXPECT_FALSE(&a != &b && a[0] >= b[0] && a[1] >= b[1]) << "a moment that another exceeds";
  }
}

TEST(HeldUnits, SizesThatTheKindRefusesAreErrors) {
  EXPECT_FALSE(held_on_stages(**find_schedule("interleaved-1f1b"), {4, 2, 5, 0}));
  EXPECT_FALSE(held_on_stages(**find_schedule("1f1b"), {4, 1, 0, 0}));
}

}  // namespace
}  // namespace stepcast::sim
