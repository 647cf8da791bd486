#include "calibrate/measure/collectives/collective_campaign.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/fit/fit_profile.h"
#include "kernels/bench/work.h"
#include "model/catalog.h"
#include "tests/calibrate/measure/fake_collectives.h"

namespace stepcast::calibrate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CampaignRequest collective_request() {
  CampaignRequest request;
  request.gpu = "h100-sxm";
  request.date = "2026-11-21";
  return request;
}

CollectivePlan planned_for(const CollectiveBench& bench, Seconds budget = Seconds(300)) {
  return plan_collectives(bench, budget, MethodRules{});
}

MeasureResult timed_on(CollectiveBench& bench, const CollectivePlan& plan, const MeasureHooks& hooks = {},
    const CampaignRequest& request = collective_request()) {
  auto result = run_collectives(bench, plan, request, hooks);
  EXPECT_TRUE(result) << to_text(result.error());
  return result ? std::move(*result) : MeasureResult{};
}

const MeasurementContext& context_of_row(const Measurements& measurements, const Measurement& row) {
  return measurements.contexts.at(static_cast<std::size_t>(row.context));
}

TEST(CollectiveCampaign, OneGpuIsANote) {
  FakeCollectivesOptions options;
  options.per_host = 1;
  FakeCollectives bench(options);
  const CollectivePlan plan = planned_for(bench);
  EXPECT_THAT(plan.calls, IsEmpty());
  EXPECT_THAT(plan.notes, ElementsAre("one GPU: no collectives to time"));
  const MeasureResult result = timed_on(bench, plan);
  EXPECT_TRUE(result.finished);
  EXPECT_THAT(result.measurements.notes, ElementsAre("one GPU: no collectives to time"));
}

TEST(CollectiveCampaign, EveryPlannedCallBecomesARow) {
  FakeCollectives bench;
  const CollectivePlan plan = planned_for(bench);
  const MeasureResult result = timed_on(bench, plan);
  EXPECT_TRUE(result.finished) << result.ended_by;
  EXPECT_EQ(result.measurements.rows.size(), plan.calls.size() + 4) << "and four of interference";
  EXPECT_THAT(result.skipped, IsEmpty());
  EXPECT_THAT(bench.opened(), ElementsAre("2 neighbours", "4 neighbours", "8 neighbours"));
}

TEST(CollectiveCampaign, TheClockStaysWithinThePlansEstimate) {
  for (const double seconds : {10.0, 45.0, 100.0}) {
    FakeCollectivesOptions options;
    options.noise = 0.05;
    FakeCollectives bench(options);
    const CollectivePlan plan = planned_for(bench, Seconds(seconds));
    const MeasureResult result = timed_on(bench, plan);
    EXPECT_TRUE(result.finished);
    EXPECT_LE(bench.now(), plan.estimate);
  }
}

TEST(CollectiveCampaign, ARowSaysWhatItIs) {
  FakeCollectives bench;
  const MeasureResult result = timed_on(bench, planned_for(bench));
  const Measurement& row = result.measurements.rows.front();
  const auto& query = std::get<CollectiveQuery>(row.what);
  EXPECT_EQ(query.kind, CollectiveKind::all_reduce);
  EXPECT_EQ(query.ranks, 2);
  EXPECT_EQ(query.bytes, Bytes(8));
  EXPECT_NEAR(row.time.value(), 10e-6, 1e-9);
  EXPECT_GE(row.repeats, 10);
  const MeasurementContext& context = context_of_row(result.measurements, row);
  EXPECT_EQ(context.gpu, "h100-sxm");
  EXPECT_EQ(context.fabric, "nvswitch");
  EXPECT_EQ(context.machine, "node0");
  EXPECT_EQ(context.software, "nccl 2.28.3");
  EXPECT_EQ(context.nccl, "2.28.3");
  EXPECT_EQ(context.launch_mode, "thread per GPU");
  EXPECT_EQ(context.date, "2026-11-21");
}

