// What stands around steps: given, shown, refused.
#include "studies/whatif/around_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::whatif {
namespace {

using testing::HasSubstr;
constexpr const char* around_run = "predict llama3-8b --gpus 64 --pp 4 --global-batch 256 ";

TEST(AroundSteps, PartsSumToTheStep) {
  const auto ran = testing_program::run_line(
      std::string(around_run) +
      "--gc-time 600ms --gc-every 100 --gc-planned --log-time 50ms --log-every 10 --eval-batches 20 --eval-every 1000 "
      "--json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  const auto& parts = json.at("around_steps");
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_NEAR(parts[0].at("per_step_s"), 0.006, 1e-12);
  EXPECT_NEAR(parts[1].at("per_step_s"), 0.005, 1e-12);
  // Forward alone takes about a third of the step: 20 such batches in 1,000 steps.
  const double step = json.at("step_time_s"), evaluation = parts[2].at("per_step_s");
  EXPECT_NEAR(evaluation / (0.02 * step / 3), 1, 0.25);
  EXPECT_NEAR(json.at("step_time_with_around_s"), step + 0.011 + evaluation, 1e-9);
  const auto text = testing_program::run_line(std::string(around_run) + "--gc-time 600ms --gc-every 100");
  EXPECT_THAT(text.out, HasSubstr("each rank by itself"));
  EXPECT_THAT(text.out, HasSubstr("a step with them"));
}

TEST(AroundSteps, HalvesAreRefused) {
  const auto refusal = [](const std::string& words) { return testing_program::run_line(around_run + words).err; };
  EXPECT_THAT(refusal("--gc-time 1s"), HasSubstr("--gc-every: is missing"));
  EXPECT_THAT(refusal("--eval-every 100"), HasSubstr("--eval-batches: is missing"));
  EXPECT_THAT(refusal("--gc-planned"), HasSubstr("how long it takes is not said"));
  EXPECT_THAT(refusal("--loader-workers 2"), HasSubstr("--loader-workers: how long a batch takes"));
  EXPECT_THAT(refusal("--loader-time 1s --loader-rate 0"), HasSubstr("is no such number"));
  EXPECT_THAT(refusal("--log-time 1s --log-every 5 --print-scenario"), HasSubstr("does not go with --print-scenario"));
}

}  // namespace
}  // namespace stepcast::whatif
