// Networks of several residual streams: an engine's own law of their mixing, and what stands in for it.
#include <gtest/gtest.h>

#include "model/profile/hyper_connection_law.h"
#include "tests/studies/infer/serving_by_name.h"

namespace stepcast::infer {
namespace {

constexpr double v4_layers = 43, v4_coefficients = 24, v4_width = 4096;

TEST(StreamMixing, BothPartsAreOneKernelOfASublayer) {
  const Serving vllm = serving("deepseek-v4-flash", "hgx-h200", 8);
  const auto iteration = iterate(vllm, {64, 1, 4'096});
  for (const char* label : {"streams1", "streams2"}) {
    const sim::IterationPart* pre = part_of(iteration, label);
    ASSERT_NE(pre, nullptr) << label;
    EXPECT_EQ(pre->calls, v4_layers);
    EXPECT_EQ(pre->shape, "64 positions, 4 streams of 4096");
    EXPECT_EQ(pre->source, Source::fitted);
    EXPECT_EQ(pre->binding, sim::Binding::launch);
    EXPECT_DOUBLE_EQ(pre->flops.value(), v4_layers * 64 * 2 * v4_coefficients * 4 * v4_width);
    EXPECT_EQ(part_of(iteration, std::string(label) + ".scores"), nullptr);
  }
  const sim::IterationPart* post = part_of(iteration, "residual1");
  ASSERT_NE(post, nullptr);
  EXPECT_EQ(post->source, Source::fitted);
  EXPECT_DOUBLE_EQ(post->bytes.value(), v4_layers * 64 * 9 * v4_width * 2);
}

/// A prompt's streams go through memory: twice as many take near twice as long.
TEST(StreamMixing, LongPromptsAreBoundByMemory) {
  const Serving vllm = serving("deepseek-v4-flash", "hgx-h200", 8);
  const auto one = iterate(vllm, {1, 16'384, 0}), two = iterate(vllm, {2, 16'384, 0});
  const sim::IterationPart *once = part_of(one, "streams1"), *twice = part_of(two, "streams1");
  ASSERT_NE(once, nullptr);
  ASSERT_NE(twice, nullptr);
  EXPECT_EQ(once->binding, sim::Binding::activations);
  EXPECT_NEAR(twice->time / once->time, 2, 0.1);
}

TEST(StreamMixing, EnginesHaveLawsOfTheirOwn) {
  const auto time_of = [](const char* engine) {
    const auto iteration = iterate(serving("deepseek-v4-flash", "hgx-h200", 8, engine), {16, 1, 4'096});
    const sim::IterationPart* part = part_of(iteration, "streams1");
    EXPECT_NE(part, nullptr) << engine;
    return part == nullptr ? 0 : part->time.value();
  };
  EXPECT_NE(time_of("vllm"), time_of("sglang"));
}

}  // namespace
}  // namespace stepcast::infer
