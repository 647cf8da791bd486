// Choices of machines that a reader redoes by hand: hours and costs in round numbers.
#include "studies/fleet/choose.h"

#include <gtest/gtest.h>

namespace stepcast::fleet {
namespace {

constexpr double hour = 3600;

// Machine 0 at 2 an hour and GPU, machine 1 at 1: 8 x 100 h x 2 = 1,600; 16 x 55 h x 2 = 1,760; 8 x 240 h x 1 = 1,920;
// 16 x 130 h x 1 = 2,080. The second machine is never on the front: dearer and later.
FleetJob one_job() {
  return {"one", {},
      {{0, 8, Seconds(100 * hour), 1600}, {0, 16, Seconds(55 * hour), 1760}, {1, 8, Seconds(240 * hour), 1920},
          {1, 16, Seconds(130 * hour), 2080}}};
}

TEST(FleetChoice, FrontOfOneJob) {
  const auto front = cost_over_time({one_job()}, {16, 16});
  ASSERT_EQ(front.size(), 2U);
  EXPECT_DOUBLE_EQ(front[0].time.value(), 55 * hour);
  EXPECT_DOUBLE_EQ(front[0].cost, 1760);
  EXPECT_DOUBLE_EQ(front[1].cost, 1600);
}

TEST(FleetChoice, TheCheapestInTime) {
  FleetJob job = one_job();
  job.deadline = Seconds(60 * hour);
  EXPECT_EQ(cheapest({job}, {16, 16})->option, std::vector<int>{1});
  job.deadline = Seconds(200 * hour);
  EXPECT_EQ(cheapest({job}, {16, 16})->option, std::vector<int>{0});
  job.deadline = Seconds(50 * hour);
  EXPECT_FALSE(cheapest({job}, {16, 16}));
  job.deadline = Seconds(60 * hour);
  EXPECT_FALSE(cheapest({job}, {8, 16}));  // 16 of the first machine are not to be had
}

// Two such jobs on 16 GPUs of each machine: both on 8 of the first, 3,200 after 100 h; or one on all 16 of it (1,760,
// 55 h) and the other on the second (8: 1,920, 240 h; 16: 2,080, 130 h), which is both dearer and later.
TEST(FleetChoice, JobsShareMachines) {
  const auto front = cost_over_time({one_job(), one_job()}, {16, 16});
  ASSERT_EQ(front.size(), 1U);
  EXPECT_EQ(front[0].option, (std::vector<int>{0, 0}));
  EXPECT_DOUBLE_EQ(front[0].cost, 3200);
  EXPECT_DOUBLE_EQ(front[0].time.value(), 100 * hour);
  FleetJob urgent = one_job();
  urgent.deadline = Seconds(60 * hour);
  const auto choice = cheapest({urgent, one_job()}, {16, 16});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->option, (std::vector<int>{1, 2}));
  EXPECT_DOUBLE_EQ(choice->cost, 1760 + 1920);
  EXPECT_FALSE(cheapest({one_job(), one_job(), one_job()}, {8, 8}));
}

}  // namespace
}  // namespace stepcast::fleet
