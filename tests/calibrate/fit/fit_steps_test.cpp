// Step parameters from steps that were made with known ones.
#include "calibrate/fit/fit_steps.h"

#include <cmath>

#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

/// A step of `products` seconds of products, `moves` of collectives and `kernels` kernels.
struct Made {
  double products, moves, kernels;
};

double step_of(const Made& made, std::span<const StepValue> values) {
  double products = 1, moves = 1, gap = 0;
  for (const StepValue& value : values) {
    if (value.parameter == StepParameter::products) products = value.value;
    if (value.parameter == StepParameter::activation_moves) moves = value.value;
    if (value.parameter == StepParameter::kernel_gap) gap = value.value;
  }
  return made.products * products + made.moves * moves + made.kernels * gap;
}

const std::vector<StepValue> truth = {
    {StepParameter::products, 1.2}, {StepParameter::activation_moves, 0.6}, {StepParameter::kernel_gap, 30e-6}};
const std::vector<StepValue> neutral = {
    {StepParameter::products, 1}, {StepParameter::activation_moves, 1}, {StepParameter::kernel_gap, 10e-6}};

/// 24 steps of four groups, whose shares of products, moves and kernels differ.
std::vector<Made> made_steps() {
  std::vector<Made> steps;
  for (int i = 0; i < 24; ++i) steps.push_back({1.0 + 0.3 * (i % 5), 0.1 + 0.2 * (i % 7), 2000.0 + 3000 * (i % 3)});
  return steps;
}

struct Trial {
  std::vector<Made> made = made_steps();
  std::vector<StepSample> samples;
  Trial() {
    for (std::size_t i = 0; i < made.size(); ++i)
      samples.push_back({step_of(made[i], truth), "group " + std::to_string(i % 4), true});
  }
  [[nodiscard]] StepForecasts forecasts() const {
    return [this](std::span<const std::size_t> which, std::span<const StepValue> values, std::span<double> seconds) {
      for (std::size_t i = 0; i < which.size(); ++i) seconds[i] = step_of(made[which[i]], values);
    };
  }
};

TEST(FitSteps, FindsTheParametersThatMadeTheSteps) {
  const Trial trial;
  // exact steps outweigh what was believed
  const StepFitResult result = fit_steps(trial.samples, trial.forecasts(), {neutral, "source", 0.002});
  for (std::size_t i = 0; i < truth.size(); ++i) EXPECT_NEAR(result.values[i].value / truth[i].value, 1, 0.05);
  EXPECT_LT(result.mape, 0.003);
  EXPECT_LT(result.held_out_mape, 0.005);
  EXPECT_EQ(result.groups, 4);
  EXPECT_EQ(result.runs, 24);
}

TEST(FitSteps, WhatIsForecastLeftOutDoesNotKnowItsOwnMeasurements) {
  Trial trial;
  const auto before = fit_steps(trial.samples, trial.forecasts(), {neutral});
  for (std::size_t i = 0; i < trial.samples.size(); ++i)
    if (trial.samples[i].group == "group 0") trial.samples[i].seconds *= 1.2;
  const auto after = fit_steps(trial.samples, trial.forecasts(), {neutral});
  EXPECT_NE(before.values[0].value, after.values[0].value);
  for (std::size_t i = 0; i < trial.samples.size(); ++i)
    if (trial.samples[i].group == "group 0") EXPECT_EQ(before.held_out[i], after.held_out[i]);  // to the last digit
}

TEST(FitSteps, PairsOfAJobAreWitnessesHeldOut) {
  Trial trial;
  for (std::size_t i = 0; i < 4; ++i) trial.samples[i].job = "a", trial.samples[i].split = "tp " + std::to_string(i);
  StepFitOptions options{neutral};
  options.pair_spread = 0.1;
  const auto exact = fit_steps(trial.samples, trial.forecasts(), options);
  EXPECT_EQ(exact.pairs.pairs, 6);
  EXPECT_EQ(exact.pairs.jobs, 1);
  EXPECT_LT(exact.pairs.spread, 0.1);
  trial.samples[3].witness = false;
  EXPECT_EQ(fit_steps(trial.samples, trial.forecasts(), options).pairs.pairs, 3) << "a doubtful record says nothing";
  for (StepSample& sample : trial.samples) sample.group = "one";
  EXPECT_EQ(fit_steps(trial.samples, trial.forecasts(), options).pairs.pairs, 0) << "nothing was held out";
}

