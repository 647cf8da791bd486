// Campaigns that end early: by any failing call, by Ctrl-C at any place. What was measured is kept, and a second
// campaign completes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/rows/measurement_file.h"
#include "tests/calibrate/measure/campaign_sample.h"

namespace stepcast::calibrate {
namespace {

using testing::HasSubstr;

/// What a campaign left in its file.
struct KeptFile {
  Measurements last;
  int times = 0;
  MeasureHooks hooks() {
    MeasureHooks hooks;
    hooks.keep = [this](const Measurements& measured) -> Expected<void> {
      last = measured;
      ++times;
      return {};
    };
    return hooks;
  }
};

MeasureResult uninterrupted_campaign() {
  FakeGpu gpu;
  return run_campaign(gpu, small_campaign(), {}).value();
}

struct FailingCall {
  FakeCall call;
  const char* name;
};
constexpr FailingCall failing_calls[] = {{FakeCall::prepare, "prepare"}, {FakeCall::allocate, "allocate"},
    {FakeCall::check, "check"}, {FakeCall::record, "record"}, {FakeCall::replay, "replay"}, {FakeCall::state, "state"},
    {FakeCall::free_memory, "free_memory"}};

/// The first calls of a kind one by one, then ever fewer of them: works repeat themselves.
int next_nth(int nth) { return nth < 12 ? nth + 1 : nth + nth / 3; }

class CampaignFailure : public testing::TestWithParam<FailingCall> {};

TEST_P(CampaignFailure, costs_one_work_where_the_gpu_survives) {
  FakeGpu counted;
  ASSERT_TRUE(run_campaign(counted, small_campaign(), {}).has_value());
  for (int nth = 1; nth <= counted.calls(GetParam().call); nth = next_nth(nth)) {
    FakeGpuOptions options;
    options.clock_limit = Seconds(60);
    options.faults = {{GetParam().call, nth}};
    FakeGpu gpu(options);
    KeptFile file;
    const auto result = run_campaign(gpu, small_campaign(), file.hooks());
    ASSERT_TRUE(result.has_value()) << nth;
    EXPECT_TRUE(result->finished) << nth;
    // One work, and its repeat where it was the one that is measured again.
    EXPECT_GE(result->measurements.rows.size() + 1, rows_of_small_campaign) << nth;
    if (GetParam().call == FakeCall::state) {
      EXPECT_TRUE(result->skipped.empty()) << nth;
    } else {
      EXPECT_THAT(result->skipped.size(), testing::AllOf(testing::Ge(1u), testing::Le(2u))) << nth;
    }
    EXPECT_EQ(write_measurements(file.last), write_measurements(result->measurements));
    EXPECT_EQ(gpu.allocated(), Bytes(0));
  }
}

TEST_P(CampaignFailure, ends_it_where_the_gpu_is_lost_and_another_one_completes_the_rows) {
  const auto whole = row_keys(uninterrupted_campaign().measurements);
  FakeGpu counted;
  ASSERT_TRUE(run_campaign(counted, small_campaign(), {}).has_value());
  std::size_t least = 0;
  for (int nth = 1; nth <= counted.calls(GetParam().call); nth = next_nth(nth)) {
    FakeGpuOptions options;
    options.clock_limit = Seconds(60);
    options.faults = {{GetParam().call, nth, FakeFault::loses_gpu}};
    FakeGpu gpu(options);
    KeptFile file;
    const auto result = run_campaign(gpu, small_campaign(), file.hooks());
    ASSERT_TRUE(result.has_value()) << nth;
    EXPECT_FALSE(result->finished) << nth;
    EXPECT_THAT(result->ended_by, HasSubstr("the GPU was lost")) << nth;
    EXPECT_EQ(row_keys(file.last), row_keys(result->measurements));
    EXPECT_GE(file.last.rows.size(), least) << "later failures leave no fewer rows";
    least = file.last.rows.size();
    EXPECT_EQ(gpu.calls(FakeCall::usable), 1) << "nothing is tried on a lost GPU";

    FakeGpu next;
    CampaignRequest request = small_campaign();
    request.earlier = file.last;
    const auto rest = run_campaign(next, request, {});
    ASSERT_TRUE(rest.has_value());
    EXPECT_TRUE(rest->finished);
    EXPECT_EQ(row_keys(rest->measurements), whole) << nth;
  }
}

TEST_P(CampaignFailure, of_every_call_from_one_on_never_hangs) {
  for (const int nth : {1, 2, 5, 9}) {
    FakeGpuOptions options;
    options.clock_limit = Seconds(60);
    options.faults = {{GetParam().call, nth, FakeFault::fails_always}};
    FakeGpu gpu(options);
    const auto result = run_campaign(gpu, small_campaign(), {});
    ASSERT_TRUE(result.has_value());
    EXPECT_TRUE(result->finished) << "the GPU can be used, so the plan is gone through";
  }
}

INSTANTIATE_TEST_SUITE_P(OfEachCall, CampaignFailure, testing::ValuesIn(failing_calls),
    [](const auto& info) { return std::string(info.param.name); });

TEST(CampaignResume, a_gpu_that_says_it_is_lost_is_believed) {
  FakeGpuOptions options;
  // The first two products are measured; then preparing fails, and so does the question whether anything still runs.
  options.faults = {{FakeCall::prepare, 3}, {FakeCall::usable, 1}};
  FakeGpu gpu(options);
  const auto result = run_campaign(gpu, small_campaign(), {});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->measurements.rows.size(), 2u);
  EXPECT_THAT(result->ended_by, HasSubstr("the GPU was lost"));
  ASSERT_EQ(result->skipped.size(), 1u) << "and what it was doing";
  EXPECT_EQ(result->skipped[0].work, "gemm bf16 tn 4096x4096x4096");
}

TEST(CampaignResume, interrupted_at_any_call_and_resumed_gives_the_same_rows) {
  FakeGpu counted;
  const auto whole = row_keys(run_campaign(counted, small_campaign(), {}).value().measurements);
  for (int at = 0; at < counted.calls(); at += 1 + at / 20) {
    FakeGpu gpu;
    KeptFile file;
    MeasureHooks hooks = file.hooks();
    hooks.stop = [&] { return gpu.calls() >= at; };
    const auto first = run_campaign(gpu, small_campaign(), hooks);
    ASSERT_TRUE(first.has_value()) << at;
    if (!first->finished) {
      EXPECT_EQ(first->ended_by, "interrupted") << at;
      EXPECT_LE(gpu.calls(), at + 12) << "it ends soon";
    }
    FakeGpu next;
    CampaignRequest request = small_campaign();
    // Through the file, as the command does it.
    request.earlier = read_measurements(write_measurements(file.last), "m.json").value();
    request.date = "2026-11-22";
    const auto second = run_campaign(next, request, {});
    ASSERT_TRUE(second.has_value()) << to_text(second.error());
    EXPECT_TRUE(second->finished);
    EXPECT_EQ(row_keys(second->measurements), whole) << at;
    EXPECT_GE(second->resumed, file.last.rows.size());
  }
}

TEST(CampaignResume, a_whole_file_leaves_only_the_repeat_to_do) {
  const MeasureResult whole = uninterrupted_campaign();
  FakeGpu gpu;
  CampaignRequest request = small_campaign();
  request.earlier = whole.measurements;
  const auto again = run_campaign(gpu, request, {});
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->resumed, 10u) << "nine rows and the layer";
  EXPECT_EQ(gpu.prepared(), std::vector<std::string>{"gemm bf16 tn 4096x4096x4096"});
  EXPECT_EQ(write_measurements(again->measurements), write_measurements(whole.measurements)) << "and notes once";
}

