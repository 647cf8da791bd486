// Kernel rate laws against numbers that a reader can redo by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "model/profile/kernel_law.h"

namespace stepcast {
namespace {

RooflineLaw round_law(double softness) {
  RooflineLaw law;
  law.t0 = Seconds(10e-6);
  law.compute = FlopsPerSecond(100e12);
  law.memory = BytesPerSecond(1e12);
  law.softness = softness;
  return law;
}

TEST(RooflineLaw, equal_parts_meet_at_the_root_of_two) {
  // 1e9 FLOP at 100 TFLOP/s and 10 MB at 1 TB/s: 10 us each.
  const Flops flops(1e9);
  const Bytes bytes(10e6);
  EXPECT_NEAR(roofline_time(round_law(1), flops, bytes).value(), 30e-6, 1e-12);
  EXPECT_NEAR(roofline_time(round_law(2), flops, bytes).value(), 10e-6 + 10e-6 * std::sqrt(2), 1e-12);
  EXPECT_NEAR(roofline_time(round_law(1.5), flops, bytes).value(), 10e-6 + 10e-6 * std::pow(2, 1 / 1.5), 1e-12);
  EXPECT_NEAR(roofline_time(round_law(3), flops, bytes).value(), 10e-6 + 10e-6 * std::cbrt(2), 1e-12);
  EXPECT_NEAR(roofline_time(round_law(2.5), flops, bytes).value(), 10e-6 + 10e-6 * std::pow(2, 0.4), 1e-12);
}

TEST(RooflineLaw, exponents_without_pow_agree_with_the_formula) {
  for (const double p : {1.0, 1.5, 2.0, 3.0}) {
    const double compute = 40e-6, memory = 7e-6;
    const double expected = 10e-6 + std::pow(std::pow(compute, p) + std::pow(memory, p), 1 / p);
    EXPECT_NEAR(roofline_time(round_law(p), Flops(4e9), Bytes(7e6)).value(), expected, 1e-15) << p;
  }
}

TEST(RooflineLaw, never_beats_either_roof_and_reaches_them) {
  const RooflineLaw law = round_law(2);
  for (const double flops : {1e6, 1e9, 1e12, 1e15})
    for (const double bytes : {1e3, 1e6, 1e9}) {
      const double time = roofline_time(law, Flops(flops), Bytes(bytes)).value();
      EXPECT_GE(time, 10e-6 + std::max(flops / 100e12, bytes / 1e12));
      EXPECT_LE(time, 10e-6 + flops / 100e12 + bytes / 1e12 + 1e-18);
    }
  EXPECT_NEAR(1e15 / roofline_time(law, Flops(1e15), Bytes(1e6)).value(), 100e12, 1e9);
  EXPECT_DOUBLE_EQ(roofline_time(law, Flops(0), Bytes(0)).value(), 10e-6);
}

TEST(AttentionLaw, ramp_halves_the_rate_at_its_own_length) {
  AttentionLaw law;
  law.compute = FlopsPerSecond(200e12);
  law.ramp = 1000;
  law.backward_efficiency = 0.5;
  // 1e11 FLOP at 200 TFLOP/s are 500 us; at s = 1000 the rate is half.
  const auto time = [&](double sequence, bool backward) {
    return attention_time(law, {.flops = Flops(1e11), .sequence = sequence, .bytes = {}, .backward = backward})
        .time.value();
  };
  EXPECT_NEAR(time(1000, false), 1000e-6, 1e-12);
  EXPECT_NEAR(time(1e12, false), 500e-6, 1e-9);
  // Backward: 2.5 times the FLOPs at half the rate.
  EXPECT_NEAR(time(1000, true), 5000e-6, 1e-12);
}

// 1e11 FLOP at 200 TFLOP/s are 500 us for heads of 128.
TEST(AttentionLaw, terms_of_masks_heads_and_moving) {
  AttentionLaw law;
  law.compute = FlopsPerSecond(200e12);
  law.memory = BytesPerSecond(1e12);
  law.backward_efficiency = 0.5;
  law.forward = {.causal_ramp = 1000, .softmax = 128, .full_rate = 1.25, .traffic = 0.5};
  law.backward = {.causal_ramp = 0, .softmax = 0, .full_rate = 1, .traffic = 2};
  StepAttention core{.flops = Flops(1e11), .sequence = 1000, .head_dim = 128, .bytes = Bytes(100e6)};
  // The diagonal doubles it, 100 MB at 1 TB/s count half.
  EXPECT_NEAR(attention_time(law, core).time.value(), 1000e-6 + 50e-6, 1e-12);
  // Without a mask: no diagonal, a quarter faster.
  core.causal = false;
  EXPECT_NEAR(attention_time(law, core).time.value(), 500e-6 / 1.25 + 50e-6, 1e-12);
  // Heads of 64: 1 + 128/64 = 3 against 1 + 128/128 = 2.
  core.head_dim = 64;
  EXPECT_NEAR(attention_time(law, core).time.value(), 1.5 * 500e-6 / 1.25 + 50e-6, 1e-12);
  // Backward has terms of its own: 2.5 / 0.5 of the FLOPs, and 100 us twice.
  core.backward = true;
  EXPECT_NEAR(attention_time(law, core).time.value(), 5 * 500e-6 + 200e-6, 1e-12);
}

TEST(MemoryLaw, is_a_line) {
  const MemoryLaw law{Seconds(2e-6), BytesPerSecond(1e12), Source::assumed, {}};
  EXPECT_DOUBLE_EQ(memory_time(law, Bytes(8e6)).time.value(), 10e-6);
  EXPECT_DOUBLE_EQ(memory_time(law, Bytes(0)).time.value(), 2e-6);
}

TEST(ScaleOutLaw, shares_the_ports_of_the_members) {
  const ScaleOutLaw law{FabricKind::infiniband, 0.8, Seconds(20e-6), Seconds(10e-6), Seconds(0), Source::assumed, {}};
  // 4 nodes: 20 + 2 x 10 us; 8 members x 50 GB/s x 0.8 = 320 GB/s; 320 MB take 1 ms.
  EXPECT_NEAR(scale_out_time(law, Bytes(320e6), 4, 8, BytesPerSecond(50e9)).value(), 1040e-6, 1e-12);
  EXPECT_NEAR(scale_out_time(law, Bytes(320e6), 4, 1, BytesPerSecond(50e9)).value(), 8040e-6, 1e-12);
}

TEST(ScaleOutLaw, latency_may_be_linear_in_nodes) {
  const ScaleOutLaw law{FabricKind::ethernet, 1, Seconds(0), Seconds(0), Seconds(5e-6), Source::assumed, {}};
  EXPECT_NEAR(scale_out_time(law, Bytes(0), 16, 1, BytesPerSecond(1e9)).value(), 80e-6, 1e-15);
}

}  // namespace
}  // namespace stepcast
