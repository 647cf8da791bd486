// What residuals of measured steps say of the order of two forecasts.
#include "calibrate/fit/pair_spread.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

/// A job's residuals, each of its own split.
void add_job(const std::string& job, const std::vector<double>& ratios, std::vector<JobResidual>& out) {
  for (std::size_t i = 0; i < ratios.size(); ++i) out.push_back({job, "split " + std::to_string(i), ratios[i]});
}

TEST(PairSpread, WhatAJobsRunsShareDoesNotCount) {
  std::vector<JobResidual> residuals;
  add_job("a", {0.30, 0.31}, residuals);
  add_job("b", {-0.20, -0.19}, residuals);
  const PairSpread pairs = pairs_seen(residuals);
  EXPECT_NEAR(pairs.spread, 0.01, 1e-12);
  EXPECT_EQ(pairs.pairs, 2);
  EXPECT_EQ(pairs.jobs, 2);
}

TEST(PairSpread, FourInFivePairsLieBelow) {
  std::vector<JobResidual> residuals;
  for (int i = 1; i <= 10; ++i) add_job("job " + std::to_string(i), {0, 0.01 * i}, residuals);
  EXPECT_NEAR(pairs_seen(residuals).spread, 0.08, 1e-12);
}

TEST(PairSpread, RunsCountAlikeHoweverManyPairsTheyMake) {
  // Ten runs of one job make 45 pairs that differ by nothing and weigh 2/10 each: 9. Three jobs of two runs weigh 1
  // each: 3 of 12.
  std::vector<JobResidual> residuals;
  add_job("large", std::vector<double>(10, 0.0), residuals);
  for (const char* name : {"x", "y", "z"}) add_job(name, {0, 0.05}, residuals);
  EXPECT_EQ(pairs_seen(residuals).spread, 0.05) << "pairs alike would say 0: 45 of 48";
}

TEST(PairSpread, RepetitionsOtherJobsAndRunsOfNoJobAreNoPairs) {
  const std::vector<JobResidual> residuals = {
      {"a", "tp 2", 0}, {"a", "tp 2", 0.1}, {"b", "tp 4", 0.2}, {"", "tp 1", 0.3}, {"", "tp 8", 0.4}};
  EXPECT_EQ(pairs_seen(residuals).pairs, 0);
  EXPECT_EQ(pairs_seen(residuals).jobs, 0);
  EXPECT_EQ(fit_pair_spread(residuals, 0.05).spread, 0.05);
}

TEST(PairSpread, FewJobsMoveWhatIsBelievedLittle) {
  std::vector<JobResidual> residuals;
  add_job("1", {0, 0.02}, residuals);
  EXPECT_NEAR(fit_pair_spread(residuals, 0.06).spread, std::sqrt((0.0004 + 3 * 0.0036) / 4), 1e-12);
  add_job("2", {0, 0.02}, residuals);
  add_job("3", {0, 0.02}, residuals);
  EXPECT_NEAR(fit_pair_spread(residuals, 0.06).spread, std::sqrt((0.0004 + 0.0036) / 2), 1e-12)
      << "three jobs weigh as much as belief";
}

}  // namespace
}  // namespace stepcast::calibrate
