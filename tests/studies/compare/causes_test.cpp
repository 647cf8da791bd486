#include "studies/compare/causes.h"

#include <gtest/gtest.h>

#include "tests/studies/compare/hand_trace.h"

namespace stepcast::comparison::causes_test {
namespace {

using hand_trace::HandEvent;
using hand_trace::trace_of;

std::vector<GapCause> causes_between(const RankTrace& expected, double end, const RankTrace& measured,
    double measured_end, const std::vector<RankPace>& ranks = {{"rank 0", 1}}) {
  const TimeSplit a = split_time(expected, 0, end), b = split_time(measured, 0, measured_end);
  return causes_of(gap_between(a, b, {}), a, b, measured.names, expected.names, ranks, 0);
}

TEST(GapCauses, NothingIsBlamedWhereNothingDiffers) {
  const RankTrace trace = trace_of({{"a_gemm", 0, 10}, {"b_softmax", 12, 20}});
  EXPECT_TRUE(causes_between(trace, 20, trace, 20).empty());
}

TEST(GapCauses, LateLaunchesAreTheHosts) {
  const RankTrace expected = trace_of({{"a_gemm", 0, 10}, {"b_softmax", 10, 20}});
  const RankTrace measured = trace_of({{"a_gemm", 0, 10, 0}, {"b_softmax", 30, 40, 28}});
  const auto causes = causes_between(expected, 20, measured, 40);
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].kind, CauseKind::host_gaps);
  EXPECT_NEAR(causes[0].seconds, 20e-6, 1e-12);
}

/// Two gaps of 20 us: the host waits for the GPU before the first, and loads samples during the second.
TEST(GapCauses, WhatKeptTheHostIsNamed) {
  const RankTrace expected = trace_of({{"a_gemm", 0, 10}, {"b_softmax", 10, 20}, {"c_gemm", 20, 30}});
  RankTrace measured = trace_of({{"a_gemm", 0, 10, 0}, {"b_softmax", 30, 40, 28}, {"c_gemm", 60, 70, 58}});
  measured.calls = {{HostCallKind::synchronisation, 2, 11}, {HostCallKind::loader, 41, 57}};
  const auto causes = causes_between(expected, 30, measured, 70);
  ASSERT_EQ(causes.size(), 2U);
  for (const GapCause& cause : causes) {
    EXPECT_EQ(cause.kind, CauseKind::host_gaps);
    EXPECT_NEAR(cause.seconds, 20e-6, 1e-12) << cause.subject;
  }
  EXPECT_NE(causes[0].subject, causes[1].subject);
  EXPECT_EQ(std::min(causes[0].subject, causes[1].subject), "synchronisations");
  EXPECT_EQ(std::max(causes[0].subject, causes[1].subject), "the loader");
}

/// The same collective, as long as before, once beside a product and once after it.
TEST(GapCauses, OverlapThatIsLost) {
  const RankTrace expected = trace_of({{"a_gemm", 0, 20}, {"ncclDevKernel_AllReduce", 5, 20}});
  const RankTrace measured = trace_of({{"a_gemm", 0, 20}, {"ncclDevKernel_AllReduce", 20, 35}});
  const auto causes = causes_between(expected, 20, measured, 35);
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].kind, CauseKind::lost_overlap);
  EXPECT_NEAR(causes[0].seconds, 15e-6, 1e-12);
}

TEST(GapCauses, OneRankOfFourIsSlow) {
  const RankTrace expected = trace_of({{"a_gemm", 0, 100}}), measured = trace_of({{"a_gemm", 0, 120}});
  const std::vector<RankPace> ranks{{"rank 0", 1.2, 1.2, 1.2}, {"rank 1"}, {"rank 2"}};
  const auto causes = causes_between(expected, 100, measured, 120, ranks);
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].kind, CauseKind::slow_rank);
  EXPECT_EQ(causes[0].subject, "rank 0");
  EXPECT_NEAR(causes[0].seconds, 20e-6, 1e-12);
  EXPECT_FALSE(faulty_rank_of({{"rank 0", 1.01, 1.01, 1.01}, {"rank 1"}}));
}

/// Memory-bound kernels do not see the clock of the cores: only the products of rank 0 take longer.
TEST(GapCauses, OneRankHasLowerClocks) {
  const RankTrace expected = trace_of({{"a_gemm", 0, 100}, {"b_softmax", 100, 150}}),
                  measured = trace_of({{"a_gemm", 0, 120}, {"b_softmax", 120, 170}});
  const auto causes = causes_between(
      expected, 150, measured, 170, {{"rank 0", 1, 1.2, 1, 1400}, {"rank 1", 1, 1, 1, 1680}, {"rank 2"}});
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].kind, CauseKind::low_clock);
  EXPECT_EQ(causes[0].subject, "rank 0");
  EXPECT_NEAR(causes[0].seconds, 20e-6, 1e-12);
  EXPECT_NE(causes[0].evidence.find("1400 MHz"), std::string::npos);
  // Where memory-bound kernels are slower, too, it is more than the clock.
  EXPECT_FALSE(faulty_rank_of({{"rank 0", 1.02, 1.2, 1.15}, {"rank 1"}, {"rank 2"}}));
}

}  // namespace
}  // namespace stepcast::comparison::causes_test
