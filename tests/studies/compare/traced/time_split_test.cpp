#include "studies/compare/traced/time_split.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "tests/studies/compare/hand_trace.h"

namespace stepcast::comparison::time_split_test {
namespace {

using hand_trace::HandEvent;
using hand_trace::trace_of;

std::map<std::string, double> rows_of(const TimeSplit& split) {
  std::map<std::string, double> rows;
  for (const SplitRow& row : split.rows) rows[row.name] += row.seconds * 1e6;
  return rows;
}

// Computing goes before communicating, that before copying; what is left of 0..50 is idle.
TEST(TimeSplit, EveryInstantIsInOneRow) {
  const RankTrace trace = trace_of({{"a_gemm", 0, 10}, {"b_softmax", 8, 14}, {"ncclDevKernel_AllReduce", 5, 25}});
  RankTrace with_copy = trace;
  with_copy.names.emplace_back("Memcpy");
  with_copy.events.push_back({.start = 20, .end = 30, .name = 3, .kind = WorkKind::memcpy});
  auto rows = rows_of(split_time(with_copy, 0, 50));
  EXPECT_NEAR(rows["a_gemm"], 10, 1e-9);
  EXPECT_NEAR(rows["b_softmax"], 4, 1e-9);    // 8..10 is the product's
  EXPECT_NEAR(rows["all_reduce"], 11, 1e-9);  // 14..25
  EXPECT_NEAR(rows["memcpy"], 5, 1e-9);       // 25..30
  EXPECT_NEAR(rows["idle"], 20, 1e-9);
}

TEST(TimeSplit, RowsSumToTheStretch) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> start(-10, 110), length(0, 12);
  const char* names[] = {"a_gemm", "b_softmax", "ncclDevKernel_AllGather", "c_elementwise"};
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<HandEvent> events;
    for (int i = 0; i < 40; ++i) {
      const double at = start(random);
      events.push_back({names[i % 4], at, at + length(random)});
    }
    double sum = 0;
    for (const SplitRow& row : split_time(trace_of(events), 0, 100).rows) {
      EXPECT_GE(row.seconds, 0);
      sum += row.seconds;
    }
    EXPECT_NEAR(sum, 100e-6, 1e-12);
  }
}

TEST(TimeSplit, GapsKnowWhatCameBeforeAndAfter) {
  const RankTrace trace = trace_of({{"a_gemm", 0, 10, 0}, {"b_softmax", 30, 40, 25}});
  const TimeSplit split = split_time(trace, 0, 40);
  ASSERT_EQ(split.gaps.size(), 1U);
  EXPECT_NEAR(split.gaps[0].seconds, 20e-6, 1e-12);
  EXPECT_EQ(trace.names[static_cast<std::size_t>(split.gaps[0].before)], "a_gemm");
  EXPECT_EQ(trace.names[static_cast<std::size_t>(split.gaps[0].after)], "b_softmax");
  EXPECT_TRUE(split.gaps[0].host_late);
}

}  // namespace
}  // namespace stepcast::comparison::time_split_test
