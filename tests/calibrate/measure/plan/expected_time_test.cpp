// Durations to plan with, on a made-up GPU of round figures: 1 PFLOP/s, 1 TB/s.
#include "calibrate/measure/plan/expected_time.h"

#include <gtest/gtest.h>

#include "calibrate/measure/plan/plan.h"
#include "model/catalog.h"

namespace stepcast::calibrate {
namespace {

Gpu plain_gpu() {
  Gpu gpu;
  gpu.id = "round";
  gpu.multiprocessors = 100;
  gpu.peak[static_cast<int>(Precision::bf16)] = FlopsPerSecond(1e15);
  gpu.peak[static_cast<int>(Precision::fp8)] = FlopsPerSecond(2e15);
  gpu.memory = Bytes(80e9);
  gpu.memory_bandwidth = BytesPerSecond(1e12);
  gpu.l2 = Bytes(50e6);
  return gpu;
}

double microseconds_of(const Query& query) { return expected_time(plain_gpu(), query).value() * 1e6; }

TEST(ExpectedTime, of_products) {
  // 1.5e12 FLOP at 0.75 of 1e15, or 1.2 of 2e15 in fp8; and 3 us.
  EXPECT_NEAR(microseconds_of(GemmQuery{.m = 7500, .n = 10000, .k = 10000}), 2003, 0.01);
  EXPECT_NEAR(microseconds_of(GemmQuery{.m = 7500, .n = 10000, .k = 10000, .precision = Precision::fp8}), 1253, 0.01);
  // One row reads its 10000 x 8500 weights: 170 MB at 0.85 TB/s, and 37 kB of its own.
  EXPECT_NEAR(microseconds_of(GemmQuery{.m = 1, .n = 10000, .k = 8500}), 203.0, 0.1);
}

TEST(ExpectedTime, of_attention) {
  // Full: 4 x 1 x 10 x 128 x 4096^2 = 8.59e10 FLOP at 0.3e15; backward 2.5 times that at 0.25e15.
  AttentionQuery query{.batch = 1, .queries = 4096, .keys = 4096, .heads = 10, .kv_heads = 10, .causal = false};
  EXPECT_NEAR(microseconds_of(query), 286.3 + 3, 0.1);
  query.pass = AttentionPass::backward;
  EXPECT_NEAR(microseconds_of(query), 859.0 + 6, 0.1);
  query.pass = AttentionPass::forward_and_backward;
  EXPECT_NEAR(microseconds_of(query), 286.3 + 859.0 + 9, 0.1);
}

TEST(ExpectedTime, of_what_moves_bytes) {
  // 100e6 elements read and written once: 400 MB at 0.8 TB/s. 25 MB over PCIe at 25 GB/s.
  EXPECT_NEAR(microseconds_of(MemoryQuery{find_memory_op("copy"), 1e4, 1e4, 2}), 503, 0.01);
  EXPECT_NEAR(microseconds_of(TransferQuery{TransferKind::host_to_device, Bytes(25e6)}), 1010, 0.01);
  EXPECT_NEAR(microseconds_of(LaunchQuery{}), 5, 0.01);
}

TEST(ExpectedTime, what_the_chip_has_no_units_for_is_slow_not_free) {
  EXPECT_GT(microseconds_of(GemmQuery{.m = 7500, .n = 10000, .k = 10000, .precision = Precision::nvfp4}), 2003);
  Gpu nothing;
  nothing.memory_bandwidth = BytesPerSecond(1e12);
  EXPECT_GT(expected_time(nothing, GemmQuery{.m = 1000, .n = 1000, .k = 1000}).value(), 2e9 / 1e12);
}

TEST(ExpectedTime, every_query_takes_some_on_every_gpu) {
  const std::vector<Query> queries{GemmQuery{}, AttentionQuery{}, MoeQuery{},
      MemoryQuery{find_memory_op("adam"), 1, 1, 4}, CollectiveQuery{.bytes = Bytes(8)},
      TransferQuery{.bytes = Bytes(1)}, LaunchQuery{}};
  for (const Gpu& gpu : built_in().gpus)
    for (const Query& query : queries) {
      EXPECT_GT(expected_time(gpu, query).value(), 0) << gpu.id << " " << work_name(query);
      EXPECT_LT(expected_time(gpu, query).value(), 1e-3) << gpu.id << " " << work_name(query);
    }
}

TEST(ExpectedTime, memory_of_one_set) {
  // 100 x 200 and 300 x 200 in two bytes, 100 x 300 of results in two; a weight gradient's in four.
  EXPECT_EQ(bytes_taken(GemmQuery{.m = 100, .n = 300, .k = 200}).value(), 2 * 20000 + 2 * 60000 + 2 * 30000);
  EXPECT_EQ(bytes_taken(GemmQuery{.m = 100, .n = 300, .k = 200, .layout = GemmLayout::nt}).value(),
      2 * 20000 + 2 * 60000 + 4 * 30000);
  // Q, K, V and O of 2 x 16 heads x 64 in two bytes, and a sum per query in four.
  const AttentionQuery core{.batch = 2, .queries = 100, .keys = 100, .heads = 16, .kv_heads = 16, .head_dim = 64};
  EXPECT_EQ(bytes_taken(core).value(), 2.0 * 4 * 2 * 100 * 16 * 64 + 4 * 2 * 100 * 16);
  EXPECT_EQ(bytes_taken(LaunchQuery{}).value(), 0);
}

TEST(ExpectedTime, a_campaign_spends_at_most_what_the_rules_allow) {
  PlanRequest request;
  request.gpu = plain_gpu();
  PlannedWork work;
  work.works = {Work{LaunchQuery{}, KernelSource::cuda, false, {}}};
  // A short one: preparing, 150 ms of replays with the last one begun just before, and a warm-up.
  EXPECT_NEAR(expected_campaign_time(request, work).value(), 0.025 + 150e6 / 1e11 + 0.150 + 2 * 0.002 + 3 * 5e-6, 1e-6);
  // A long one: ten replays of one call each, and as long a rest, are longer than 150 ms; its gigabyte is pinned first.
  work.works = {Work{TransferQuery{TransferKind::host_to_device, Bytes(1e9)}, KernelSource::cuda, false, {}}};
  const double call = 0.04 + 1e-5;
  EXPECT_NEAR(expected_campaign_time(request, work).value(), 0.025 + 1e9 / 1e11 + 1.0 + (3 + 1 + 10 + 10) * call, 1e-6);
}

}  // namespace
}  // namespace stepcast::calibrate
