#include "studies/compare/draw/drawn_trace.h"

#include <gtest/gtest.h>

#include "tests/studies/compare/hand_trace.h"

namespace stepcast::comparison {
namespace {

TEST(DrawnTrace, HasTheWindowsEventsInNanoseconds) {
  const RankTrace trace =
      hand_trace::trace_of({{"a_gemm", 0, 10}, {"ncclDevKernel_AllReduce", 8, 30}, {"b_gemm", 50, 60}});
  const DrawnTrace drawn = drawn_trace(trace, 5, 40, "a step");
  EXPECT_NEAR(drawn.seconds, 35e-6, 1e-12);
  ASSERT_EQ(drawn.bars.size(), 2U);
  EXPECT_EQ(drawn.bars[0].start, 0);
  EXPECT_EQ(drawn.bars[0].length, 5000);
  EXPECT_EQ(drawn.bars[1].lane, Lane::communication);
  EXPECT_EQ(drawn.bars[1].start, 3000);
}

/// Three times as many events as are drawn: neighbours become one bar, and their time stays.
TEST(DrawnTrace, ManyEventsBecomeFewerBarsOfTheSameTime) {
  const std::size_t count = 3 * most_drawn_bars;
  std::vector<hand_trace::HandEvent> events;
  for (std::size_t i = 0; i < count; ++i)
    events.push_back({"a_gemm", static_cast<double>(i), static_cast<double>(i) + 1});
  const DrawnTrace drawn = drawn_trace(hand_trace::trace_of(events), 0, static_cast<double>(count), "long");
  EXPECT_LE(drawn.bars.size(), most_drawn_bars);
  std::int64_t length = 0, all = 0;
  for (const DrawnBar& bar : drawn.bars) length += bar.length, all += bar.events;
  EXPECT_EQ(length, static_cast<std::int64_t>(count) * 1000);
  EXPECT_EQ(all, static_cast<std::int64_t>(count));
}

}  // namespace
}  // namespace stepcast::comparison
