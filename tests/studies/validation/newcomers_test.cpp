// Runs forecast as a stranger's: what nobody measured is not used, and the interval says so.
#include "studies/validation/newcomers.h"

#include <map>

#include <gtest/gtest.h>

#include "studies/records/built_in_runs.h"
#include "studies/validation/judged_class.h"

namespace stepcast::validation {
namespace {

/// Megatron-LM of 2020 to 2022 on A100: four publications of two programs.
const Validation& old_megatron(std::vector<NewcomerRow>& rows) {
  static Validation validation;
  static std::vector<NewcomerRow> known;
  if (known.empty()) {
    auto records = *built_in_runs();
    std::erase_if(records, [](const records::Run& run) {
      return run.source.find("Korthikanti") == std::string::npos && !run.id.starts_with("narayanan21");
    });
    validation = validate_runs(records);
    known = newcomer_rows(validation, runs_of_cases(validation, records), records);
  }
  rows = known;
  return validation;
}

TEST(Newcomers, AnIntervalIsNoNarrowerThanThatOfARunWhoseSoftwareIsKnown) {
  std::vector<NewcomerRow> rows;
  std::map<std::string, double> known;
  for (const ValidatedCase& one : old_megatron(rows).cases) known[one.id] = one.high_s / one.low_s;
  std::size_t tried = 0;
  for (const NewcomerRow& row : rows)
    for (const NewcomerRun& run : row.runs) {
      if (row.left_out != "stack") continue;
      EXPECT_GE(run.high_s / run.low_s, (1 - 1e-9) * known.at(run.id)) << run.id;
      ++tried;
    }
  EXPECT_GE(tried, 10U);
}

TEST(Newcomers, EveryRunIsForecastFourTimes) {
  std::vector<NewcomerRow> rows;
  std::size_t sound = 0;
  for (const ValidatedCase& one : old_megatron(rows).cases) sound += one.doubt.empty() ? 1 : 0;
  std::map<std::string, std::size_t> runs, all;
  for (const NewcomerRow& row : rows) (row.name == "all" ? all : runs)[row.left_out] += row.error.n;
  for (const char* left_out : {"source", "stack", "gpu", "untold"}) {
    EXPECT_EQ(runs[left_out], sound) << left_out;
    EXPECT_EQ(all[left_out], sound) << left_out;
  }
  for (const NewcomerRow& row : rows) {
    if (row.name != "all" || row.left_out != "gpu") continue;
    EXPECT_GE(row.coverage, 0.75);
    EXPECT_LE(row.error.median, 0.09);
  }
}

TEST(Newcomers, APaperTellsSizesAndNoWays) {
  records::Run run = built_in_runs()->front();
  ASSERT_TRUE(run.software && run.recompute && run.overlap.tp && run.parallel.chunks && run.parallel.sequence_parallel);
  const records::Run told = told_by_a_paper(run);
  EXPECT_FALSE(told.software || told.recompute || told.overlap.tp || told.parallel.chunks || told.parallel.schedule ||
               told.parallel.sequence_parallel || told.parallel.zero_stage);
  EXPECT_EQ(told.parallel.tp, run.parallel.tp);
  EXPECT_EQ(told.micro_batch, run.micro_batch);
  EXPECT_EQ(told.precision, run.precision);
  run.parallel.zero_stage = 3;
  EXPECT_EQ(told_by_a_paper(run).parallel.zero_stage, 3) << "weights in shards are a size of the split";
}

/// What is not told is doubt: no interval is narrower than that of the same run with its ways.
TEST(Newcomers, WhatIsUntoldWidens) {
  std::vector<NewcomerRow> rows;
  old_megatron(rows);
  std::map<std::string, double> width;
  for (const NewcomerRow& row : rows)
    for (const NewcomerRun& run : row.runs)
      if (row.left_out == "stack") width[run.id] = run.high_s / run.low_s;
  std::size_t tried = 0;
  for (const NewcomerRow& row : rows)
    for (const NewcomerRun& run : row.runs) {
      if (row.left_out != "untold") continue;
      EXPECT_GT(run.high_s / run.low_s, width.at(run.id)) << run.id;
      ++tried;
    }
  EXPECT_GE(tried, 10U);
}

TEST(Newcomers, AnotherPublicationOfTheSoftwareStillSpeaks) {
  // Korthikanti et al. give eight runs in a table and two in the abstract: either knows the software by the other.
  std::vector<NewcomerRow> rows;
  old_megatron(rows);
  std::map<std::string, std::map<std::string, double>> errors;
  for (const NewcomerRow& row : rows)
    for (const NewcomerRun& run : row.runs)
      if (run.id.starts_with("korthikanti")) errors[row.left_out][run.id] = run.seconds / run.measured_s - 1;
  ASSERT_EQ(errors["source"].size(), 10U);
  double source = 0, stack = 0;
  for (const auto& [id, error] : errors["source"]) source += std::abs(error), stack += std::abs(errors["stack"][id]);
  EXPECT_LT(source, stack);
}

/// Megatron-LM of 2020 ran on A100 of 40 and of 80 GB: those of one speak for the other, and less surely.
TEST(Newcomers, ANewGpuIsForecastByOthersOfItsArchitecture) {
  std::vector<NewcomerRow> rows;
  std::map<std::string, std::pair<double, double>> known;
  for (const ValidatedCase& one : old_megatron(rows).cases) known[one.id] = {one.predicted_s, one.high_s / one.low_s};
  std::size_t small = 0;
  for (const NewcomerRow& row : rows)
    for (const NewcomerRun& run : row.runs) {
      if (row.left_out != "gpu" || row.name != "dense, ampere") continue;
      EXPECT_NEAR(run.seconds / known.at(run.id).first, 1, 0.15) << run.id;
      EXPECT_GT(run.high_s / run.low_s, known.at(run.id).second) << run.id;
      ++small;
    }
  EXPECT_GE(small, 10U);
}

}  // namespace
}  // namespace stepcast::validation
