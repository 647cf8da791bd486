// Forecasts that a gate asks of other commands.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/gate/expected.h"
#include "studies/run/forecast.h"

namespace stepcast::gate {
namespace {

using testing::HasSubstr;

CaseForecast forecast_of(const std::vector<std::string>& words) {
  const auto made = forecast_case(words, "f");
  EXPECT_TRUE(made) << to_text(made.error());
  return made.value_or(CaseForecast{});
}
std::string refusal_of(const std::vector<std::string>& words) {
  const auto made = forecast_case(words, "f");
  EXPECT_FALSE(made);
  return made ? "" : to_text(made.error());
}

TEST(GateForecast, OfAStepIsWhatTheLibrarySays) {
  run::Request request;
  request.network = *run::choose_network("llama3-8b", "network");
  (void)request.say("gpus", "8", "gpus");
  (void)request.say("zero", "3", "zero");
  (void)request.say("global_batch", "32", "global_batch");
  const auto prediction = run::predict(request);
  ASSERT_TRUE(prediction);
  const CaseForecast made = forecast_of({"predict", "llama3-8b", "--gpus", "8", "--zero", "3", "--global-batch", "32"});
  EXPECT_EQ(made.seconds, prediction->step.step_time.value());
  EXPECT_EQ(*made.mfu, prediction->mfu);
  EXPECT_FALSE(made.roof_seconds);
  EXPECT_EQ(made.work.samples, 32);
  EXPECT_EQ(made.work.tokens, 32 * 8192);
  EXPECT_EQ(made.work.gpus, 8);
  EXPECT_NEAR(made.tokens_per_s_per_gpu, 32 * 8192 / 8 / made.seconds, 1e-6 * made.tokens_per_s_per_gpu);
}

TEST(GateForecast, OfAStepOnSeveralMachines) {
  // 64 sequences of 8,192 words on 16 GPUs.
  const CaseForecast made =
      forecast_of({"predict", "llama3-8b", "--machine", "dgx-h100:8,dgx-a100:8", "--tp", "8", "--global-batch", "64"});
  EXPECT_EQ(made.work.gpus, 16);
  EXPECT_EQ(made.work.tokens, 64 * 8192);
  ASSERT_TRUE(made.mfu);
  EXPECT_GT(*made.mfu, 0);
  EXPECT_NEAR(made.tokens_per_s_per_gpu, 64 * 8192 / 16 / made.seconds, 1e-6 * made.tokens_per_s_per_gpu);
}

/// 2 x 8192^3 FLOPs at 989.4 TFLOP/s, the H100's dense bf16 peak; its bytes take a tenth of that.
TEST(GateForecast, TheRoofOfAProductIsItsFlops) {
  const CaseForecast made =
      forecast_of({"kernel", "gemm", "--m", "8192", "--n", "8192", "--k", "8192", "--machine", "dgx-h100"});
  ASSERT_TRUE(made.roof_seconds);
  EXPECT_NEAR(*made.roof_seconds, 2 * std::pow(8192.0, 3) / 989.4e12, 0.002 * *made.roof_seconds);
  EXPECT_GT(made.seconds, *made.roof_seconds);
}

TEST(GateForecast, TheRoofsOfAStepAreBelowIt) {
  const CaseForecast made =
      forecast_of({"roofline", "llama3-8b", "--gpus", "8", "--zero", "3", "--global-batch", "32"});
  ASSERT_TRUE(made.roof_seconds);
  EXPECT_LT(*made.roof_seconds, made.seconds);
  EXPECT_GT(*made.roof_seconds, 0.4 * made.seconds);
  EXPECT_GT(forecast_of({"infer", "llama3-8b", "--prompt", "512"}).seconds, 0);
  EXPECT_GT(forecast_of({"collective", "all_reduce", "--bytes", "1048576", "--gpus", "8"}).seconds, 0);
}

TEST(GateForecast, WhatGivesNone) {
  EXPECT_THAT(refusal_of({"sweep", "llama3-8b"}), HasSubstr("no command that forecasts one time"));
  EXPECT_THAT(refusal_of({"predict", "llama3-9b"}), HasSubstr("unknown network"));
  EXPECT_THAT(refusal_of({"predict", "llama3-8b", "--tpp", "2"}), HasSubstr("unknown flag"));
  EXPECT_THAT(refusal_of({"predict", "llama3-8b", "--svg", "x.svg"}), HasSubstr("--svg"));
  EXPECT_THAT(refusal_of({"predict", "llama3-405b", "--gpus", "8", "--tp", "8"}), HasSubstr("does not fit"));
  EXPECT_THAT(refusal_of({"infer"}), HasSubstr("infer"));
}

}  // namespace
}  // namespace stepcast::gate
