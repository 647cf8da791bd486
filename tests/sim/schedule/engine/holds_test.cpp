#include "sim/schedule/engine/holds.h"

#include <gtest/gtest.h>

#include "sim/schedule/schedule_table.h"
#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::holds_test {
namespace {

using pipelines::equal_times;
using pipelines::order_of;
using pipelines::timeline_of;

// Two ranks, one micro-batch, 1 s forward, 2 s backward, hops of 0.5 s. Rank 0: F 0-1, sends 1-1.5, is idle until the
// gradient is made at 4.5, receives it until 5. Rank 1 receives 1-1.5; its own send at the end holds it for nothing
// that follows.
TEST(HopHolds, LieBetweenActions) {
  const Order order = order_of("gpipe", {2, 1, 1});
  const StageTimes times = equal_times(2, 1, 1, 1, 0.5, true);
  const auto holds = hop_holds(order, times, timeline_of(order, times));
  ASSERT_EQ(holds[0].size(), 2U);
  EXPECT_DOUBLE_EQ(holds[0][0].start, 1);
  EXPECT_DOUBLE_EQ(holds[0][0].end, 1.5);
  EXPECT_DOUBLE_EQ(holds[0][1].start, 4.5);
  EXPECT_DOUBLE_EQ(holds[0][1].end, 5);
  ASSERT_EQ(holds[1].size(), 1U);
  EXPECT_DOUBLE_EQ(holds[1][0].start, 1);
}

TEST(HopHolds, SumToTheTimelinesOwnInEveryKind) {
  int blocked = 0;
  for (const ScheduleKind& kind : schedule_kinds()) {
    SCOPED_TRACE(kind.id);
    ScheduleSize size{4, kind.takes_chunks ? 2 : 1, 16};
    if (kind.takes_slices) size.slices = 2;
    if (!check_size(kind, size)) continue;
    const Order order = order_of(kind.id, size);
    StageTimes times = equal_times(order.stages(), 1, 1.25, 0.75, 0.125, true);
    for (int i = 0; i + 1 < order.stages(); ++i) times.hop_forward[i] = Seconds(0.05 * (1 + i % 3));
    const Timeline timeline = timeline_of(order, times);
    const auto holds = hop_holds(order, times, timeline);
    for (int rank = 0; rank < order.ranks; ++rank) {
      double sum = 0, last = 0;
      for (const HopHold& hold : holds[rank]) {
        EXPECT_GE(hold.start, last);
        last = hold.end;
        sum += hold.end - hold.start;
      }
      EXPECT_NEAR(sum, timeline.hop_wait[rank].value(), 1e-9);
      blocked += sum > 0 ? 1 : 0;
      for (std::int32_t i = order.begin[rank]; i < order.begin[rank + 1]; ++i)
        for (const HopHold& hold : holds[rank])
          EXPECT_TRUE(hold.end <= timeline.start[i].value() + 1e-9 || hold.start >= timeline.end[i].value() - 1e-9)
              << "inside an action";
    }
  }
  EXPECT_GT(blocked, 20);
}

TEST(HopHolds, OverlappedHopsHoldNobody) {
  const Order order = order_of("1f1b", {4, 1, 8});
  const StageTimes times = equal_times(4, 1, 1, 1, 0.5);
  for (const auto& rank : hop_holds(order, times, timeline_of(order, times))) EXPECT_TRUE(rank.empty());
}

}  // namespace
}  // namespace stepcast::sim::holds_test
