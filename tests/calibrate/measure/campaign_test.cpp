// Campaigns on the fake GPU: what they measure and say, and how they keep to their budget.
#include "calibrate/measure/campaign.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/rows/measurement_file.h"
#include "tests/calibrate/measure/campaign_sample.h"

namespace stepcast::calibrate {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const MeasureHooks no_hooks;

MeasureResult campaign_on(FakeGpu& gpu, const CampaignRequest& request, const MeasureHooks& hooks = no_hooks) {
  auto result = run_campaign(gpu, request, hooks);
  EXPECT_TRUE(result.has_value()) << (result ? "" : to_text(result.error()));
  EXPECT_EQ(gpu.allocated(), Bytes(0));
  return result ? *result : MeasureResult{};
}

TEST(MeasureCampaign, measures_a_plan) {
  FakeGpu gpu;
  const CampaignRequest request = small_campaign();
  const MeasureResult result = campaign_on(gpu, request);
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.ended_by, "");
  EXPECT_TRUE(result.skipped.empty());
  EXPECT_EQ(result.resumed, 0u);
  ASSERT_EQ(result.measurements.rows.size(), rows_of_small_campaign);
  for (std::size_t i = 0; i < 5; ++i) {
    const Measurement& row = result.measurements.rows[i];
    EXPECT_NEAR(row.time / gpu.true_time(request.plan.works[i].works[0]), 1, 1e-9) << i;
    EXPECT_EQ(row.repeats, 10);
    EXPECT_FALSE(row.throttled);
  }
  EXPECT_EQ(result.timed.size(), 8u) << "the bursts";
  EXPECT_EQ(result.timed[0].kernel, "fake_cublas");
  EXPECT_EQ(result.timed[0].check_error, 0.001);
  ASSERT_EQ(result.repeats.size(), 1u);
  EXPECT_EQ(result.repeats[0].work, "gemm bf16 tn 4096x4096x4096");
  EXPECT_NEAR(result.repeats[0].again / result.repeats[0].first, 1, 1e-9);
  ASSERT_EQ(result.sustained.size(), 2u);
  EXPECT_EQ(result.sustained[1].work, "gemm bf16 tn 8192x8192x8192 / copy 1024x2048 of 2 B");
}

TEST(MeasureCampaign, rows_say_how_they_were_timed) {
  FakeGpu gpu;
  const Measurements measured = campaign_on(gpu, small_campaign()).measurements;
  const auto context = [&](std::size_t row) {
    return measured.contexts.at(static_cast<std::size_t>(measured.rows[row].context));
  };
  const MeasurementContext gemm = context(0);
  EXPECT_EQ(gemm.gpu, "h100-sxm");
  EXPECT_EQ(gemm.device, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gemm.software, "cublas 13.0.2");
  EXPECT_EQ(gemm.driver, "580.65.06");
  EXPECT_EQ(gemm.cuda, "13.0");
  EXPECT_EQ(gemm.cublas, "13.0.2");
  EXPECT_EQ(gemm.launch_mode, "graph");
  EXPECT_EQ(gemm.date, "2026-11-21");
  EXPECT_EQ(gemm.sm_clock_mhz, 1980);
  EXPECT_EQ(gemm.power_limit_w, 700);
  EXPECT_EQ(gemm.regime, "burst");
  EXPECT_EQ(context(1), gemm) << "one context for all of them";
  EXPECT_THAT(context(4).software, StartsWith("stepcast "));
  EXPECT_EQ(context(5).cache, "warm");
  EXPECT_EQ(context(6).beside, "gemm bf16 tn 8192x8192x8192");
  EXPECT_EQ(context(7).software, "cuda 13.0");
  EXPECT_EQ(context(7).launch_mode, "");
  EXPECT_EQ(context(8).regime, "sustained");
}

TEST(MeasureCampaign, notes_tell_of_the_card) {
  FakeGpuOptions options;
  options.settings.power_limit_w = 500;
  options.settings.mig = true;
  options.settings.ecc = false;
  options.settings.other_processes = {"123 python"};
  options.power = {Seconds(0.2), 0.9, Seconds(0.1), Seconds(0.04), false, false};
  FakeGpu gpu(options);
  CampaignRequest request = small_campaign();
  request.plan.notes = {"fp8 needs compute capability 8.9"};
  const auto notes = campaign_on(gpu, request).measurements.notes;
  EXPECT_THAT(notes, Contains("clocks: default 1980 MHz, at most 1980 MHz, memory 2600 MHz"));
  EXPECT_THAT(notes, Contains("power limit 500 W, below the default of 700 W"));
  EXPECT_THAT(notes, Contains("MIG is on: this is a part of a card"));
  EXPECT_THAT(notes, Contains("ECC is off or not known"));
  EXPECT_THAT(notes, Contains("other processes on the card: 123 python"));
  EXPECT_THAT(notes, Contains("fp8 needs compute capability 8.9"));
  EXPECT_THAT(notes, Contains(AllOf(StartsWith("sustained gemm bf16 tn 8192x8192x8192: 1.57 ms in bursts, "),
                         HasSubstr(" settled, time constant "), HasSubstr("1980 to 18"), HasSubstr(", 690 W"))));
  EXPECT_THAT(notes, Contains(StartsWith("alternating gemm bf16 tn 8192x8192x8192 / copy 1024x2048 of 2 B: ")));
  EXPECT_THAT(notes, Not(Contains(StartsWith("throttled: "))));
}