TEST(FitSteps, DoubtfulStepsAreForecastButMoveNothing) {
  Trial trial;
  const auto before = fit_steps(trial.samples, trial.forecasts(), {neutral});
  trial.samples[5].seconds *= 3;
  trial.samples[5].witness = false;
  const auto after = fit_steps(trial.samples, trial.forecasts(), {neutral});
  EXPECT_NEAR(after.values[0].value, before.values[0].value, 0.01);
  EXPECT_EQ(after.runs, 23);
  EXPECT_EQ(after.held_out.size(), trial.samples.size());
  EXPECT_LT(after.mape, 0.01) << "errors are those of witnesses";
}

TEST(FitSteps, AWildStepSteersLittle) {
  Trial trial;
  trial.samples[7].seconds *= 2;
  const auto result = fit_steps(trial.samples, trial.forecasts(), {neutral});
  EXPECT_NEAR(result.values[0].value, 1.2, 0.04);
}

TEST(FitSteps, HeldOutForecastsDoNotKnowTheirGroup) {
  Trial trial;
  for (StepSample& sample : trial.samples)
    if (sample.group == "group 0") sample.seconds *= 1.1;
  const auto result = fit_steps(trial.samples, trial.forecasts(), {neutral});
  for (std::size_t i = 0; i < trial.samples.size(); ++i)
    if (trial.samples[i].group == "group 0") EXPECT_NEAR(result.held_out[i] / trial.samples[i].seconds, 1 / 1.1, 0.03);
  EXPECT_GT(result.spread.p90, 1.05);
}

TEST(FitSteps, TwoStepsMoveTheMostCertainParameterOnly) {
  Trial trial;
  trial.samples.resize(2);
  const auto result = fit_steps(trial.samples, trial.forecasts(), {neutral, "run"});
  EXPECT_GT(result.values[0].value, 1.05);
  EXPECT_LE(result.values[0].value, 1.25);
  const double untouched = step_of(trial.made[9], neutral) / step_of(trial.made[9], truth) - 1;
  EXPECT_LT(
      std::abs(step_of(trial.made[9], result.values) / step_of(trial.made[9], truth) - 1), 0.5 * std::abs(untouched));
}

TEST(FitSteps, ValuesStayInTheirPlausibleRange) {
  Trial trial;
  for (StepSample& sample : trial.samples) sample.seconds *= 5;
  for (const StepValue& value : fit_steps(trial.samples, trial.forecasts(), {neutral}).values) {
    EXPECT_LE(value.value, row_of(value.parameter).high);
    EXPECT_GE(value.value, row_of(value.parameter).low);
  }
}

TEST(FitSteps, OneGroupHoldsNothingOut) {
  Trial trial;
  for (StepSample& sample : trial.samples) sample.group = "all";
  const auto result = fit_steps(trial.samples, trial.forecasts(), {neutral});
  EXPECT_EQ(result.groups, 0);
  EXPECT_TRUE(result.held_out.empty());
  EXPECT_EQ(result.spread.p10, 1);
}

TEST(StepSpread, ReachesFurtherForFewSamples) {
  std::vector<double> few = {0.9, 0.95, 1, 1.05, 1.1};  // level 0.9 x 6 / 5 is beyond the last
  const int endless = 1'000'000;
  EXPECT_NEAR(step_spread(few, endless).p10, 0.9, 1e-6);
  EXPECT_NEAR(step_spread(few, endless).p90, 1.1, 1e-6);
  std::vector<double> many;
  for (int i = 0; i <= 1000; ++i) many.push_back(0.9 + 0.2 * i / 1000);
  EXPECT_NEAR(step_spread(many, endless).p10, 0.92, 0.001);
  EXPECT_NEAR(step_spread(many, endless).p90, 1.08, 0.001);
  const std::vector<double> same = {1, 1, 1};
  EXPECT_DOUBLE_EQ(step_spread(same, endless).p10, 0.98);
  // Two groups: the logarithm's half width is 0.06 / sqrt(2) beside nothing measured.
  EXPECT_NEAR(std::log(step_spread(same, 2).p90), 0.06 / std::sqrt(2.0), 1e-9);
  EXPECT_DOUBLE_EQ(step_spread({}, 1).p90, 1);
}

TEST(StepSpread, IsWiderTheFartherWhatWasLeftOutLies) {
  const std::vector<double> same = {1, 1, 1};
  const auto half = [&](const char* left_out) { return std::log(step_spread(same, 4, left_out).p90); };
  EXPECT_NEAR(half("source"), 0.12 / 2, 1e-9);  // another publication
  EXPECT_NEAR(half("release"), 0.06 / 2, 1e-9);
  EXPECT_NEAR(half("model"), 0.04 / 2, 1e-9);  // of the same publication
}

}  // namespace
}  // namespace stepcast::calibrate
