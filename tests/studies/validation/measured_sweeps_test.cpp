// How good the top pick and the tie set are on jobs that people measured with several splits, by forecasts that never
// saw them.
#include "studies/validation/measured_sweeps.h"

#include <cstdio>

#include <gtest/gtest.h>

#include "studies/records/built_in_runs.h"
#include "tests/studies/sweep/many_spaces.h"
#include "tests/trials.h"

namespace stepcast::validation {
namespace {

const std::vector<std::string> published_sweeps = {"VIA-Research/vTrain", "bigscience-workshop"};

const std::vector<stepcast::records::Run>& records() {
  static const auto runs = built_in_runs();
  return *runs;
}

/// Those of the two publications alone: what must not matter, must not matter here either, and fits are quicker.
std::vector<stepcast::records::Run> published_records() {
  std::vector<stepcast::records::Run> chosen;
  for (const stepcast::records::Run& run : records())
    for (const std::string& source : published_sweeps)
      if (run.source.find(source) != std::string::npos) chosen.push_back(run);
  return chosen;
}

/// With sanitizers, which make fits ten times slower, the two publications alone.
std::vector<stepcast::records::Run> tried_records() { return sanitized ? published_records() : records(); }

std::vector<MeasuredSweep> sweeps_of(
    const std::vector<stepcast::records::Run>& of, Doubtful doubtful = Doubtful::left_out) {
  return measured_sweeps(of, records::measured_runs(of), doubtful);
}

const std::vector<MeasuredSweep>& shipped_sweeps() {
  static const auto sweeps = sweeps_of(tried_records());
  return sweeps;
}

void print(const char* what, const SweepFigures& f) {
  std::printf("%s: %zu jobs, mean regret %.2f %%, of the two to measure %.2f %%, best measured is tied in %.0f %%, "
              "tied %.0f %% of the runs\n",
      what, f.jobs, 100 * f.regret, 100 * f.regret_of_two, 100 * f.coverage, 100 * f.tied_share);
}

void expect_goals(const SweepFigures& f) {
  EXPECT_GE(f.jobs, 10u);
  EXPECT_LE(f.regret, 0.025);
  EXPECT_GE(f.coverage, 0.9);
  EXPECT_LE(f.tied_share, 0.6) << "a set of everything says nothing";
  EXPECT_LE(f.regret_of_two, f.regret) << "measuring one more never costs";
}

TEST(MeasuredSweeps, TheTopPickIsNearTheBestAndTheBestIsTied) {
  const auto& sweeps = shipped_sweeps();
  const SweepFigures published = mean_figures(sweeps, published_sweeps);
  print("vTrain and BigScience", published);
  print("all", mean_figures(sweeps));
  expect_goals(published);
  expect_goals(mean_figures(sweeps));
}

TEST(MeasuredSweeps, SoTheyAreWithDoubtfulRecordsCounted) {
  const auto sweeps = sweeps_of(tried_records(), Doubtful::counted);
  const SweepFigures published = mean_figures(sweeps, published_sweeps);
  print("vTrain and BigScience, with doubtful records", published);
  expect_goals(published);
}

TEST(MeasuredSweeps, NothingOfTheOwnNetworkIsKnown) {
  // Other times of one job change its own spread by nothing.
  auto changed = published_records();
  const auto before = sweeps_of(changed);
  const char* network = "GPT-39.1B";
  int step = 0;
  for (stepcast::records::Run& run : changed)
    if (run.model.name == network && run.measured.step_time_s) *run.measured.step_time_s *= 1 + 0.1 * (step++ % 3);
  const auto after = sweeps_of(changed);
  ASSERT_EQ(before.size(), after.size());
  ASSERT_GT(step, 10);
  bool others_moved = false;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].network == network) EXPECT_EQ(before[i].pair_spread, after[i].pair_spread);
    else others_moved = others_moved || before[i].pair_spread != after[i].pair_spread;
  }
  EXPECT_TRUE(others_moved);
}

TEST(MeasuredSweeps, MeansAreOverTheJobsOfTheSources) {
  MeasuredSweep a, b;
  a.source = "one/x", a.runs = 4, a.tied = 1, a.regret = 0.02, a.best_tied = true;
  b.source = "two/y", b.runs = 4, b.tied = 3, b.regret = 0.04;
  const SweepFigures both = mean_figures({a, b}), one = mean_figures({a, b}, {"one"});
  EXPECT_EQ(both.jobs, 2u);
  EXPECT_DOUBLE_EQ(both.regret, 0.03);
  EXPECT_DOUBLE_EQ(both.coverage, 0.5);
  EXPECT_DOUBLE_EQ(both.tied_share, 0.5);
  EXPECT_EQ(one.jobs, 1u);
  EXPECT_DOUBLE_EQ(one.regret, 0.02);
  EXPECT_EQ(mean_figures({a, b}, {"three"}).jobs, 0u);
}

}  // namespace
}  // namespace stepcast::validation
