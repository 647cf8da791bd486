// Laws of convolutions in front of scans: their terms by hand, whose law is asked, and what stands in for it.
#include "model/convolution_law.h"

#include <cmath>

#include <gtest/gtest.h>

#include "model/catalog.h"

namespace stepcast {
namespace {

/// 128 channels of a sequence and 512 positions take 1 us, each state 10 ns; 4 us before, of them 1 us for a block.
ScanLaw law_of(const char* kernels) {
  ScanLaw law;
  law.function = prompt_convolution, law.t0 = Seconds(3e-6), law.first_chunk = Seconds(1e-6);
  law.state = Seconds(10e-9), law.chunk = Seconds(1e-6);
  law.softness = 2, law.positions = 512, law.value_size = 128, law.key_size = 4;
  law.source = Source::fitted, law.spread = {0.9, 1.1}, law.kernels = kernels;
  return law;
}

double soft(double a, double b) { return std::sqrt(a * a + b * b); }

TEST(ConvolutionLaw, ChunksAreComputedWhole) {
  const ScanLaw law = law_of("");
  // 2 sequences of 8 x 128 channels: 16 states.
  EXPECT_NEAR(convolution_time(law, {2, 512, 1024}).time.value(), soft(4e-6, 16 * 1.01e-6), 1e-12);
  EXPECT_NEAR(convolution_time(law, {2, 513, 1024}).time.value(), soft(4e-6, 16 * 2.01e-6), 1e-12);
  EXPECT_EQ(convolution_time(law, {2, 100, 1024}).time, convolution_time(law, {2, 512, 1024}).time);
  EXPECT_NEAR(convolution_time(law, {2, 4, 1024}).time.value(), soft(3.5e-6, 16 * 1.01e-6), 1e-12) << "half a block";
}

TEST(ConvolutionLaw, WhatBindsIsTheLargerPart) {
  const ScanLaw law = law_of("");
  EXPECT_EQ(convolution_time(law, {1, 512, 128}).bound, Bound::launch);
  EXPECT_EQ(convolution_time(law, {8, 4096, 8192}).bound, Bound::memory);
}

TEST(ConvolutionLaw, OtherTapsThanWereTimedAreTransferred) {
  const ScanLaw law = law_of("");
  EXPECT_EQ(convolution_time(law, {1, 512, 128, 4}).source, Source::fitted);
  EXPECT_EQ(convolution_time(law, {1, 512, 128, 3}).source, Source::transferred);
}

TEST(ConvolutionLaw, AnEnginesOwnComesFirstAndWordsHaveAnother) {
  Profile profile;
  profile.memory.t0 = Seconds(1e-6), profile.memory.memory = BytesPerSecond(2e12);
  profile.scans = {law_of(""), law_of("vllm")};
  profile.scans[1].t0 = Seconds(9e-6);
  const ChannelConvolution prompt{1, 512, 128};
  EXPECT_EQ(convolution_time(profile, prompt, "vllm").time, convolution_time(profile.scans[1], prompt).time);
  EXPECT_EQ(convolution_time(profile, prompt, "sglang").time, convolution_time(profile.scans[0], prompt).time);
  profile.scans[0].function = word_convolution;
  const ChannelConvolution words{64, 1, 1024};
  EXPECT_EQ(convolution_time(profile, words, "vllm").time, convolution_time(profile.scans[0], words).time);
  EXPECT_EQ(convolution_of({64, 8, 1024}), word_convolution) << "a word and seven guesses";
  EXPECT_EQ(convolution_of({64, 9, 1024}), prompt_convolution);
}

/// What nobody timed goes by multiprocessors, and never faster than memory.
TEST(ConvolutionLaw, UsualOnesFollowMultiprocessorsAndMemory) {
  Profile h100, half;
  h100.units.multiprocessors = 132, half.units.multiprocessors = 66;
  for (Profile* profile : {&h100, &half})
    profile->memory.t0 = Seconds(1e-6), profile->memory.memory = BytesPerSecond(3e12);
  const ChannelConvolution large{8, 8192, 8192};
  const KernelTime on_h100 = convolution_time(h100, large, "vllm"), on_half = convolution_time(half, large, "vllm");
  EXPECT_NEAR(on_half.time / on_h100.time, 2, 0.01);
  EXPECT_EQ(on_h100.source, Source::transferred);
  EXPECT_LT(on_h100.spread.p10, 0.8);
  Profile relative = h100;  // with laws that came from another GPU
  relative.scans = {law_of("vllm")};
  relative.scans[0].source = Source::transferred, relative.scans[0].chunk = Seconds(1e-9);
  EXPECT_NEAR(convolution_time(relative, large, "vllm").time.value(), 1e-6 + 4.0 * 8 * 8192 * 8192 / 3e12, 1e-9);
  h100.memory.memory = BytesPerSecond(1e12);
  EXPECT_NEAR(convolution_time(h100, large, "vllm").time.value(), 1e-6 + 4.0 * 8 * 8192 * 8192 / 1e12, 1e-9);
}

/// As much of what each fitted law says as tables of its GPU bear out: a large prompt goes at 0.3 to 0.95 of the rate
/// that the memory has.
TEST(ConvolutionLaw, TheCatalogueHasThemOfSixGpus) {
  int laws = 0;
  for (const ProfileRow& row : built_in().profiles)
    for (const ScanLaw& law : row.whole().scans) {
      if (!names_convolution(law.function)) continue;
      ++laws;
      EXPECT_EQ(law.source, Source::fitted) << row.gpu;
      EXPECT_GT(law.refinement.held_out.samples, 0) << row.gpu;
      if (law.function != prompt_convolution) continue;
      const double once = 4.0 * 8 * 8192 * 8192, seconds = convolution_time(law, {8, 8192, 8192}).time.value();
      const auto gpu = find_row(built_in().gpus, row.gpu, "gpu");
      ASSERT_TRUE(gpu);
      const double share = once / seconds / (*gpu)->memory_bandwidth.value();
      EXPECT_GT(share, 0.3) << row.gpu << " " << law.kernels;
      EXPECT_LT(share, 0.95) << row.gpu << " " << law.kernels;
    }
  EXPECT_GE(laws, 6 * 3 * 2);
}

}  // namespace
}  // namespace stepcast
