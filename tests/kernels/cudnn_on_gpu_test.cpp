// cuDNN's attention against float64, forward and backward, on whatever GPU is there.
#include <gtest/gtest.h>

#include <string>

#include "kernels/bench/device.h"
#include "kernels/bench/gpu_bench.h"

namespace stepcast::kernels {
namespace {

class CudnnOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto found = devices();
    if (!found || found->empty()) GTEST_SKIP() << "skipped: no GPU";
    if (found->front().capability_major < 8) GTEST_SKIP() << "skipped: cuDNN's fused attention needs an A100 or newer";
    auto opened = open_gpu(0);
    ASSERT_TRUE(opened) << to_text(opened.error());
    bench_ = std::move(*opened);
    if (bench_->settings().cudnn.empty()) GTEST_SKIP() << "skipped: no cuDNN";
    const auto made = bench_->prepare(work_of(query_of(256, 2, 2, 64)));
    if (!made && made.error().what.find("without cuDNN's headers") != std::string::npos)
      GTEST_SKIP() << "skipped: built without cuDNN's headers";
  }
  static AttentionQuery query_of(double positions, double heads, double kv_heads, double head_dim) {
    AttentionQuery query;
    query.batch = 2;
    query.queries = query.keys = positions;
    query.heads = heads, query.kv_heads = kv_heads, query.head_dim = head_dim;
    return query;
  }
  static Work work_of(const AttentionQuery& query) {
    Work work;
    work.what = query;
    work.source = KernelSource::cudnn;
    return work;
  }
  void expect_right(const AttentionQuery& query) {
    const Work work = work_of(query);
    auto prepared = bench_->prepare(work);
    ASSERT_TRUE(prepared) << to_text(work) << ": " << to_text(prepared.error());
    const auto allocated = (*prepared)->allocate(2);
    ASSERT_TRUE(allocated) << to_text(allocated.error());
    const auto check = (*prepared)->check();
    ASSERT_TRUE(check) << to_text(work) << ": " << to_text(check.error());
    EXPECT_TRUE(check->good()) << to_text(work) << ": error " << check->error << " of " << check->allowed
                               << " allowed, by " << (*prepared)->kernel();
    const auto recorded = (*prepared)->record(4);
    ASSERT_TRUE(recorded) << to_text(recorded.error());
    const auto time = (*prepared)->replay(false);
    ASSERT_TRUE(time) << to_text(time.error());
    EXPECT_GT(*time, Seconds(0));
  }
  void expect_refused(const AttentionQuery& query, const std::string& with) {
    const auto prepared = bench_->prepare(work_of(query));
    ASSERT_FALSE(prepared) << to_text(work_of(query));
    EXPECT_NE(to_text(prepared.error()).find(with), std::string::npos) << to_text(prepared.error());
  }

  std::unique_ptr<GpuBench> bench_;
};

TEST_F(CudnnOnGpu, EveryPassMaskAndPrecision) {
  for (const AttentionPass pass :
      {AttentionPass::forward, AttentionPass::backward, AttentionPass::forward_and_backward})
    for (const bool causal : {true, false})
      for (const Precision precision : {Precision::bf16, Precision::fp16}) {
        AttentionQuery query = query_of(512, 4, 4, 128);
        query.pass = pass;
        query.causal = causal;
        query.precision = precision;
        expect_right(query);
      }
}

TEST_F(CudnnOnGpu, SharedHeadsOfKeysAndSmallHeads) {
  for (const AttentionPass pass : {AttentionPass::forward, AttentionPass::backward}) {
    AttentionQuery shared = query_of(1024, 8, 2, 128);
    shared.pass = pass;
    expect_right(shared);
    AttentionQuery small = query_of(2048, 4, 1, 64);
    small.pass = pass;
    expect_right(small);
  }
}

TEST_F(CudnnOnGpu, OneQueryForEachSequence) {
  for (const double keys : {1024.0, 1000.0, 4096.0})
    for (const double kv_heads : {8.0, 2.0}) {
      AttentionQuery query = query_of(keys, 8, kv_heads, 128);
      query.queries = 1;
      query.pass = AttentionPass::decode;
      expect_right(query);
    }
}

TEST_F(CudnnOnGpu, LengthsThatTilesDoNotDivide) {
  expect_right(query_of(1000, 4, 4, 128));
  expect_right(query_of(333, 4, 2, 64));
}

TEST_F(CudnnOnGpu, WhatItCannotDoIsSaid) {
  AttentionQuery query = query_of(256, 4, 4, 64);
  query.precision = Precision::fp32;
  expect_refused(query, "bf16 and fp16 only");
  query = query_of(256, 4, 4, 64);
  query.pass = AttentionPass::decode;
  expect_refused(query, "whole sequences");
  query = query_of(256, 4, 4, 64);
  query.queries = 128;
  expect_refused(query, "whole sequences");
  expect_refused(query_of(256, 4, 3, 64), "no multiple");
  expect_refused(query_of(256.5, 4, 4, 64), "whole numbers");
}

}  // namespace
}  // namespace stepcast::kernels
