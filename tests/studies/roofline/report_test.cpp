// All figures together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/roofline/report.h"
#include "studies/run/forecast.h"
#include "tests/studies/roofline/roofline_case.h"

namespace stepcast::roofline {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing_roofline::roofline_case;
using testing_roofline::RooflineCase;

Expected<RooflineReport> report_of(const RooflineCase& run) {
  return roofline_report(run.request, run.scenario, run.prediction);
}

TEST(RooflineReport, PutsAllPartsTogether) {
  const RooflineCase run = roofline_case("llama3-70b", {{"gpus", "64"}, {"tp", "8"}});
  const auto report = report_of(run);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->step_time, run.prediction.step.step_time);
  EXPECT_EQ(report->points.size(), run.points.size());
  EXPECT_EQ(report->boundaries.size(), run.points.size());
  EXPECT_EQ(report->fall.step_time, report->step_time);
  EXPECT_EQ(report->fall.levers.size(), 3U);
  EXPECT_EQ(report->fall.levers_missing, "");
  EXPECT_FALSE(report->links.points.empty());
  EXPECT_FALSE(report->provenance.facts.empty());
  EXPECT_EQ(report->loose.size(), 0U);
}

TEST(RooflineReport, CollectsTheForecastsWarnings) {
  const RooflineCase run =
      roofline_case("llama3.1-405b", {{"gpus", "1008"}, {"tp", "8"}, {"pp", "9"}, {"global_batch", "2016"}});
  const auto report = report_of(run);
  ASSERT_TRUE(report);
  EXPECT_THAT(report->warnings, Contains(HasSubstr("does not fit")));
  for (const std::string& warning : run.prediction.warnings) EXPECT_THAT(report->warnings, Contains(warning));
}

TEST(RooflineReport, SaysOnceWhyCollectivesAreFasterThanTheirLink) {
  const RooflineCase run = roofline_case("llama3-70b", {{"gpus", "64"}, {"tp", "8"}, {"tp_overlap", "on"}});
  const auto report = report_of(run);
  ASSERT_TRUE(report);
  int lines = 0;
  for (const std::string& warning : report->warnings) lines += warning.find("beside the product") != std::string::npos;
  EXPECT_EQ(lines, 1);
  EXPECT_THAT(report->warnings, Contains(HasSubstr("more on this link")));
}

TEST(RooflineReport, WarnsOfPointsAboveARoof) {
  RooflineCase run = roofline_case("llama3-8b", {{"gpus", "8"}});
  for (FlopsPerSecond& peak : run.scenario.machine.row.gpu.peak) peak = peak * 0.1;  // the forecast knew the real GPU
  const auto report = report_of(run);
  ASSERT_TRUE(report);
  EXPECT_THAT(report->warnings, Contains(HasSubstr("layer mlp.up: ")));
}

TEST(RooflineReport, OfACutSequenceStillHasItsFigures) {
  const RooflineCase run =
      roofline_case("llama3-8b", {{"gpus", "16"}, {"pp", "4"}, {"seq_splits", "4"}, {"schedule", "seq-1f1b"}});
  const auto report = report_of(run);
  ASSERT_TRUE(report) << to_text(report.error());
  EXPECT_FALSE(report->points.empty());
}

TEST(RooflineReport, OfAMappingHasItsFigures) {
  RooflineCase run = roofline_case("llama3-8b", {{"gpus", "16"}, {"tp", "8"}});
  Request request = testing_roofline::case_request("llama3-8b", {{"gpus", "16"}});
  request.mapping = Request::Value{run.scenario.plan.mapping, "mapping"};
  const auto scenario = complete(request);
  ASSERT_TRUE(scenario) << to_text(scenario.error());
  const auto prediction = run::predict(*scenario);
  ASSERT_TRUE(prediction);
  const auto report = roofline_report(request, *scenario, *prediction);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->step_time, run.prediction.step.step_time);
  EXPECT_FALSE(report->fall.levers.empty() && report->fall.levers_missing.empty());
}

TEST(RooflineReport, WithoutLeversSaysWhy) {
  const RooflineCase run = roofline_case("llama3-8b", {{"gpus", "8"}});
  Request broken = run.request;
  ASSERT_TRUE(broken.say("tp", "3", "--tp"));
  const auto report = roofline_report(broken, run.scenario, run.prediction);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->fall.levers.empty());
  EXPECT_NE(report->fall.levers_missing, "");
}

TEST(RooflineReport, KeepsNamesThatAreMarkup) {
  RooflineCase run = roofline_case("llama3-8b", {{"gpus", "8"}, {"tp", "8"}});
  const std::string hostile = "<script>alert(\"x\")</script> & 'y' -->";
  run.scenario.network.row.name = run.scenario.machine.row.name = hostile;
  for (ProgramBlock& block : run.prediction.program.blocks) {
    block.name = hostile;
    for (KernelWork& work : block.works) work.label = hostile + work.label;
    for (Move& move : block.moves) move.label = hostile + move.label;
  }
  const auto report = report_of(run);
  ASSERT_TRUE(report) << "drawing escapes, figures do not";
  EXPECT_EQ(report->network, hostile);
  EXPECT_THAT(report->points.front().name, HasSubstr(hostile));
  EXPECT_THAT(report->boundaries.front().block, hostile);
}

TEST(RooflineReport, ErrorsOfAMeasuredFilePass) {
  const RooflineCase run = roofline_case("llama3-8b", {{"gpus", "8"}});
  const auto report = roofline_report(run.request, run.scenario, run.prediction, MeasuredFile{"none.csv", {}});
  ASSERT_FALSE(report);
  EXPECT_THAT(to_text(report.error()), HasSubstr("none.csv"));
}

}  // namespace
}  // namespace stepcast::roofline