TEST(MeasureCampaign, the_file_reads_back_and_the_same_seed_gives_the_same_file) {
  const auto file = [](std::uint64_t seed) {
    FakeGpuOptions options;
    options.noise = 0.03;
    options.seed = seed;
    FakeGpu gpu(options);
    return write_measurements(campaign_on(gpu, small_campaign()).measurements);
  };
  const std::string once = file(5);
  EXPECT_EQ(once, file(5));
  EXPECT_NE(once, file(6));
  const auto read = read_measurements(once, "m.json");
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  EXPECT_EQ(write_measurements(*read), once);
  EXPECT_EQ(read->rows.size(), rows_of_small_campaign);
}

TEST(MeasureCampaign, noise_widens_rows_and_moves_them_little) {
  FakeGpuOptions options;
  options.noise = 0.03;
  options.slow_replays = 1;
  FakeGpu gpu(options);
  const CampaignRequest request = small_campaign();
  const Measurements measured = campaign_on(gpu, request).measurements;
  for (std::size_t i = 0; i < 5; ++i) {
    const Measurement& row = measured.rows[i];
    EXPECT_NEAR(row.time / gpu.true_time(request.plan.works[i].works[0]), 1, 0.03) << i;
    EXPECT_LT(row.low, row.time);
    EXPECT_GT(row.high, row.time);
    EXPECT_GT(row.repeats, 10);
  }
}

TEST(MeasureCampaign, a_card_that_stays_slow_finishes_with_marked_rows) {
  FakeGpuOptions options;
  options.power = {Seconds(0.02), 0.6, Seconds(0), Seconds(0.04), true, true};
  FakeGpu gpu(options);
  const MeasureResult result = campaign_on(gpu, small_campaign());
  EXPECT_TRUE(result.finished);
  ASSERT_EQ(result.measurements.rows.size(), rows_of_small_campaign);
  const auto marked = std::count_if(result.measurements.rows.begin(), result.measurements.rows.end(),
      [](const Measurement& row) { return row.throttled; });
  EXPECT_GE(marked, 7) << "all bursts but the first, at least";
  EXPECT_THAT(result.measurements.notes,
      Contains(AllOf(StartsWith("throttled: "), HasSubstr("of 8 bursts: "), HasSubstr("gemm bf16 tn 8192x8192x8192"))));
}

TEST(MeasureCampaign, what_the_gpu_cannot_do_is_skipped_with_its_reason) {
  FakeGpuOptions options;
  options.cannot = [](const Work& work) -> std::string {
    const auto* gemm = std::get_if<GemmQuery>(&work.what);
    return gemm && gemm->m == 4096 ? "no such kernel" : "";
  };
  FakeGpu gpu(options);
  const MeasureResult result = campaign_on(gpu, small_campaign());
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.measurements.rows.size(), rows_of_small_campaign - 1);
  ASSERT_EQ(result.skipped.size(), 2u);
  EXPECT_EQ(result.skipped[0].work, "gemm bf16 tn 4096x4096x4096");
  EXPECT_THAT(result.skipped[0].why, HasSubstr("no such kernel"));
  EXPECT_THAT(result.skipped[1].why, HasSubstr("not measured before")) << "its repeat";
}

TEST(MeasureCampaign, wrong_numbers_make_no_row) {
  FakeGpuOptions options;
  options.faults = {{FakeCall::check, 2, FakeFault::wrong}};
  FakeGpu gpu(options);
  const MeasureResult result = campaign_on(gpu, small_campaign());
  EXPECT_EQ(result.measurements.rows.size(), rows_of_small_campaign - 1);
  ASSERT_EQ(result.skipped.size(), 1u);
  EXPECT_EQ(result.skipped[0].work, "gemm bf16 tn 2048x2048x2048");
  EXPECT_THAT(result.skipped[0].why, HasSubstr("wrong numbers"));
}