TEST(CollectiveCampaign, AFabricOf300GbPerSecondAnd10UsComesOutOfTheFit) {
  FakeCollectives bench;
  const MeasureResult result = timed_on(bench, planned_for(bench));
  FitRequest request;
  request.id = "fake";
  request.gpu = *std::find_if(
      built_in().gpus.begin(), built_in().gpus.end(), [](const Gpu& gpu) { return gpu.id == "h100-sxm"; });
  const auto fitted = fit_profile(result.measurements, request);
  ASSERT_TRUE(fitted) << to_text(fitted.error());
  for (const int ranks : {2, 4, 8})
    for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather,
             CollectiveKind::all_to_all, CollectiveKind::send_recv}) {
      const CollectiveCurve* curve = find_curve(fitted->profile, kind, FabricKind::nvswitch, ranks);
      ASSERT_NE(curve, nullptr);
      EXPECT_EQ(curve->ranks, ranks);
      for (double buffer = 16; buffer < 1 << 30; buffer *= 1.7) {
        const Bytes received = received_of({kind, ranks, 1, Bytes(buffer)});
        const double expected = 10e-6 + received.value() / 300e9;
        EXPECT_NEAR(curve_time(*curve, received).value() / expected, 1, 0.02)
            << to_text(kind) << " x" << ranks << " of " << buffer;
      }
    }
}

TEST(CollectiveCampaign, NoiseIsAveragedOut) {
  FakeCollectivesOptions options;
  options.noise = 0.02;
  FakeCollectives bench(options);
  const MeasureResult result = timed_on(bench, planned_for(bench));
  for (const Measurement& row : result.measurements.rows) {
    const auto* query = std::get_if<CollectiveQuery>(&row.what);
    if (query == nullptr || row.repeats == 1) continue;  // but for those of interference
    const double expected = 10e-6 + received_of(*query).value() / 300e9;
    EXPECT_NEAR(row.time.value() / expected, 1, 0.03) << work_name(row.what);
    EXPECT_LE(row.low, row.time);
    EXPECT_GE(row.high, row.time);
  }
}

TEST(CollectiveCampaign, InterferenceComesWithTheSameThingsAlone) {
  FakeCollectives bench;
  const MeasureResult result = timed_on(bench, planned_for(bench));
  std::map<std::string, Seconds> products;
  for (const Measurement& row : result.measurements.rows)
    if (std::holds_alternative<GemmQuery>(row.what))
      products[context_of_row(result.measurements, row).beside] = row.time;
  ASSERT_EQ(products.size(), 2u);
  EXPECT_NEAR(products.at("all_reduce x8 128 MiB") / products.at(""), 1.2, 1e-9);
  const Measurement& collective = result.measurements.rows.back();
  EXPECT_EQ(context_of_row(result.measurements, collective).beside, "gemm bf16 tn 8192x8192x8192");
  EXPECT_EQ(std::get<CollectiveQuery>(collective.what).ranks, 8);
}

TEST(CollectiveCampaign, AFailedCallLeavesOutItsGroupAndNoOther) {
  FakeCollectivesOptions options;
  options.faults = {{FakeCollectiveCall::time, 3}};
  FakeCollectives bench(options);
  const MeasureResult result = timed_on(bench, planned_for(bench));
  EXPECT_TRUE(result.finished);
  ASSERT_EQ(result.skipped.size(), 1u);
  EXPECT_THAT(
      result.skipped[0].why, HasSubstr("unhandled system error (start anew); the rest of 2 neighbours is left out"));
  std::set<std::int64_t> ranks;
  for (const Measurement& row : result.measurements.rows)
    if (const auto* query = std::get_if<CollectiveQuery>(&row.what)) ranks.insert(query->ranks);
  EXPECT_THAT(ranks, ElementsAre(2, 4, 8)) << "one call of the pair was timed before";
}

