// Model FLOPs of steps that train adapters beside frozen weights, by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "studies/run/forecast.h"
#include "studies/run/scenario_file.h"

namespace stepcast::run {
namespace {

double flops_of_step(const char* adapters, int sequence) {
  const auto request = read_scenario(
      fmt::format(
          R"({{"network": "llama3-8b", "machine": "dgx-h100", "gpus": 8, "global_batch": 8, "sequence": {}{}}})",
          sequence, adapters),
      "run.json");
  EXPECT_TRUE(request) << to_text(request.error());
  const auto scenario = complete(*request);
  EXPECT_TRUE(scenario) << to_text(scenario.error());
  return scenario ? step_model_flops(*scenario).value() : 0;
}

/// Of a word of Llama 3 8B the products are 2 FLOPs for each number of 32 layers (queries and outputs 4096 x 4096, keys
/// and values 4096 x 1024, three of 4096 x 14336) and of the head (4096 x 128256); they lose one of three passes. The
/// core, 4 x 4096 for half the sequence's keys in each layer, keeps its own. Adapters of rank 16 beside queries and
/// values, 16 (4096 + 4096) and 16 (4096 + 1024) numbers, have three.
TEST(AdaptedFlops, OfLlama3ByHand) {
  const double words = 8.0 * 8192;
  const double layer = 2.0 * 4096 * 4096 + 2.0 * 4096 * 1024 + 3.0 * 4096 * 14336;
  const double products = 2 * (32 * layer + 4096.0 * 128256), core = 32 * 4.0 * 4096 * (8192 / 2.0);
  const double adapters = 2 * 32 * 16 * (8192.0 + 5120.0);
  EXPECT_NEAR(flops_of_step("", 8192) / (words * 3 * (products + core)), 1, 1e-12);
  EXPECT_NEAR(
      flops_of_step(R"(, "lora": 16, "lora_on": "q,v")", 8192) / (words * (2 * products + 3 * (core + adapters))), 1,
      1e-12);
}

/// What is saved is never more than a pass of three, and with longer sequences a smaller share.
TEST(AdaptedFlops, AttentionKeepsItsPasses) {
  const auto saved = [](int sequence) {
    return 1 - flops_of_step(R"(, "lora": 1, "lora_on": "q")", sequence) / flops_of_step("", sequence);
  };
  EXPECT_LT(saved(1024), 1.0 / 3);
  EXPECT_GT(saved(1024), saved(8192));
  EXPECT_GT(saved(8192), saved(65536));
  EXPECT_GT(saved(65536), 0);
}

}  // namespace
}  // namespace stepcast::run
