#include "studies/compare/clocks.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/compare/hand_trace.h"

namespace stepcast::comparison::clocks_test {
namespace {

using hand_trace::trace_of;
using testing::HasSubstr;

/// Two products and attention, `cores` times as long, and a memory-bound kernel, `memory` times; microseconds.
Gap gap_of(double cores, double attention, double memory) {
  const auto split = [](double core, double attend, double copies) {
    const double a = 100 * core, b = a + 60 * core, c = b + 40 * attend, end = c + 50 * copies;
    return split_time(
        trace_of({{"a_gemm", 0, a}, {"b_gemm", a, b}, {"flash_fwd", b, c}, {"d_softmax", c, end}}), 0, end);
  };
  return gap_between(split(1, 1, 1), split(cores, attention, memory), {});
}

TEST(Clocks, OneFactorOfAllThatCoresBound) {
  const auto loss = clock_loss_in(gap_of(1.2, 1.2, 1), 0, 0);
  ASSERT_TRUE(loss);
  EXPECT_NEAR(loss->factor, 1.2, 1e-9);
  EXPECT_FALSE(clock_loss_in(gap_of(1.2, 1, 1), 0, 0)) << "attention would be slower, too";
  EXPECT_FALSE(clock_loss_in(gap_of(1.2, 1.2, 1.2), 0, 0)) << "memory has a clock of its own";
  EXPECT_FALSE(clock_loss_in(gap_of(1.02, 1.02, 1), 0, 0)) << "GPUs differ by as much";
}

/// A scan's time is the memory's, here and in the pace of ranks; the optimizer's is neither's.
TEST(Clocks, ScansAreMemoryBound) {
  const auto split = [](double core, double memory) {
    const double a = 100 * core, b = 160 * core, c = 200 * core, d = c + 50 * memory, end = d + 50 * 1.5 * core;
    return split_time(trace_of({{"a_gemm", 0, a}, {"b_gemm", a, b}, {"flash_fwd", b, c},
                          {"selective_scan_fwd_kernel", c, d}, {"fused_adam", d, end}}),
        0, end);
  };
  EXPECT_TRUE(clock_loss_in(gap_between(split(1, 1), split(1.2, 1), {}), 0, 0));
  EXPECT_FALSE(clock_loss_in(gap_between(split(1, 1), split(1.2, 1.2), {}), 0, 0)) << "the scan is slower, too";
  EXPECT_NEAR(pace_of("rank 0", split(1, 1), split(1.2, 1.1)).memory, 1.1, 1e-9);
  const std::map<std::string, BoundBy> bounds{{"matrix products", BoundBy::cores}, {"attention", BoundBy::cores},
      {"scans", BoundBy::memory}, {"optimizer", BoundBy::optimizer}, {"idle", BoundBy::none}};
  const Gap gap = gap_between(split(1, 1), split(1.2, 1), {});
  for (const GapRow& row : gap.rows) {
    ASSERT_TRUE(bounds.contains(row.name)) << row.name;
    EXPECT_EQ(row.bound, bounds.at(row.name)) << row.name;
  }
}

TEST(Clocks, RecordedOnesAreBelieved) {
  const auto loss = clock_loss_in(gap_of(1.2, 1.1, 1.05), 1800, 1500);
  ASSERT_TRUE(loss);
  EXPECT_DOUBLE_EQ(loss->factor, 1.2);
  EXPECT_THAT(loss->evidence, HasSubstr("1500 MHz"));
  EXPECT_FALSE(clock_loss_in(gap_of(1.05, 1.05, 1), 1800, 1500)) << "products do not follow";
  EXPECT_FALSE(clock_loss_in(gap_of(1.2, 1.2, 1), 1800, 1800)) << "the clock is as it was";
}

/// Three steps: products of the last one take 1.1 times as long as those of the first.
TEST(Clocks, DriftFromTheFirstStepToTheLast) {
  const auto drift = [](double last, double memory) {
    RankTrace trace = trace_of(
        {{"a_gemm", 0, 100, 0}, {"b_softmax", 100, 150, 1}, {"a_gemm", 200, 300, 200}, {"b_softmax", 300, 350, 201},
            {"a_gemm", 400, 400 + 100 * last, 400}, {"b_softmax", 550, 550 + 50 * memory, 401}});
    for (int i = 0; i < 3; ++i) trace.marks.push_back({MarkKind::step, 200.0 * i, 200.0 * i + 190, i + 1, {}});
    return clock_drift_text(trace, find_steps(trace));
  };
  EXPECT_THAT(drift(1.1, 1), HasSubstr("clocks fall from step 1 to step 3"));
  EXPECT_THAT(drift(0.9, 1), HasSubstr("clocks rise"));
  EXPECT_EQ(drift(1.01, 1), "");
  EXPECT_EQ(drift(1.1, 1.1), "") << "memory-bound kernels are slower, too";
}

}  // namespace
}  // namespace stepcast::comparison::clocks_test