TEST(CollectiveCampaign, AGroupThatCannotBeOpenedIsSkipped) {
  FakeCollectivesOptions options;
  options.faults = {{FakeCollectiveCall::open, 2}};
  FakeCollectives bench(options);
  const MeasureResult result = timed_on(bench, planned_for(bench));
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.skipped.size(), 1u);
  EXPECT_THAT(bench.opened(), ElementsAre("2 neighbours", "8 neighbours"));
}

TEST(CollectiveCampaign, ALostBenchEndsItAndKeepsWhatThereIs) {
  FakeCollectivesOptions options;
  options.faults = {{FakeCollectiveCall::time, 21, true}};
  FakeCollectives bench(options);
  std::size_t kept = 0;
  MeasureHooks hooks;
  hooks.keep = [&](const Measurements& all) {
    kept = all.rows.size();
    return Expected<void>{};
  };
  const MeasureResult result = timed_on(bench, planned_for(bench), hooks);
  EXPECT_FALSE(result.finished);
  EXPECT_THAT(result.ended_by, HasSubstr("nothing runs any more"));
  EXPECT_EQ(result.measurements.rows.size(), 10u) << "two timings for each";
  EXPECT_EQ(kept, 10u);
}

TEST(CollectiveCampaign, WrongResultsAreNotTimed) {
  FakeCollectivesOptions options;
  options.faults = {{FakeCollectiveCall::check, 2, false, true}};
  FakeCollectives bench(options);
  const CollectivePlan plan = planned_for(bench);
  const MeasureResult result = timed_on(bench, plan);
  ASSERT_EQ(result.skipped.size(), 1u);
  EXPECT_THAT(result.skipped[0].why, HasSubstr("wrong: up to 3 off"));
  EXPECT_EQ(result.measurements.rows.size(), plan.calls.size() + 3);
}

TEST(CollectiveCampaign, CtrlCEndsItBeforeTheNextCall) {
  FakeCollectives bench;
  MeasureHooks hooks;
  int asked = 0;
  hooks.stop = [&] { return ++asked > 5; };
  const MeasureResult result = timed_on(bench, planned_for(bench), hooks);
  EXPECT_FALSE(result.finished);
  EXPECT_EQ(result.ended_by, "interrupted");
  EXPECT_EQ(result.measurements.rows.size(), 5u);
}

TEST(CollectiveCampaign, SlowerThanPlannedEndsWithTheBudget) {
  FakeCollectivesOptions options;
  options.opening = Seconds(20);
  FakeCollectives bench(options);
  const CollectivePlan plan = planned_for(bench, Seconds(30));
  const MeasureResult result = timed_on(bench, plan);
  EXPECT_FALSE(result.finished);
  EXPECT_EQ(result.ended_by, "budget");
  EXPECT_LE(bench.now(), Seconds(42)) << "one opening too many at most";
}

TEST(CollectiveCampaign, GoesOnWhereAnEarlierFileEnded) {
  MeasureHooks hooks;
  int asked = 0;
  hooks.stop = [&] { return ++asked > 50; };
  FakeCollectives before;
  const CollectivePlan plan = planned_for(before);
  CampaignRequest request = collective_request();
  request.earlier = timed_on(before, plan, hooks).measurements;
  request.date = "2026-11-22";
  FakeCollectives bench;
  const MeasureResult result = timed_on(bench, plan, {}, request);
  EXPECT_EQ(result.resumed, 50u);
  EXPECT_EQ(result.measurements.rows.size(), plan.calls.size() + 4);
  EXPECT_EQ(timed_on(bench, plan, {},
                [&] {
                  request.earlier = result.measurements;
                  return request;
                }())
                .resumed,
      plan.calls.size() + 1);
}

TEST(CollectiveCampaign, AnEarlierFileOfAnotherNcclIsRefused) {
  FakeCollectives before;
  const CollectivePlan plan = planned_for(before);
  CampaignRequest request = collective_request();
  request.earlier = timed_on(before, plan).measurements;
  FakeCollectivesOptions options;
  options.settings.nccl = "2.29.0";
  FakeCollectives bench(options);
  const auto result = run_collectives(bench, plan, request, {});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().what, HasSubstr("NCCL 2.28.3, and here is 2.29.0"));
}

