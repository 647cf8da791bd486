#include "studies/compare/traced/facts.h"

#include <gtest/gtest.h>

#include "tests/studies/compare/hand_trace.h"

namespace stepcast::comparison::facts_test {
namespace {

// us:  product 0..10, all-reduce 5..25, softmax 20..30, a gap, a copy 40..45.
TEST(TraceFacts, UnionsAndSumsByHand) {
  RankTrace trace = hand_trace::trace_of({{"a_gemm", 0, 10, 0}, {"ncclDevKernel_AllReduce", 5, 25, 1},
      {"b_softmax", 20, 30, 2}, {"who_knows", 40, 45, 35}});
  const FoundSteps steps = find_steps(trace);
  const TraceFacts facts = facts_of(trace, steps, -1);
  EXPECT_DOUBLE_EQ(facts.span, 45e-6);
  EXPECT_DOUBLE_EQ(facts.busy, 35e-6);
  EXPECT_DOUBLE_EQ(facts.idle, 10e-6);
  EXPECT_DOUBLE_EQ(facts.compute, 25e-6);
  EXPECT_DOUBLE_EQ(facts.communication, 20e-6);
  EXPECT_DOUBLE_EQ(facts.exposed, 10e-6);  // 10..20
  EXPECT_DOUBLE_EQ(facts.host_late, 10e-6);
  EXPECT_EQ(facts.sum_of(is_product).calls, 1U);
  ASSERT_EQ(facts.collectives.size(), 1U);
  EXPECT_EQ(facts.collectives[0].kind, "all_reduce");
  EXPECT_DOUBLE_EQ(facts.unplaced_share(), 5.0 / 45);
}

}  // namespace
}  // namespace stepcast::comparison::facts_test
