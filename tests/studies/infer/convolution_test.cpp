// Networks with convolutions in front of scans: an engine's own law of them, of prompts and of words.
#include <array>

#include <gtest/gtest.h>

#include "tests/studies/infer/serving_by_name.h"

namespace stepcast::infer {
namespace {

// Qwen3-Next: 36 layers of Gated DeltaNet, 2 x 16 heads of keys and queries and 32 of values, all of 128, over 4 ranks.
constexpr double convolved_layers = 36, channels = (2 * 16 + 32) * 128 / 4;

const sim::IterationPart* convolution_in(const sim::IterationTime& iteration) {
  return part_of(iteration, "mixer.conv");
}

TEST(Convolutions, OfPromptsAndWordsHaveLaws) {
  const Serving vllm = serving("qwen3-next-80b-a3b", "hgx-h200", 4);
  const auto prompt = iterate(vllm, {1, 8192, 0}), words = iterate(vllm, {64, 1, 4096});
  const sim::IterationPart *of_prompt = convolution_in(prompt), *of_words = convolution_in(words);
  ASSERT_NE(of_prompt, nullptr);
  ASSERT_NE(of_words, nullptr);
  EXPECT_EQ(of_prompt->calls, convolved_layers);
  EXPECT_EQ(of_prompt->source, Source::fitted);
  EXPECT_EQ(of_prompt->shape, "8192 positions, 2048 channels");
  EXPECT_EQ(of_prompt->binding, sim::Binding::activations);
  EXPECT_GE(of_prompt->bytes.value(), convolved_layers * 8192 * channels * 2 * 2);
  EXPECT_EQ(of_words->source, Source::fitted);
  EXPECT_EQ(of_words->shape, "64 positions, 2048 channels");
  EXPECT_LT(of_words->time, of_prompt->time);
}

/// Kernels of prompts keep a GPU of so many multiprocessors busy for longer than its memory would take.
TEST(Convolutions, LargePromptsGoSlowerThanMemory) {
  for (const char* machine : {"hgx-h200", "dgx-b200"}) {
    const auto prompt = iterate(serving("qwen3-next-80b-a3b", machine, 4), {4, 8192, 0});
    const sim::IterationPart* part = convolution_in(prompt);
    ASSERT_NE(part, nullptr) << machine;
    EXPECT_LT(part->bytes / part->time, BytesPerSecond(3.2e12)) << machine;
    EXPECT_GT(part->bytes / part->time, BytesPerSecond(1.5e12)) << machine;
  }
}

TEST(Convolutions, EnginesHaveLawsOfTheirOwn) {
  const auto time_of = [](const char* engine) {
    const auto iteration = iterate(serving("qwen3-next-80b-a3b", "hgx-h200", 4, engine), {1, 8192, 0});
    const sim::IterationPart* part = convolution_in(iteration);
    EXPECT_NE(part, nullptr) << engine;
    return part == nullptr ? 0 : part->time.value();
  };
  EXPECT_NE(time_of("vllm"), time_of("sglang"));
}

/// Words beside a piece of a prompt take what both take apart: the mean of their positions is nobody's.
TEST(Convolutions, WordsBesidePromptsArePricedApart) {
  for (const char* engine : {"vllm", "tensorrt-llm"}) {
    const Serving one = serving("nemotron-h-8b", "dgx-h100", 1, engine);
    const sim::Rows piece{1, 2048, 0}, words{64, 1, 4096};
    const std::array both{piece, words};
    const auto mixed = ServingCost(one).time(both), prompt = iterate(one, piece), decode = iterate(one, words);
    const auto *of_prompt = convolution_in(prompt), *of_words = convolution_in(decode);
    ASSERT_TRUE(of_prompt != nullptr && of_words != nullptr) << engine;
    Seconds apart;
    for (const sim::IterationPart& part : mixed.parts)
      if (part.label == of_prompt->label) apart += part.time;
    EXPECT_NEAR(apart / (of_prompt->time + of_words->time), 1, 1e-9) << engine;
  }
}

TEST(Convolutions, OfGpusWithoutTablesAreTransferred) {
  const auto prompt = iterate(serving("qwen3-next-80b-a3b", "dgx-a100", 4), {1, 8192, 0});
  const sim::IterationPart* part = convolution_in(prompt);
  ASSERT_NE(part, nullptr);
  EXPECT_EQ(part->source, Source::transferred);
}

}  // namespace
}  // namespace stepcast::infer
