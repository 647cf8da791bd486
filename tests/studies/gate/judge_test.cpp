// Findings on runs whose answer is plain, and how many runs more are asked for.
#include <cmath>

#include <gtest/gtest.h>

#include "studies/gate/judge.h"
#include "tests/studies/gate/simulated_runs.h"

namespace stepcast::gate {
namespace {

std::vector<double> around(double shift, std::size_t count = 10, double step = 0.001) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(shift + step * (static_cast<double>(i) - 4.5));
  return values;
}

TEST(GateJudge, PlainCases) {
  const Allowed none{0, 0.0}, tenth{std::log(1.1), std::log(0.9)};
  EXPECT_EQ(judge(around(0), around(0.05), none, {}).finding, Finding::slower);
  EXPECT_EQ(judge(around(0), around(0), none, {}).finding, Finding::equal);
  EXPECT_EQ(judge(around(0), around(-0.05), none, {}).finding, Finding::faster);
  EXPECT_EQ(judge(around(0), around(0.05), tenth, {}).finding, Finding::equal);
  EXPECT_EQ(judge(around(0), around(0.2), tenth, {}).finding, Finding::slower);
  EXPECT_EQ(judge(around(0), around(-0.05), tenth, {}).finding, Finding::equal);
  EXPECT_EQ(judge(around(0), around(-0.05), {0, std::nullopt}, {}).finding, Finding::equal) << "nothing is too fast";
}

TEST(GateJudge, AgainstANumber) {
  EXPECT_EQ(judge({}, around(0.05), {0, 0.0}, {}).finding, Finding::slower);
  EXPECT_EQ(judge({}, around(0), {0, 0.0}, {}).finding, Finding::equal);
  EXPECT_EQ(judge({}, around(-0.05), {0, 0.0}, {}).finding, Finding::faster);
  const Judgement few = judge({}, around(0.05, 6), {0, 0.0}, {});
  EXPECT_EQ(few.finding, Finding::undecided);
  EXPECT_EQ(few.needed.now, 7U) << "1/128 is the first below 1 %";
}

/// Noise of 1 %: 3.97 standard errors in 2.47 %, so 2 x 1.258 x (3.97 / 2.47)^2 = 6.5 runs on each side.
TEST(GateJudge, RunsThatAreNeeded) {
  EXPECT_EQ(runs_needed(0.01, 7, {}).now, 7U);
  EXPECT_EQ(runs_needed(0.01, 10, {}).now, 5U);  // 1 / (1 / 3.25 - 1 / 10) = 4.8
  EXPECT_EQ(runs_needed(0.01, std::nullopt, {}).now, 7U);
  // 2 % of noise want 27 on each side, more than thrice the 5 that are there
  EXPECT_EQ(runs_needed(0.02, 5, {}).now, 27U);
  EXPECT_EQ(runs_needed(0.02, 5, {}).before, 27U);
  EXPECT_EQ(runs_needed(0.02, 30, {}).before, 0U);
  EXPECT_GT(runs_needed(0.02, std::nullopt, {}).now, runs_needed(0.01, std::nullopt, {}).now);
}

TEST(GateJudge, NoRunAndOneRunAreUndecided) {
  const Judgement none = judge(around(0), {}, {0, 0.0}, {});
  EXPECT_EQ(none.finding, Finding::undecided);
  EXPECT_GE(none.needed.now, 3U);
  const Judgement one = judge(around(0), {0.3}, {0, 0.0}, {});
  EXPECT_EQ(one.finding, Finding::undecided) << "one run of eleven may be an outlier";
  EXPECT_GE(one.needed.now, 3U);
}

/// Who follows the advice gets an answer: at 2 % noise, 4 runs a side decide nothing, and what is then asked for does
/// in nine of ten times, whether nothing or 2.5 % has changed.
TEST(GateJudge, TheRunsAskedForDecide) {
  for (const double shift : {0.0, std::log(1.025)}) {
    SimulatedRuns noise(11, 0.02, 0);
    int decided = 0, asked = 0;
    for (int i = 0; i < 120; ++i) {
      std::vector<double> before = noise.runs(4), now = noise.runs(4, shift);
      const Judgement first = judge(before, now, {0, 0.0}, {});
      if (first.finding != Finding::undecided) continue;
      ++asked;
      while (before.size() < first.needed.before) before.push_back(noise.run());
      while (now.size() < first.needed.now) now.push_back(noise.run(shift));
      decided += judge(before, now, {0, 0.0}, {}).finding != Finding::undecided ? 1 : 0;
    }
    EXPECT_GT(asked, 60);
    EXPECT_GT(decided, 0.75 * asked) << shift;
  }
}

/// Two looks have half of each rate.
TEST(GateJudge, LooksShareTheRates) {
  GateRates rates;
  rates.looks = 2;
  EXPECT_EQ(rates.alarm(), 0.005);
  EXPECT_EQ(rates.miss(), 0.025);
  EXPECT_EQ(judge({}, around(0.05, 7), {0, 0.0}, rates).finding, Finding::undecided);  // 1/128 is above 0.5 %
  EXPECT_EQ(judge({}, around(0.05, 8), {0, 0.0}, rates).finding, Finding::slower);
}

TEST(GateJudge, BetweenTheLimitsItGoesOnAsking) {
  const Judgement judged = judge(around(0, 10, 0.006), around(0.012, 10, 0.006), {0, 0.0}, {});
  EXPECT_EQ(judged.finding, Finding::undecided);
  EXPECT_GT(judged.needed.now, 10U);
}

}  // namespace
}  // namespace stepcast::gate
