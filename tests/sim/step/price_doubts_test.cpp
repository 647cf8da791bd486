// Laws that are not measured, with their share of a step, and the warnings made of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/step/parts.h"

namespace stepcast::sim {
namespace {

LawShare share_of(const char* law, Source source, bool extrapolated, double seconds) {
  LawShare share;
  share.law = law, share.source = source, share.extrapolated = extrapolated, share.time = Seconds(seconds);
  return share;
}

// Of a step of 2 s: 0.5 s are 25 %, 0.2 s are 10 %, and 0.0008 s are 0.04 %, which no printed digit shows.
TEST(PriceDoubts, HaveTheirShareOfTheStep) {
  const auto doubts = price_doubts(
      {share_of("stream", Source::assumed, false, 0.5), share_of("gemm", Source::fitted, true, 0.2),
          share_of("curve", Source::fitted, false, 1), share_of("ports", Source::transferred, true, 0.0008)},
      Seconds(2));
  ASSERT_EQ(doubts.size(), 2U);
  EXPECT_DOUBLE_EQ(doubts[0].share, 0.25);
  EXPECT_EQ(doubts[0].in_words(), "stream: assumed, nothing measured; its calls take 25.0 % of the step");
  EXPECT_EQ(doubts[1].in_words("up to "), "gemm: beyond the largest size measured; up to 10.0 % of the step");
}

// 3 GiB on a GPU of 2 GiB: the last warning says so, and none does where it fits.
TEST(StepWarnings, OfMemoryComeLast) {
  MemoryReport memory;
  memory.peak = Bytes(3.0 * (1 << 30)), memory.capacity = Bytes(2.0 * (1 << 30));
  const std::vector<PriceDoubt> doubts = {{"stream: assumed, nothing measured; its calls take", 0.25}};
  memory.fits = true;
  EXPECT_EQ(step_warnings(doubts, memory).size(), 1U);
  memory.fits = false;
  const auto warnings = step_warnings(doubts, memory);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_THAT(warnings.back(), testing::HasSubstr("3.00 GiB of 2.00 GiB, 1.00 GiB too much"));
}

}  // namespace
}  // namespace stepcast::sim
