// The step is affine in the number of micro-batches: GPT-3 175B in fp8 on H100, tp 4, pp 8, 12 chunks, one sequence per
// micro-batch, as in MLPerf training v3.0 and v3.1. Their runs give slopes of 0.0923 and 0.0845 s (two releases, 9 %
// apart) and an intercept of 0.26 s in v3.1 (mlcommons/training_results_v3.0, v3.1).
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "studies/run/forecast.h"
#include "studies/records/embedded_runs.h"
#include "studies/records/run_scenario.h"

namespace stepcast::studies {
namespace {

Run mlperf_run() {
  for (const EmbeddedFile& file : embedded_runs()) {
    const auto runs = read_runs(std::string(file.text), std::string(file.name));
    for (const Run& run : *runs)
      if (run.id == "mlperf-v3.1-NVIDIA-eos_n96_ngc23.09_nemo-gpt3") return run;
  }
  ADD_FAILURE() << "the record is gone";
  return {};
}

/// The same job with `micro_batches` per data rank on as many GPUs.
StepReport step_with(std::int64_t micro_batches) {
  Run run = mlperf_run();
  run.global_batch = micro_batches * run.parallel.dp;
  auto made = scenario_of(run);
  EXPECT_TRUE(made.has_value()) << to_text(made.error());
  auto prediction = run::predict(made->scenario);
  EXPECT_TRUE(prediction.has_value()) << to_text(prediction.error());
  return std::move(prediction->step);
}

TEST(AffineStep, IsAffineInMicroBatchesWithTheMeasuredSlope) {
  const double few = step_with(8).step_time.value(), many = step_with(128).step_time.value();
  const double slope = (many - few) / 120, intercept = few - 8 * slope;
  for (const std::int64_t m : {16, 24, 64})
    EXPECT_NEAR(step_with(m).step_time.value() / (intercept + static_cast<double>(m) * slope), 1, 0.01) << m;
  for (const double measured : {0.0923, 0.0845}) EXPECT_NEAR(slope / measured, 1, 0.07);
}

TEST(AffineStep, TheInterceptIsMadeOfNamedParts) {
  const StepReport step = step_with(8), twice = step_with(16);
  const double slope = (twice.step_time - step.step_time).value() / 8, intercept = step.step_time.value() - 8 * slope;
  const Phases& p = step.phases;
  const double around =
      (p.gradient_sync + p.clip + p.optimizer + p.parameter_gather + p.host + p.host_to_device + p.data_wait).value();
  EXPECT_GT(p.bubble.value(), 0.04);  // 7/12 of a micro-batch's slope at least
  EXPECT_NEAR((p.bubble.value() + around) / intercept, 1, 0.35)
      << "fill and drain also hold work of the first and last chunks";
}

}  // namespace
}  // namespace stepcast::studies
