#include "sim/cost.h"

#include <cmath>

#include <gtest/gtest.h>

#include "model/profile/hyper_connection_law.h"

#include "tests/sim/small_program.h"

namespace stepcast::sim::cost_test {
namespace {

class Costs {
 public:
  Machine machine = small::machine();
  Profile profile = small::profile();
  Stack stack = small::stack();
  [[nodiscard]] CostModel model(Precision precision = Precision::bf16, std::int64_t ranks = 0) const {
    return {machine, profile, stack, precision, ranks};
  }
  [[nodiscard]] double move(MoveKind kind, double bytes, const Group& group) const {
    Move move;
    move.kind = kind;
    move.received = Bytes(bytes);
    return model().move(move, group).time.value();
  }
};

Span span(const Group& group, std::int64_t ranks = 0) { return span_of(group, small::machine(), ranks); }

TEST(SpanOf, NeighboursFillOneNode) {
  const Span s = span(small::group(1, 4));
  EXPECT_EQ(s.level, 0);
  EXPECT_EQ(s.inside, 4);
  EXPECT_EQ(s.nodes, 1);
}

TEST(SpanOf, StrideOfANodePutsOneMemberOnEach) {
  const Span s = span(small::group(4, 4));
  EXPECT_EQ(s.level, 1);
  EXPECT_EQ(s.inside, 1);
  EXPECT_EQ(s.nodes, 4);
}

TEST(SpanOf, TwoDigitsMultiply) {  // ranks 0, 1 and 8, 9: two per node, on two nodes of one rack
  const Span s = span({{{1, 2}, {8, 2}}, 4, ""});
  EXPECT_EQ(s.level, 1);
  EXPECT_EQ(s.inside, 2);
  EXPECT_EQ(s.nodes, 2);
}

TEST(SpanOf, ThirdTier) {
  const Span s = span(small::group(1, 32));
  EXPECT_EQ(s.level, 2);
  EXPECT_EQ(s.inside, 4);
  EXPECT_EQ(s.nodes, 8);
}

TEST(SpanOf, AGroupThatStraddlesNodesCountsItsSmallestPiece) {  // 0..5 and 6..11 on nodes of 4: 4, 5 stand alone
  const Span s = span(small::group(1, 6), 12);
  EXPECT_EQ(s.level, 1);
  EXPECT_EQ(s.inside, 2);
}

TEST(SpanOf, RanksThatFitOneNodeNeverStraddle) {
  EXPECT_EQ(span(small::group(1, 3), 12).level, 1);  // 3..5 crosses a boundary at 4
  EXPECT_EQ(span(small::group(1, 3), 3).level, 0);
}

TEST(WorkPrice, GemmRunsAtTheFittedRate) {
  const Price price = Costs().model().work(small::gemm(2, Pass::forward));
  EXPECT_NEAR(price.time.value(), 2, 1e-9);
  EXPECT_EQ(price.source, Source::fitted);
  EXPECT_STREQ(price.law, "gemm roofline bf16");
}

TEST(WorkPrice, BytesBoundGemmIsNotThrottled) {
  Costs costs;
  costs.profile.sustained_slowdown = 1.15;
  KernelWork work = small::gemm(1, Pass::forward);
  EXPECT_NEAR(costs.model().work(work).time.value(), 1.15, 1e-9);
  work.bytes = Bytes(3e12);
  EXPECT_NEAR(costs.model().work(work).time.value(), 3, 1e-6);
}

TEST(WorkPrice, LaunchesAddTheirStart) {
  Costs costs;
  costs.profile.gemm[0].t0 = Seconds(0.125);
  KernelWork work = small::gemm(1, Pass::forward);
  work.launches = 3;
  EXPECT_NEAR(costs.model().work(work).time.value(), 1.375, 1e-9);
}

TEST(WorkPrice, ImbalanceWaitsForTheSlowestRank) {
  KernelWork work = small::gemm(1, Pass::forward);
  work.imbalance = 1.5;
  EXPECT_NEAR(Costs().model().work(work).time.value(), 1.5, 1e-9);
}

TEST(WorkPrice, OddHeadSizesLeaveTheTensorCores) {
  KernelWork work = small::gemm(1, Pass::forward);
  work.head_dim = 128;
  EXPECT_NEAR(Costs().model().work(work).time.value(), 1, 1e-9);
  work.head_dim = 150;
  // 100 TFLOP/s on tensor cores beside CUDA cores of 1/13 of it in fp32, of which products reach 0.65.
  Costs costs;
  costs.machine.gpu.peak[static_cast<int>(Precision::fp32)] = FlopsPerSecond(1e14 / 13);
  EXPECT_NEAR(costs.model().work(work).time.value(), 20, 1e-9);
  costs.machine.gpu.peak[static_cast<int>(Precision::fp32)] = FlopsPerSecond(1e15);
  EXPECT_NEAR(costs.model().work(work).time.value(), 1, 1e-9) << "never faster than the tensor cores";
}

TEST(WorkPrice,
    AttentionBackwardCostsItsExecutedFlops) {  // efficiency 1: 2.5 units executed take 2.5 times the forward
  KernelWork work = small::gemm(1, Pass::forward);
  work.kernel = KernelClass::attention;
  work.sequence = 4096;
  EXPECT_NEAR(Costs().model().work(work).time.value(), 1, 1e-9);
  work.flops = work.flops * 2.5;
  work.backward = true;
  EXPECT_NEAR(Costs().model().work(work).time.value(), 2.5, 1e-9);
}

TEST(WorkPrice, PointwiseIsBytesOverBandwidth) {
  KernelWork work;
  work.bytes = Bytes(5e11);
  const Price price = Costs().model().work(work);
  EXPECT_NEAR(price.time.value(), 0.5, 1e-9);
  EXPECT_STREQ(price.law, "memory stream");
}

TEST(WorkPrice, UnmeasuredPrecisionSaysDatasheet) {
  Costs costs;
  costs.machine.gpu.peak[static_cast<int>(Precision::fp8)] = FlopsPerSecond(1000e12);
  KernelWork work = small::gemm(7, Pass::forward);
  work.element_bytes = 1;
  const Price price = costs.model(Precision::fp8).work(work);
  EXPECT_EQ(price.source, Source::datasheet);
  EXPECT_GT(price.time.value(), 0.7) << "never above the peak";
  EXPECT_LT(price.time.value(), 1.1);
}

TEST(WorkParts, SayWhosePeakLimitsAndWhatStartsIt) {
  Costs costs;
  costs.profile.gemm[0].t0 = Seconds(0.125);
  KernelWork work = small::gemm(1, Pass::forward);
  work.launches = 3;
  const WorkParts product = costs.model().parts(work);
  EXPECT_EQ(product.precision, Precision::bf16);
  EXPECT_EQ(product.operand_bytes, 2);
  EXPECT_EQ(product.bytes, work.bytes);
  EXPECT_NEAR(product.launch.value(), 0.375, 1e-9);
  work.head_dim = 150;
  EXPECT_EQ(costs.model().parts(work).precision, Precision::fp32) << "off the tensor cores";
  work.kernel = KernelClass::pointwise;
  EXPECT_EQ(costs.model().parts(work).precision, Precision::bf16);
  work.element_bytes = 4;
  EXPECT_EQ(costs.model().parts(work).precision, Precision::fp32) << "nothing of it runs in tf32";
}

TEST(WorkParts, NarrowPlansCastDown) {
  KernelWork work = small::gemm(1, Pass::forward);
  work.m = 1000, work.n = 2000, work.k = 500;
  work.bytes = Bytes(2 * (1000 * 500 + 500 * 2000 + 1000 * 2000));
  const WorkParts cast = Costs().model(Precision::fp8).parts(work);
  EXPECT_EQ(cast.precision, Precision::fp8);
  EXPECT_EQ(cast.operand_bytes, 1);
  EXPECT_EQ(cast.bytes.value(), 1000 * 500 + 500 * 2000 + 2 * 1000 * 2000);
  EXPECT_EQ(cast.casting.value(), 2 * 1000 * 500);
  work.pass = Pass::weight_grad;
  EXPECT_EQ(Costs().model(Precision::fp8).parts(work).casting.value(), 0) << "both operands were cast before";
  work.keeps_width = true;
  EXPECT_EQ(Costs().model(Precision::fp8).parts(work).precision, Precision::bf16);
  work.kernel = KernelClass::attention;
  EXPECT_EQ(Costs().model(Precision::fp8).parts(work).precision, Precision::bf16);
}

/// What mixes streams has the bytes and the start of its law, which the price is made of, not those of any pass over
/// memory; its product is in fp32.
TEST(WorkParts, MixingHasTheBytesAndTheStartOfItsLaw) {
  Costs costs;
  HyperConnectionLaw law;
  law.t0 = Seconds(6e-6), law.per_row_byte = Seconds(1e-10), law.softness = 2;
  law.near_bytes = Bytes(1e6), law.near_rate = law.memory = BytesPerSecond(3e12);
  costs.profile.hyper_connections = {law};
  KernelWork work;
  work.kernel = KernelClass::pointwise, work.pass = Pass::forward;
  work.m = 1e5, work.k = 4096, work.n = 24, work.streams = 4;
  work.bytes = Bytes(2 * work.m * work.k * 5);  // every element once: four streams, and what the sublayer reads
  const WorkParts parts = costs.model().parts(work);
  EXPECT_EQ(parts.precision, Precision::fp32);
  EXPECT_EQ(parts.bytes.value(), 2 * work.m * work.k * 9) << "the streams are read twice";
  EXPECT_NEAR(parts.launch.value(), 6e-6 + 1e-10 * 2 * 4 * 4096, 1e-12);
  const double moving = parts.bytes / law.memory / Seconds(1);
  EXPECT_NEAR(costs.model().work(work).time.value(), std::hypot(parts.launch.value(), moving), 1e-9);
}

TEST(WorkPrice, NoKernelBeatsThePeak) {
  for (const double seconds : {1e-6, 1e-3, 1.0}) {
    const KernelWork work = small::gemm(seconds, Pass::forward);
    EXPECT_LE(work.flops.value() / Costs().model().work(work).time.value(), 200e12);
  }
}

TEST(MovePrice, InsideANodeIsTheCurve) {
  EXPECT_NEAR(Costs().move(MoveKind::all_gather, 50e9, small::group(1, 4)), 0.5, 1e-9);
}

TEST(MovePrice, LocalMovesAreFree) {
  EXPECT_EQ(Costs().move(MoveKind::slice, 50e9, small::group(1, 4)), 0);
  EXPECT_EQ(Costs().move(MoveKind::all_reduce, 50e9, small::group(1, 1)), 0);
}

TEST(MovePrice, OneMemberPerNodeHasItsOwnPort) {  // 20 GB through 10 GB/s
  EXPECT_NEAR(Costs().move(MoveKind::all_gather, 20e9, small::group(4, 4)), 2, 1e-9);
}

TEST(MovePrice,
    AWholeNodeSharesItsPorts) {  // 40 GB through four ports of 10 GB/s; inside it takes 0.4 s at the same time
  EXPECT_NEAR(Costs().move(MoveKind::all_reduce, 40e9, small::group(1, 16)), 1, 1e-9);
}

TEST(MovePrice, AnExchangeUsesEachRanksPort) {  // of 15 peers 12 are outside: 15 GB x 12/15 over 10 GB/s
  EXPECT_NEAR(Costs().move(MoveKind::all_to_all, 15e9, small::group(1, 16)), 1.2, 1e-9);
}

TEST(MovePrice, TheOutermostTierDecidesWhenItIsSlowest) {
  // 32 ranks: 64 GB; through the rack's ports 64/(4 x 10) = 1.6 s, out of the rack 64/(16 x 2) = 2 s
  EXPECT_NEAR(Costs().move(MoveKind::all_gather, 64e9, small::group(1, 32)), 2, 1e-9);
}

TEST(MovePrice, ScaleOutLatencyIsAdded) {
  Costs costs;
  costs.profile.scale_out[0].base = Seconds(0.25);
  costs.profile.scale_out[0].per_doubling = Seconds(0.125);
  EXPECT_NEAR(costs.move(MoveKind::all_gather, 20e9, small::group(4, 4)), 2 + 0.25 + 2 * 0.125, 1e-9);
}

TEST(MovePrice, ARingPaysItsStepsOneByOne) {
  Move ring;
  ring.kind = MoveKind::ring;
  ring.steps = 3;
  ring.received = Bytes(30e9);
  EXPECT_NEAR(Costs().model().move(ring, small::group(1, 4)).time.value(), 0.3, 1e-9);
  // Over four nodes, one member each: 10 GB per step through a 10 GB/s port.
  EXPECT_NEAR(Costs().model().move(ring, small::group(4, 4)).time.value(), 3, 1e-9);
}

TEST(MovePrice, SeparateCallsEachPayTheirStart) {
  Costs costs;
  for (CollectiveCurve& curve : costs.profile.collectives) curve.latency = Seconds(0.5);
  Move move;
  move.received = Bytes(100e9);
  move.launches = 4;
  EXPECT_NEAR(costs.model().move(move, small::group(1, 4)).time.value(), 1 + 4 * 0.5, 1e-9);
}

TEST(MovePrice, WithoutALawItSaysSo) {
  Costs costs;
  costs.profile.scale_out.clear();
  costs.profile.collectives.clear();
  Move move;
  move.received = Bytes(1e9);
  EXPECT_EQ(costs.model().move(move, small::group(1, 4)).source, Source::datasheet);
  EXPECT_EQ(costs.model().move(move, small::group(4, 4)).source, Source::transferred)
      << "what published tables of other clusters say";
}

TEST(MovePrice, AcrossNodesTheMostDoubtfulLawIsTheSource) {  // the curve decides the time, the ports' law is a guess
  Costs costs;
  costs.profile.scale_out[0].source = Source::assumed;
  costs.profile.scale_out[0].spread = {0.5, 2};
  costs.machine.levels[1].bandwidth_per_gpu = BytesPerSecond(1e12);
  Move move;
  move.received = Bytes(1e9);
  const Price price = costs.model().move(move, small::group(1, 16));
  EXPECT_NEAR(price.time.value(), 0.01, 1e-9);
  EXPECT_STREQ(price.law, "curve nvswitch all_gather");
  EXPECT_EQ(price.source, Source::assumed);
  EXPECT_EQ(price.spread.p90, 2);
}

TEST(SendPrice, DistanceDecidesTheTier) {
  const Costs costs;
  EXPECT_EQ(costs.model().send(Bytes(10e9), 0).time.value(), 0);
  EXPECT_NEAR(costs.model().send(Bytes(10e9), 1).time.value(), 0.1, 1e-9);
  EXPECT_NEAR(costs.model().send(Bytes(10e9), 4).time.value(), 1, 1e-9);
  EXPECT_NEAR(costs.model().send(Bytes(10e9), 16).time.value(), 5, 1e-9);
}

TEST(SendPrice, NearRanksMayStandOnTwoNodes) {
  const Costs costs;
  EXPECT_NEAR(costs.model().send(Bytes(10e9), 2, 3).time.value(), 0.1, 1e-9);
  EXPECT_NEAR(costs.model().send(Bytes(10e9), 3, 4).time.value(), 1, 1e-9);
}

}  // namespace
}  // namespace stepcast::sim::cost_test
