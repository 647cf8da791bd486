// What published jobs lose with more GPUs, each with its own share of the batch, against what forecasts lose.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/step_tuning.h"
#include "studies/records/built_in_runs.h"
#include "studies/records/step_fitting.h"

namespace stepcast::records::weak_scaling_test {
namespace {

struct Step {
  double measured = 0, forecast = 0;
};

Step step_of(const std::vector<Run>& records, const std::string& id) {
  const auto record = std::ranges::find(records, id, &Run::id);
  EXPECT_NE(record, records.end()) << id;
  if (record == records.end()) return {};
  const auto run = measured_run(*record);
  EXPECT_TRUE(run.has_value()) << id << (run ? "" : to_text(run.error()));
  if (!run) return {};
  const Scenario& s = run->scenario;
  const FoundFit found = find_step_fit(s.profile.row, s.stack.row, s.plan.precision, run->experts());
  return {run->seconds, forecast_steps({*run}, {0}, found.fit ? &*found.fit : nullptr).front()};
}

/// A third of the measured loss, or two points.
TEST(WeakScaling, LosesWhatPublishedSeriesLose) {
  const auto records = built_in_runs();
  ASSERT_TRUE(records.has_value());
  struct Series {
    const char* id;  ///< {}: the number of GPUs
    int first, last;
  };
  for (const Series& series :
      {Series{"internevo-7b-a100-{}gpu-mb8-mn1-ckpt-full", 64, 1024}, {"dgxc2504-gpt3-175b-bf16-{}gpu", 128, 2048},
          {"dgxc2504-llama31-8b-fp8-{}gpu", 8, 128}, {"dgxc2504-llama31-70b-fp8-{}gpu", 64, 2048},
          {"dgxc2504-nemotron4-15b-bf16-{}gpu", 32, 1024}, {"dgxc2411-maxtext-llama2-70b-bf16-{}gpu", 64, 2048},
          {"dgxc2505-llama31-405b-gb200-bf16-{}gpu", 128, 512}}) {
    const Step few = step_of(*records, fmt::format(fmt::runtime(series.id), series.first)),
               many = step_of(*records, fmt::format(fmt::runtime(series.id), series.last));
    const double measured = 1 - few.measured / many.measured, forecast = 1 - few.forecast / many.forecast;
    EXPECT_NEAR(forecast, measured, std::max(0.02, std::abs(measured) / 3)) << series.id;
    EXPECT_GT(forecast, 0) << series.id;
  }
}

}  // namespace
}  // namespace stepcast::records::weak_scaling_test
