// What engines gather for experts, in the width that they gather it in.
#include <algorithm>

#include <gtest/gtest.h>

#include "model/catalog.h"
#include "studies/infer/phases.h"
#include "tests/studies/run_program.h"

namespace stepcast::infer {
namespace {

/// By TensorRT-LLM's kernels or others': of an iteration of 512 words for each of eight groups, the gather of their
/// tokens.
Seconds gather(bool own, const std::string& weights) {
  ServingWishes wishes;
  wishes.weights = weights, wishes.attention_dp = 8, wishes.ep = 8;
  Engine engine = **find_row(built_in().engines, "tensorrt-llm", "engine");
  if (!own) engine.kernels = "vllm";
  const auto serving = serving_of(
      wishes, *run::choose_network("deepseek-v3", "network"), *run::choose_machine("dgx-b200", "machine"), engine);
  EXPECT_TRUE(serving) << to_text(serving.error());
  const auto parts = decode(*serving, 8 * 512, 1000).shown.parts;
  const auto found = std::ranges::find_if(
      parts, [](const sim::IterationPart& part) { return part.is_move && part.label == "norm2.y all_gather"; });
  EXPECT_NE(found, parts.end());
  return found == parts.end() ? Seconds(0) : found->time;
}

/// nvfp4 with a byte of scale per 16 numbers is 9 / 32 of bf16, and fp8 a half; latencies stay. Scales of blocks are
/// made behind the gather.
TEST(Gathers, WhatIsCastBeforeIsNarrower) {
  const double nvfp4 = gather(true, "nvfp4") / gather(false, "nvfp4");
  EXPECT_GT(nvfp4, 9.0 / 32);
  EXPECT_LT(nvfp4, 0.6);
  const double fp8 = gather(true, "fp8") / gather(false, "fp8");
  EXPECT_GT(fp8, 0.5);
  EXPECT_LT(fp8, 0.75);
  EXPECT_EQ(gather(true, "fp8-block"), gather(false, "fp8-block"));
}

}  // namespace
}  // namespace stepcast::infer
