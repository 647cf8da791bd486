#include "studies/sweep/search/progress.h"

#include <gtest/gtest.h>

#include "tests/studies/sweep/synthetic_results.h"

namespace stepcast::sweep {
namespace {

TEST(SweepProgress, CountsAndTimesAreShort) {
  EXPECT_EQ(short_count(0), "0");
  EXPECT_EQ(short_count(999), "999");
  EXPECT_EQ(short_count(1234), "1.2 k");
  EXPECT_EQ(short_count(999'999), "1.0 M");
  EXPECT_EQ(short_count(12'345'678), "12 M");
  EXPECT_EQ(duration_text(0.444), "0.44 s");
  EXPECT_EQ(duration_text(3.14), "3.1 s");
  EXPECT_EQ(duration_text(42), "42 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(7500), "2 h 5 min");
  EXPECT_EQ(duration_text(3e6), "34 days");
}

// 1,500 of 6,000 in this run's 3 s, 1,500 before: half is done, 500 a second, 6 s left.
TEST(SweepProgress, RateIsThatOfThisRun) {
  SweepResult result;
  result.question = testing_sweep::question(1000);
  result.done = {{0, 3000}};
  SweepWork work;
  work.seconds = 3;
  EXPECT_EQ(progress_line(result, work, 1500), "50.0 %, 500 configurations/s, 6.0 s left");
  EXPECT_EQ(progress_line(result, work, 3000), "50.0 %");
  SweepRow best;
  best.figures[static_cast<std::size_t>(Figure::step_time)] = 20.34;
  result.top = {best};
  EXPECT_EQ(progress_line(result, work, 3000), "50.0 %, best 20.3 s");
}

}  // namespace
}  // namespace stepcast::sweep
