#include "calibrate/import/logs/steady_step.h"

#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

TrainingLog log_of(const std::vector<double>& seconds) {
  TrainingLog log;
  log.where = "job.log";
  for (const double time : seconds) {
    LoggedStep step;
    step.line = log.steps.size() + 1;
    step.seconds = Seconds(time);
    log.steps.push_back(step);
  }
  return log;
}

TEST(SteadyStep, TheFirstLineIsLeftOut) {
  const auto steady = steady_step(log_of({9, 5, 5.2, 4.8}));
  ASSERT_TRUE(steady);
  EXPECT_DOUBLE_EQ(steady->median.value(), 5);
  EXPECT_EQ(steady->used, 3);
  EXPECT_EQ(steady->note, "median of 3 lines; left out: 1 first");
}

TEST(SteadyStep, WarmUpEndsWhereTimesSettle) {
  const auto steady = steady_step(log_of({20, 9, 7, 6, 5, 5, 5, 5, 5, 5}));
  ASSERT_TRUE(steady);
  EXPECT_EQ(steady->used, 6);
  EXPECT_EQ(steady->note, "median of 6 lines; left out: 1 first, 3 of the warm-up");
  // A run that gets slower has no warm-up: its later half rules, and nothing that is faster is left out.
  EXPECT_EQ(steady_step(log_of({4, 4, 4, 5, 5, 5}))->used, 5);
}

TEST(SteadyStep, EvaluationInBetween) {
  const auto steady = steady_step(log_of({5, 5, 5, 12, 5, 5, 30, 5, 5}));
  ASSERT_TRUE(steady);
  EXPECT_DOUBLE_EQ(steady->median.value(), 5);
  EXPECT_DOUBLE_EQ(steady->p90.value(), 5);
  EXPECT_EQ(steady->note, "median of 6 lines; left out: 1 first, 2 interrupted");
}

TEST(SteadyStep, PercentilesBetweenRanks) {
  const auto steady = steady_step(log_of({9, 1.00, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.08, 1.09, 1.10}));
  ASSERT_TRUE(steady);
  EXPECT_NEAR(steady->p10.value(), 1.01, 1e-12);
  EXPECT_NEAR(steady->p90.value(), 1.09, 1e-12);
}

TEST(SteadyStep, OneLineIsAllThereIs) {
  const auto steady = steady_step(log_of({7}));
  ASSERT_TRUE(steady);
  EXPECT_EQ(steady->used, 1);
  EXPECT_EQ(steady->note, "median of 1 line, which may hold the warm-up");
  EXPECT_FALSE(steady_step(TrainingLog{}));
}

TEST(SteadyStep, ABatchThatRampsUp) {
  TrainingLog log = log_of({9, 2, 2, 4, 4, 4});
  for (std::size_t i = 0; i < log.steps.size(); ++i) log.steps[i].global_batch = i < 3 ? 64 : 128;
  const auto steady = steady_step(log);
  ASSERT_TRUE(steady);
  EXPECT_DOUBLE_EQ(steady->median.value(), 4);
  EXPECT_EQ(steady->left_out, 4);
}

TEST(SteadyStep, RatesBecomeTimes) {
  TrainingLog log = log_of({0, 0, 2});
  log.steps[0].tokens_per_s_per_gpu = 4096;
  log.steps[1].samples_per_s = 32;
  EXPECT_FALSE(steady_step(log));
  ASSERT_TRUE(time_steps(log, 8192, 64));
  for (const LoggedStep& step : log.steps) EXPECT_DOUBLE_EQ(step.seconds.value(), 2);
  TrainingLog unknown = log_of({0});
  unknown.steps[0].tokens_per_s_per_gpu = 4096;
  EXPECT_FALSE(time_steps(unknown, 0, 64));
}

}  // namespace
}  // namespace stepcast::calibrate
