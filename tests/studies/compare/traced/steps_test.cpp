#include "studies/compare/traced/steps.h"

#include <gtest/gtest.h>

#include "tests/studies/compare/hand_trace.h"

namespace stepcast::comparison::steps_test {
namespace {

using hand_trace::HandEvent;
using hand_trace::trace_of;

TEST(FoundSteps, MarksCutByLaunchNotByTime) {
  // The second kernel is launched in step 5 and runs while the host is in step 6.
  RankTrace trace =
      trace_of({{"a_gemm", 10, 20, 1}, {"b_gemm", 110, 130, 90}, {"c_gemm", 140, 150, 120}, {"d_gemm", 2, 3}});
  trace.marks = {{MarkKind::step, 0, 100, 5, {}}, {MarkKind::step, 100, 200, 6, {}}};
  const FoundSteps found = find_steps(trace);
  ASSERT_EQ(found.steps.size(), 2U);
  EXPECT_EQ(found.steps[0].number, 5);
  EXPECT_EQ(found.steps[0].begin, 10);
  EXPECT_EQ(found.steps[0].end, 130);
  EXPECT_EQ(found.steps[0].duration(), 130);  // to where the next begins, at 140
  EXPECT_EQ(found.steps[1].events, 1U);
  EXPECT_EQ(found.outside, 1U);  // what has no launch belongs to what ran before
}

TEST(FoundSteps, OptimizersEndStepsTogetherWithTheirZeroGrad) {
  std::vector<HandEvent> events;
  for (int step = 0; step < 3; ++step)
    for (const double at : {10.0, 40.0, 60.0}) {
      const double now = 100 * step + at;
      events.push_back({at == 60 ? "fill_elementwise" : "a_gemm", now, now + 5, now - 1});
    }
  RankTrace trace = trace_of(events);
  for (int step = 0; step < 3; ++step) {
    trace.marks.push_back({MarkKind::optimizer, 100.0 * step + 35, 100.0 * step + 45, -1, {}});
    trace.marks.push_back({MarkKind::zero_grad, 100.0 * step + 55, 100.0 * step + 65, -1, {}});
  }
  const FoundSteps found = find_steps(trace);
  ASSERT_EQ(found.steps.size(), 3U);
  for (const FoundStep& step : found.steps) EXPECT_EQ(step.events, 3U);
}

/// An engine's pass lies in a range that waits for requests; the second says that it gives words.
TEST(FoundSteps, RangesOfEnginesAreIterations) {
  RankTrace trace = trace_of({{"a_gemm", 20, 30, 15}, {"b_gemm", 40, 50, 35}, {"c_gemm", 5, 6, 2}});
  trace.marks = {{MarkKind::pass, 0, 20, -1, {3, 96, 0}}, {MarkKind::pass, 10, 20, -1, {}},
      {MarkKind::pass, 30, 38, -1, {0, 0, 3}}, {MarkKind::step, 0, 60, 1, {}}};
  const FoundSteps found = find_steps(trace);
  ASSERT_EQ(found.steps.size(), 2U);
  EXPECT_EQ(found.steps[0].rows, (IterationRows{3, 96, 0}));
  EXPECT_EQ(found.steps[1].rows, (IterationRows{0, 0, 3}));
  EXPECT_EQ(found.outside, 1U);  // launched by the outer range alone
}

/// Most of what is multiplied has 96 rows.
TEST(FoundSteps, ProductsSayHowManyRowsTheyHad) {
  RankTrace trace = trace_of({{"a_gemm", 0, 10}, {"b_gemm", 10, 20}, {"c_embedding", 20, 21}});
  trace.shapes = {{96, 4, 8, 1}, {3, 4, 8, 1}};
  trace.events[0].shape = 0, trace.events[1].shape = 1;
  EXPECT_EQ(find_steps(trace).steps[0].product_rows, 96);
}

/// Facts of a step without what ran before the recording, and with it.
TEST(FoundSteps, WhatHasNoLaunchCanBeCountedWhereItStarts) {
  RankTrace trace = trace_of({{"a_gemm", 10, 20}, {"b_gemm", 110, 130, 90}});
  trace.marks = {{MarkKind::step, 0, 100, 5, {}}};
  const FoundSteps found = find_steps(trace);
  EXPECT_EQ(facts_of(trace, found, 0).events, 1U);
  EXPECT_EQ(facts_of(trace, found, 0, WithoutLaunch::by_start).events, 2U);
}

TEST(FoundSteps, OutliersAreNotTaken) {
  std::vector<HandEvent> events;
  RankTrace trace;
  const double starts[] = {0, 500, 600, 701, 800};  // the first takes 500, the others about 100
  for (const double start : starts) events.push_back({"a_gemm", start, start + 90, start});
  trace = trace_of(events);
  for (int i = 0; i < 5; ++i) trace.marks.push_back({MarkKind::step, starts[i], starts[i] + 95, i, {}});
  const FoundSteps found = find_steps(trace);
  EXPECT_TRUE(found.steps[0].outlier);
  EXPECT_FALSE(found.steps[2].outlier);
  EXPECT_NE(found.taken, 0);
}

TEST(FoundSteps, KernelsThatRepeatAreSteps) {
  std::vector<HandEvent> events;
  const char* names[] = {"a_gemm", "b_softmax", "c_gemm", "d_elementwise"};
  for (int i = 0; i < 12; ++i) events.push_back({names[i % 4], 10.0 * i, 10.0 * i + 9});
  EXPECT_EQ(find_steps(trace_of(events)).steps.size(), 3U);
  // One kernel that does not return makes it one recording.
  events.push_back({"an_embedding", 120, 130});
  EXPECT_EQ(find_steps(trace_of(events)).steps.size(), 1U);
}

TEST(FoundSteps, LaunchesOfOneGraphAreSteps) {
  std::vector<HandEvent> events;
  for (int i = 0; i < 60; ++i) events.push_back({i % 20 < 10 ? "a_gemm" : "b_gemm", 10.0 * i, 10.0 * i + 9});
  RankTrace trace = trace_of(events);
  for (std::size_t i = 0; i < trace.events.size(); ++i)
    trace.events[i].correlation = 1 + static_cast<std::int64_t>(i) / 20;
  const FoundSteps found = find_steps(trace);
  EXPECT_EQ(found.how, "launches of one graph");
  EXPECT_EQ(found.steps.size(), 3U);
}

}  // namespace
}  // namespace stepcast::comparison::steps_test
