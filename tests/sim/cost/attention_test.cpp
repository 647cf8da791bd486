// Which attention kernel of which age the software runs, as a share of the law's rate.
#include <gtest/gtest.h>

#include "sim/cost.h"
#include "tests/sim/small_program.h"

namespace stepcast::sim {
namespace {

/// Seconds of a fused core that takes one second at the law's rate.
struct AttentionCase {
  const char* architecture = "hopper";
  Precision precision = Precision::bf16;
  double head_dim = 128;
  Stack stack = small::stack();

  [[nodiscard]] double seconds() const {
    Machine machine = small::machine();
    machine.gpu.architecture = architecture;
    const Profile profile = small::profile();
    KernelWork work = small::gemm(1, Pass::forward);
    work.kernel = KernelClass::attention;
    work.sequence = 4096;
    work.head_dim = head_dim;
    return CostModel(machine, profile, stack, precision).work(work).time.value();
  }
  [[nodiscard]] double rate() const { return 1 / seconds(); }
};

TEST(AttentionPrice, TheStacksRateMultipliesTheLaws) {
  AttentionCase core;
  EXPECT_NEAR(core.seconds(), 1, 1e-9);
  core.stack.attention_rate = 1.25;
  EXPECT_NEAR(core.seconds(), 0.8, 1e-9);
}

TEST(AttentionPrice, KernelsForAmpereLoseOnNewerGpusOnly) {
  AttentionCase core;
  core.stack.ampere_attention = true;
  for (const char* architecture : {"hopper", "blackwell"}) {
    core.architecture = architecture;
    EXPECT_NEAR(core.rate(), 0.65, 1e-9) << architecture;
  }
  for (const char* architecture : {"ampere", "ada", "volta"}) {
    core.architecture = architecture;
    EXPECT_NEAR(core.rate(), 1, 1e-9) << architecture;
  }
}

TEST(AttentionPrice, SmallHeadsCostTheKernelsOfHopperAndLater) {
  AttentionCase core;
  for (const auto& [head_dim, rate] : {std::pair{64.0, 0.73}, {32.0, 0.73}, {80.0, 1.0}, {0.0, 1.0}}) {
    core.head_dim = head_dim;
    EXPECT_NEAR(core.rate(), rate, 1e-9) << head_dim;
  }
  core.head_dim = 64;
  core.stack.ampere_attention = true;
  EXPECT_NEAR(core.rate(), 0.65, 1e-9) << "a kernel without Hopper's instructions, not both";
  core.stack.ampere_attention = false;
  core.architecture = "ampere";
  EXPECT_NEAR(core.rate(), 1, 1e-9);
}

TEST(AttentionPrice, ANarrowCoreGainsUnderNarrowPlansOnly) {
  AttentionCase core;
  for (const Precision precision : {Precision::bf16, Precision::fp8, Precision::mxfp8, Precision::nvfp4}) {
    core.precision = precision;
    core.stack.narrow_attention = false;
    EXPECT_NEAR(core.rate(), 1, 1e-9);
    core.stack.narrow_attention = true;
    EXPECT_NEAR(core.rate(), precision == Precision::bf16 ? 1 : 1.3, 1e-9);
  }
}

/// The law is of 16 bits, whose peak is 200 TFLOP/s here: at 100 in tf32 the core takes twice as long, at 20 in fp32
/// ten times, and nobody measured it.
TEST(AttentionPrice, WideOperandsTakeTheSharesOfTheirPeaks) {
  Machine machine = small::machine();
  const auto peak = [&](Precision p, double rate) { machine.gpu.peak[static_cast<int>(p)] = FlopsPerSecond(rate); };
  peak(Precision::bf16, 200e12), peak(Precision::tf32, 100e12), peak(Precision::fp32, 20e12);
  const Profile profile = small::profile();
  const Stack stack = small::stack();
  KernelWork work = small::gemm(1, Pass::forward);
  work.kernel = KernelClass::attention;
  work.sequence = 4096, work.head_dim = 128, work.element_bytes = 4;
  const auto price = [&](Precision p) { return CostModel(machine, profile, stack, p).work(work); };
  EXPECT_NEAR(price(Precision::bf16).time.value(), 1, 1e-9);
  EXPECT_NEAR(price(Precision::tf32).time.value(), 2, 1e-9);
  EXPECT_NEAR(price(Precision::fp32).time.value(), 10, 1e-9);
  EXPECT_EQ(price(Precision::tf32).source, std::max(profile.attention.source, Source::transferred));
  peak(Precision::tf32, 300e12);
  EXPECT_NEAR(price(Precision::tf32).time.value(), 1, 1e-9) << "no faster than the law";
}

TEST(AttentionPrice, NoOtherKernelFollowsTheAttentionOfAStack) {
  Machine machine = small::machine();
  machine.gpu.architecture = "hopper";
  const Profile profile = small::profile();
  const Stack plain = small::stack();
  Stack other = plain;
  other.attention_rate = 0.5, other.ampere_attention = other.narrow_attention = true;
  KernelWork product = small::gemm(1, Pass::forward), stream;
  product.head_dim = 64;
  stream.bytes = Bytes(1e12);
  for (const KernelWork& work : {product, stream})
    EXPECT_EQ(CostModel(machine, profile, other, Precision::fp8).work(work).time,
        CostModel(machine, profile, plain, Precision::fp8).work(work).time);
}

TEST(AttentionPrice, KernelsForNewerGpusGiveOlderOnesNothing) {
  AttentionCase fast{"hopper"}, old{"ampere"};
  fast.stack.attention_rate = old.stack.attention_rate = 1.2;
  EXPECT_NEAR(fast.rate(), 1.2, 1e-9);
  EXPECT_NEAR(old.rate(), 1, 1e-9);
  old.stack.attention_rate = 0.5;
  EXPECT_NEAR(old.rate(), 0.5, 1e-9) << "a slow kernel is slow everywhere";
}

}  // namespace
}  // namespace stepcast::sim