struct OtherSetup {
  const char* before;
  const char* now;
  void (*change)(FakeGpuOptions&, CampaignRequest&);
};
const OtherSetup other_setups[] = {
    {"h100-sxm", "h200-sxm", [](FakeGpuOptions&, CampaignRequest& r) { r.gpu = "h200-sxm"; }},
    {"NVIDIA H100 80GB HBM3", "NVIDIA H100 NVL",
        [](FakeGpuOptions& o, CampaignRequest&) { o.device.name = "NVIDIA H100 NVL"; }},
    {"580.65.06", "570.10", [](FakeGpuOptions& o, CampaignRequest&) { o.settings.driver = "570.10"; }},
    {"13.0", "12.8", [](FakeGpuOptions& o, CampaignRequest&) { o.settings.cuda = "12.8"; }},
    {"13.0.2", "12.9.1", [](FakeGpuOptions& o, CampaignRequest&) { o.settings.cublas = "12.9.1"; }},
    {"700 W", "500 W", [](FakeGpuOptions& o, CampaignRequest&) { o.settings.power_limit_w = 500; }},
};

TEST(CampaignResume, files_of_another_setup_are_refused_naming_both) {
  for (const OtherSetup& other : other_setups) {
    FakeGpuOptions options;
    CampaignRequest request = small_campaign();
    request.earlier = uninterrupted_campaign().measurements;
    other.change(options, request);
    FakeGpu gpu(options);
    const auto result = run_campaign(gpu, request, {});
    ASSERT_FALSE(result.has_value()) << other.now;
    EXPECT_THAT(result.error().what, testing::AllOf(HasSubstr(other.before), HasSubstr(other.now)));
    EXPECT_EQ(gpu.calls(), 0) << "before anything ran";
  }
}

TEST(CampaignResume, files_of_other_programs_and_versions_are_refused) {
  CampaignRequest request = small_campaign();
  request.earlier = uninterrupted_campaign().measurements;
  for (MeasurementContext& context : request.earlier.contexts)
    if (context.software.rfind("stepcast", 0) == 0) context.software = "stepcast 0.0.1";
  FakeGpu gpu;
  EXPECT_THAT(run_campaign(gpu, request, {}).error().what, HasSubstr("stepcast 0.0.1"));
  for (MeasurementContext& context : request.earlier.contexts) context.source = "nccl-tests";
  EXPECT_THAT(run_campaign(gpu, request, {}).error().what, HasSubstr("'nccl-tests'"));
}

}  // namespace
}  // namespace stepcast::calibrate
