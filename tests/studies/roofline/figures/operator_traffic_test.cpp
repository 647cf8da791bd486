// Bytes of a kernel on two levels, by hand where they can be.
#include "studies/roofline/figures/operator_traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataflow/chip/account/gemm_kernel.h"

namespace stepcast::roofline {
namespace {

Gpu gpu_with(int multiprocessors, double l2) {
  Gpu gpu;
  gpu.multiprocessors = multiprocessors;
  gpu.l2 = Bytes(l2);
  return gpu;
}

KernelWork product_work(double m, double n, double k, double result_bytes = 2) {
  KernelWork work;
  work.kernel = KernelClass::gemm;
  work.m = m, work.n = n, work.k = k;
  work.flops = Flops(2 * m * n * k);
  work.bytes = Bytes((m * k + k * n) * 2 + m * n * result_bytes);
  return work;
}

WorkParts plain_parts(const KernelWork& work) {
  return {Precision::bf16, work.element_bytes, work.bytes, Bytes(), Seconds()};
}

TEST(OperatorTraffic, OneTileReadsItsOperandsOnceOnBothLevels) {
  const KernelWork work = product_work(256, 128, 64);
  const OperatorTraffic traffic = operator_traffic(work, plain_parts(work), gpu_with(1, 50e6));
  EXPECT_DOUBLE_EQ(traffic.hbm.value(), work.bytes.value());
  EXPECT_DOUBLE_EQ(traffic.l2.value(), work.bytes.value());
  EXPECT_EQ(traffic.l2_from, "tiles of 256 x 128, waves of 1 x 1");
}

TEST(OperatorTraffic, EveryTileReadsItsRowsAndColumnsFromL2) {
  const KernelWork work = product_work(1024, 512, 2048);  // 4 x 4 tiles of 256 x 128 on 16 multiprocessors
  const OperatorTraffic traffic = operator_traffic(work, plain_parts(work), gpu_with(16, 50e6));
  EXPECT_DOUBLE_EQ(traffic.l2.value(), 2.0 * (1024 * 2048 * 4 + 2048 * 512 * 4) + 2.0 * 1024 * 512);
  EXPECT_DOUBLE_EQ(traffic.hbm.value(), work.bytes.value());
}

TEST(OperatorTraffic, DeviceMemoryIsReadAgainWhereL2IsSmall) {
  const KernelWork work = product_work(16384, 16384, 16384);
  const OperatorTraffic traffic = operator_traffic(work, plain_parts(work), gpu_with(132, 50e6));
  EXPECT_GT(traffic.hbm.value(), 1.5 * work.bytes.value());
  EXPECT_LT(traffic.hbm, traffic.l2);
  EXPECT_DOUBLE_EQ(traffic.hbm.value(), gemm_traffic({16384, 16384, 16384}, {132, Bytes(50e6)}).hbm_bytes);
}

TEST(OperatorTraffic, AccumulatorKeepsItsWidth) {
  const KernelWork work = product_work(256, 128, 64, 6);
  const OperatorTraffic traffic = operator_traffic(work, plain_parts(work), gpu_with(1, 50e6));
  EXPECT_DOUBLE_EQ(traffic.hbm.value(), (256 * 64 + 64 * 128) * 2 + 256 * 128 * 6);
}

TEST(OperatorTraffic, NarrowOperandsCountAsTheyAreMultiplied) {
  const KernelWork work = product_work(256, 128, 64);
  const double operands = 256 * 64 + 64 * 128, cast = 2.0 * 256 * 64;
  const WorkParts parts{Precision::fp8, 1, work.bytes - Bytes(operands), Bytes(cast), Seconds()};
  const OperatorTraffic traffic = operator_traffic(work, parts, gpu_with(1, 50e6));
  EXPECT_DOUBLE_EQ(traffic.hbm.value(), operands + 2 * 256 * 128 + cast);
  EXPECT_DOUBLE_EQ(traffic.l2.value(), traffic.hbm.value());
}

TEST(OperatorTraffic, GpuThatSaysNothingOfItsL2HasEachByteOnce) {
  const KernelWork work = product_work(16384, 16384, 16384);
  for (const Gpu& gpu : {gpu_with(0, 50e6), gpu_with(132, 0)}) {
    const OperatorTraffic traffic = operator_traffic(work, plain_parts(work), gpu);
    EXPECT_DOUBLE_EQ(traffic.hbm.value(), work.bytes.value());
    EXPECT_DOUBLE_EQ(traffic.l2.value(), work.bytes.value());
    EXPECT_THAT(traffic.l2_from, testing::HasSubstr("each byte once"));
  }
}

/// 8 heads of 128 over 4096 positions, not causal: queries, keys, values and results once are 4 x 8 x 4096 x 128
/// elements.
KernelWork attention_work(bool backward) {
  const double heads = 8, positions = 4096, head = 128;
  KernelWork work;
  work.kernel = KernelClass::attention;
  work.backward = backward;
  work.sequence = positions;
  work.head_dim = head;
  work.flops = Flops((backward ? 10 : 4) * heads * positions * positions * head);
  work.bytes = Bytes((backward ? 8 : 4) * heads * positions * head * 2);
  return work;
}

TEST(OperatorTraffic, BlocksOfQueriesReadAllKeysAndValues) {
  const KernelWork work = attention_work(false);
  const OperatorTraffic traffic = operator_traffic(work, plain_parts(work), gpu_with(132, 50e6));
  const double matrix = 8 * 4096 * 128 * 2;  // bytes of all queries
  EXPECT_DOUBLE_EQ(traffic.l2.value(), 2 * matrix + (4096 / 128) * 2 * matrix);
  EXPECT_EQ(traffic.hbm, work.bytes);
  EXPECT_EQ(traffic.l2_from, "queries in blocks of 128");
}

TEST(OperatorTraffic, BackwardBlocksOfKeysReadQueriesAndAddTheirGradients) {
  const KernelWork work = attention_work(true);
  const OperatorTraffic traffic = operator_traffic(work, plain_parts(work), gpu_with(132, 50e6));
  const double matrix = 8 * 4096 * 128 * 2;
  // Queries and gradients of results in 2 bytes, gradients of queries in 4; keys, values, their gradients and results
  // once.
  EXPECT_DOUBLE_EQ(traffic.l2.value(), 5 * matrix + (4096 / 128) * (2 * matrix + 2 * matrix));
  EXPECT_EQ(traffic.l2_from, "keys in blocks of 128");
}

TEST(OperatorTraffic, ShortSequencesNeverMoveLessInsideThanOutside) {
  KernelWork work = attention_work(false);
  work.flops = work.flops / 1000;
  const OperatorTraffic traffic = operator_traffic(work, plain_parts(work), gpu_with(132, 50e6));
  EXPECT_EQ(traffic.l2, traffic.hbm);
}

TEST(OperatorTraffic, PointwisePassesOnce) {
  KernelWork work;
  work.bytes = Bytes(1e9);
  const OperatorTraffic traffic = operator_traffic(work, plain_parts(work), gpu_with(132, 50e6));
  EXPECT_EQ(traffic.hbm.value(), 1e9);
  EXPECT_EQ(traffic.l2.value(), 1e9);
  EXPECT_EQ(traffic.l2_from, "each byte once");
}

}  // namespace
}  // namespace stepcast::roofline