TEST(MeasureCampaign, stays_within_its_budget_on_a_machine_three_times_slower) {
  for (const double budget : {1.0, 2.0, 4.0}) {
    FakeGpuOptions options;
    // Each work takes three times what was planned: 0.2 s of preparing, and replays.
    options.preparing = Seconds(0.19);
    options.slower = 3;
    FakeGpu gpu(options);
    CampaignRequest request = small_campaign();
    request.plan.budget = Seconds(budget);
    const MeasureResult result = campaign_on(gpu, request);
    EXPECT_LT(gpu.now().value(), budget + 0.6) << "a work's slack";
    EXPECT_FALSE(result.finished);
    EXPECT_EQ(result.ended_by, "budget");
    EXPECT_GE(result.measurements.rows.size(), 1u);
    ASSERT_FALSE(result.skipped.empty());
    EXPECT_EQ(result.skipped.front().why, "budget");
    const std::size_t alternating_and_repeat = 2;
    EXPECT_LE(result.measurements.rows.size() + result.skipped.size(), rows_of_small_campaign + alternating_and_repeat);
  }
}

/// What estimates were too cautious for: the most telling of what was left out, as long as time is left.
TEST(MeasureCampaign, what_was_left_out_is_measured_while_there_is_time) {
  CampaignRequest request = small_campaign();
  for (const double size : {1536, 3072, 6144})
    request.plan.left_out.push_back(planned_for_test(GemmQuery{size, size, size, 1}));
  FakeGpu gpu;
  const MeasureResult all = campaign_on(gpu, request);
  EXPECT_TRUE(all.finished);
  EXPECT_EQ(all.measurements.rows.size(), rows_of_small_campaign + 3);
  EXPECT_EQ(std::get<GemmQuery>(all.measurements.rows[rows_of_small_campaign].what).m, 6144) << "the last is first";
  EXPECT_TRUE(all.skipped.empty());

  for (double size = 1024; size < 1124; ++size)
    request.plan.left_out.push_back(planned_for_test(GemmQuery{size, 4096, 4096, 1}));
  request.plan.budget = Seconds(4);
  FakeGpu busy;
  const MeasureResult some = campaign_on(busy, request);
  EXPECT_LT(busy.now().value(), 4.2);
  EXPECT_GT(some.measurements.rows.size(), rows_of_small_campaign + 3);
  EXPECT_LT(some.measurements.rows.size(), rows_of_small_campaign + 103);
  EXPECT_TRUE(some.skipped.empty()) << "nothing of the plan is missing";
}

TEST(MeasureCampaign, duplicates_are_measured_once) {
  FakeGpu gpu;
  CampaignRequest request = small_campaign();
  request.plan.works.push_back(request.plan.works.front());
  const MeasureResult result = campaign_on(gpu, request);
  EXPECT_EQ(result.measurements.rows.size(), rows_of_small_campaign);
  EXPECT_EQ(result.resumed, 0u);
}

TEST(MeasureCampaign, progress_counts_and_its_time_left_falls) {
  FakeGpu gpu;
  std::vector<MeasureProgress> told;
  MeasureHooks hooks;
  hooks.progress = [&](const MeasureProgress& progress) { told.push_back(progress); };
  const CampaignRequest request = small_campaign();
  campaign_on(gpu, request, hooks);
  ASSERT_EQ(told.size(), request.plan.works.size());
  EXPECT_NEAR(told.front().left / request.plan.estimate, 1, 1e-9) << "nothing is known yet but the plan";
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i].now, &request.plan.works[i]);
    EXPECT_EQ(told[i].done, i);
    EXPECT_EQ(told[i].all, told.size());
    if (i > 0) {
      EXPECT_GT(told[i].elapsed, told[i - 1].elapsed);
      EXPECT_LT(told[i].left, told[i - 1].left);
    }
  }
}

TEST(MeasureCampaign, keeps_every_five_seconds_and_at_the_end) {
  FakeGpuOptions options;
  options.preparing = Seconds(2);
  FakeGpu gpu(options);
  CampaignRequest request = small_campaign();
  request.plan.budget = Seconds(100);
  std::vector<std::pair<double, std::size_t>> kept;
  MeasureHooks hooks;
  hooks.keep = [&](const Measurements& measured) -> Expected<void> {
    kept.emplace_back(gpu.now().value(), measured.rows.size());
    return {};
  };
  campaign_on(gpu, request, hooks);
  // Eleven works of a bit more than 2 s, one of them 4 s: every third one, and the end.
  ASSERT_GE(kept.size(), 4u);
  for (std::size_t i = 1; i + 1 < kept.size(); ++i) EXPECT_GE(kept[i].first - kept[i - 1].first, 5);
  EXPECT_EQ(kept.front().second, 3u);
  EXPECT_EQ(kept.back().second, rows_of_small_campaign);
}

TEST(MeasureCampaign, a_file_that_cannot_be_written_ends_it) {
  FakeGpu gpu;
  MeasureHooks hooks;
  hooks.keep = [](const Measurements&) -> Expected<void> {
    return fail("m.json", "no space left on device", "another disk");
  };
  const auto result = run_campaign(gpu, small_campaign(), hooks);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().where, "m.json");
}

}  // namespace
}  // namespace stepcast::calibrate
