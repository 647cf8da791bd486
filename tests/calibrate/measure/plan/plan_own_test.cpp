// The user's own shapes in a plan: first, with half of the budget before anybody else.
#include "tests/calibrate/measure/plan/plan_requests.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

TEST(PlanOwn, come_first_and_survive) {
  for (const double seconds : {15.0, 180.0}) {
    PlanRequest request = plan_request("h100-sxm", seconds);
    request.own = own_queries();
    const MeasurePlan plan = made(request);
    std::vector<std::string> own;
    for (const PlannedWork& work : plan.works)
      if (work.own) own.push_back(to_text(work.works.front()));
    EXPECT_THAT(own,
        testing::ElementsAre("gemm bf16 tn 2048x6144x12288", "gemm bf16 nn 2048x12288x6144",
            "gemm bf16 nt 6144x12288x2048", "attention forward bf16 1x2048x12x128 causal", "norm 256x12288 of 2 B"));
  }
}

// 400 own products want 72 s: the heaviest of them get half of a minute, and laws keep enough samples of everything
// else.
TEST(PlanOwn, take_half_at_most_before_others) {
  PlanRequest request = plan_request("h100-sxm", 60);
  for (int i = 0; i < 400; ++i) request.own.emplace_back(GemmQuery{.m = 2048, .n = 1024.0 + 8 * i, .k = 4096});
  const MeasurePlan plan = made(request);
  Seconds own_time;
  std::vector<double> own;
  for (const PlannedWork& work : plan.works) {
    if (!work.own) continue;
    own.push_back(std::get<GemmQuery>(work.works.front().what).n);
    own_time += work.estimate;
  }
  // And of what shares left over, own shapes are the first to have some.
  EXPECT_GT(own_time.value(), 29);
  EXPECT_LT(own_time.value(), 33);
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_EQ(own[i], 1024.0 + 8 * static_cast<double>(i));
  const std::map<std::string, int> counts = counts_of(plan);
  EXPECT_GE(counts.at("membound"), 16);
  EXPECT_GE(counts.at("attention"), 8);
  // The last of what was left out is the heaviest own one that did not fit.
  EXPECT_TRUE(plan.left_out.back().own);
  EXPECT_EQ(
      std::get<GemmQuery>(plan.left_out.back().works.front().what).n, 1024.0 + 8 * static_cast<double>(own.size()));
}

TEST(PlanOwn, that_cannot_be_are_noted) {
  PlanRequest request = plan_request("v100-sxm2-16gb");
  request.own = own_queries();
  request.own.emplace_back(GemmQuery{.m = 131072, .n = 65536, .k = 65536, .precision = Precision::fp16});
  const MeasurePlan plan = made(request);
  EXPECT_THAT(plan.notes, testing::Contains(testing::StartsWith(
                              "own shapes that cannot be measured here, left out: gemm bf16 tn 2048x6144x12288")));
  EXPECT_THAT(plan.notes, testing::Contains(testing::StartsWith("own shapes beyond the memory of 16")));
  EXPECT_THAT(plan.notes, testing::Contains("products and attention are measured in fp16 in place of bf16"));
  const auto own = std::count_if(plan.works.begin(), plan.works.end(), [](const PlannedWork& w) { return w.own; });
  EXPECT_EQ(own, 1);  // the norm
}

}  // namespace
}  // namespace stepcast::calibrate
