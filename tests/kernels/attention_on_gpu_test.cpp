// Our attention against float64, on whatever GPU is there: every pass, both types and sizes of heads, lengths that
// tiles divide and lengths that they do not, heads that share keys; and what it refuses.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/bench/device.h"
#include "kernels/bench/gpu_bench.h"

namespace stepcast::kernels {
namespace {

class AttentionOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto found = devices();
    if (!found || found->empty()) GTEST_SKIP() << "skipped: no GPU";
    auto opened = open_gpu(0);
    ASSERT_TRUE(opened) << to_text(opened.error());
    bench_ = std::move(*opened);
  }
  static Work work_of(const AttentionQuery& query) {
    Work work;
    work.what = query;
    work.source = KernelSource::stepcast;
    return work;
  }
  /// The types that this GPU has; turns what older ones refuse into fewer cases.
  [[nodiscard]] std::vector<Precision> precisions() const {
    if (bench_->device().capability_major >= 8) return {Precision::bf16, Precision::fp16};
    return {Precision::fp16};
  }
  void expect_right(AttentionQuery query) {
    query.keys = query.queries;
    const Work work = work_of(query);
    auto prepared = bench_->prepare(work);
    ASSERT_TRUE(prepared) << to_text(prepared.error());
    const auto allocated = (*prepared)->allocate(2);
    ASSERT_TRUE(allocated) << to_text(work) << ": " << to_text(allocated.error());
    const auto check = (*prepared)->check();
    ASSERT_TRUE(check) << to_text(work) << ": " << to_text(check.error());
    EXPECT_TRUE(check->good()) << to_text(work) << ": error " << check->error << " of " << check->allowed
                               << " allowed in " << check->compared << " numbers, by " << (*prepared)->kernel();
    // Sums of gradients start from zero again in every call.
    const auto again = (*prepared)->check();
    ASSERT_TRUE(again) << to_text(work) << ": " << to_text(again.error());
    EXPECT_TRUE(again->good()) << to_text(work) << " called again: error " << again->error;
  }
  void expect_refused(const AttentionQuery& query, const std::string& with) {
    const auto prepared = bench_->prepare(work_of(query));
    ASSERT_FALSE(prepared) << to_text(work_of(query));
    EXPECT_NE(to_text(prepared.error()).find(with), std::string::npos) << to_text(prepared.error());
    const auto usable = bench_->usable();
    EXPECT_TRUE(usable) << to_text(usable.error());
  }
  std::unique_ptr<GpuBench> bench_;
};

AttentionQuery usual_attention() {
  AttentionQuery query;
  query.batch = 2, query.queries = query.keys = 512, query.heads = query.kv_heads = 4, query.head_dim = 128;
  query.pass = AttentionPass::forward_and_backward;
  return query;
}

TEST_F(AttentionOnGpu, EveryPassTypeAndSizeOfHeads) {
  for (const Precision precision : precisions())
    for (const double head_dim : {64.0, 128.0})
      for (const AttentionPass pass :
          {AttentionPass::forward, AttentionPass::backward, AttentionPass::forward_and_backward})
        for (const bool causal : {true, false}) {
          AttentionQuery query = usual_attention();
          query.precision = precision, query.head_dim = head_dim, query.pass = pass, query.causal = causal;
          expect_right(query);
        }
}

TEST_F(AttentionOnGpu, LengthsThatNoTileDivides) {
  for (const Precision precision : precisions())
    for (const double positions : {17.0, 63.0, 65.0, 129.0, 1000.0, 2049.0})
      for (const bool causal : {true, false}) {
        AttentionQuery query = usual_attention();
        query.precision = precision, query.queries = positions, query.causal = causal;
        query.head_dim = positions < 100 ? 64 : 128;
        expect_right(query);
      }
}

TEST_F(AttentionOnGpu, HeadsThatShareKeys) {
  for (const Precision precision : precisions())
    for (const double kv_heads : {1.0, 2.0, 8.0})
      for (const double head_dim : {64.0, 128.0}) {
        AttentionQuery query = usual_attention();
        query.precision = precision, query.head_dim = head_dim, query.queries = 777;
        query.heads = 8, query.kv_heads = kv_heads;
        expect_right(query);
      }
}

TEST_F(AttentionOnGpu, LongSequences) {
  AttentionQuery query = usual_attention();
  query.batch = 1, query.queries = 8192, query.heads = 8, query.kv_heads = 2, query.precision = precisions().front();
  expect_right(query);
}

TEST_F(AttentionOnGpu, ReplaysOfAGraph) {
  AttentionQuery query = usual_attention();
  query.precision = precisions().front();
  auto prepared = bench_->prepare(work_of(query));
  ASSERT_TRUE(prepared) << to_text(prepared.error());
  ASSERT_TRUE((*prepared)->allocate(2));
  ASSERT_TRUE((*prepared)->check());
  const auto recorded = (*prepared)->record(4);
  ASSERT_TRUE(recorded) << to_text(recorded.error());
  const auto time = (*prepared)->replay(false);
  ASSERT_TRUE(time) << to_text(time.error());
  EXPECT_GT(time->value(), 0);
  const auto check = (*prepared)->check();
  ASSERT_TRUE(check) << to_text(check.error());
  EXPECT_TRUE(check->good()) << "error " << check->error;
}

TEST_F(AttentionOnGpu, RefusesWhatItHasNoKernelFor) {
  AttentionQuery query = usual_attention();
  query.pass = AttentionPass::decode;
  expect_refused(query, "decoding");
  query = usual_attention();
  query.head_dim = 96;
  expect_refused(query, "head_dim: 64, 128");
  query = usual_attention();
  query.precision = Precision::fp8;
  expect_refused(query, "fp8");
  query = usual_attention();
  query.keys = 256;
  expect_refused(query, "as many queries as keys, not 512 and 256");
  query = usual_attention();
  query.heads = 6;
  expect_refused(query, "divisor of heads");
  query = usual_attention();
  query.queries = query.keys = 0.5;
  expect_refused(query, "whole numbers");
}

}  // namespace
}  // namespace stepcast::kernels