TEST(CollectiveCampaign, AFileThatCannotBeWrittenFails) {
  FakeCollectives bench;
  MeasureHooks hooks;
  hooks.keep = [](const Measurements&) -> Expected<void> {
    return fail("out.json", "no space left on device", "another disk");
  };
  const auto result = run_collectives(bench, planned_for(bench), collective_request(), hooks);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().where, "out.json");
  EXPECT_LE(bench.now(), Seconds(10)) << "and at once";
}

TEST(CollectiveCampaign, ProgressCountsAndItsTimeLeftFalls) {
  FakeCollectives bench;
  const CollectivePlan plan = planned_for(bench);
  std::vector<MeasureProgress> seen;
  std::string first;
  MeasureHooks hooks;
  hooks.progress = [&](const MeasureProgress& progress) {
    if (seen.empty()) first = to_text(progress.now->works.front());
    seen.push_back(progress);
  };
  timed_on(bench, plan, hooks);
  ASSERT_EQ(seen.size(), plan.calls.size() + 1);
  EXPECT_EQ(first, "all_reduce x2 8 B");
  EXPECT_EQ(seen.front().done, 0u);
  EXPECT_EQ(seen.back().done, plan.calls.size());
  EXPECT_GT(seen.front().left, seen[seen.size() / 2].left);
  EXPECT_LT(seen.back().left, Seconds(4));
}

/// Two processes with a bench each; `first` and `second` are their hooks.
std::array<MeasureResult, 2> together_timed(const MeasureHooks& first, const MeasureHooks& second,
    const CampaignRequest& of_first, const CampaignRequest& of_second, double skew) {
  const auto meeting = std::make_shared<FakeMeeting>(2);
  std::array<MeasureResult, 2> results;
  std::vector<std::jthread> threads;
  for (int process = 0; process < 2; ++process)
    threads.emplace_back([&, process] {
      FakeCollectivesOptions options;
      options.noise = 0.03;
      options.meeting = meeting;
      options.first = process == 0;
      options.asking = Seconds(process == 0 ? 1e-4 : 1e-4 + skew);  // clocks run apart
      FakeCollectives bench(options);
      const CollectivePlan plan = planned_for(bench, Seconds(40));
      results[static_cast<std::size_t>(process)] =
          timed_on(bench, plan, process == 0 ? first : second, process == 0 ? of_first : of_second);
    });
  threads.clear();
  return results;
}

TEST(CollectiveCampaign, ProcessesTakeTheSameTurnsThoughTheirClocksDiffer) {
  const auto results = together_timed({}, {}, collective_request(), collective_request(), 1);
  EXPECT_TRUE(results[0].finished);
  EXPECT_TRUE(results[1].finished) << "its own clock alone would have ended it";
  EXPECT_EQ(results[0].measurements.rows.size(), results[1].measurements.rows.size());
}

TEST(CollectiveCampaign, CtrlCInOneProcessStopsBothAtTheSamePlace) {
  MeasureHooks second;
  int asked = 0;
  second.stop = [&] { return ++asked > 7; };
  const auto results = together_timed({}, second, collective_request(), collective_request(), 0);
  for (const MeasureResult& result : results) {
    EXPECT_EQ(result.ended_by, "interrupted");
    EXPECT_EQ(result.measurements.rows.size(), 7u);
  }
}

TEST(CollectiveCampaign, OnlyTheFirstProcessNeedsTheEarlierFile) {
  FakeCollectives before;
  CampaignRequest with_file = collective_request();
  with_file.earlier = timed_on(before, planned_for(before, Seconds(40))).measurements;
  const auto results = together_timed({}, {}, with_file, collective_request(), 0);
  for (const MeasureResult& result : results) EXPECT_GT(result.resumed, 100u);
  EXPECT_EQ(results[0].resumed, results[1].resumed);
}

}  // namespace
}  // namespace stepcast::calibrate
