// Products by cuBLASLt against float64, on whatever GPU is there: every precision that it has, every layout, sizes that
// tiles divide and sizes that they do not.
#include <gtest/gtest.h>

#include <string>

#include "kernels/bench/device.h"
#include "kernels/bench/gpu_bench.h"

namespace stepcast::kernels {
namespace {

struct GemmSize {
  double m, n, k, batch;
};

class GemmOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto found = devices();
    if (!found || found->empty()) GTEST_SKIP() << "skipped: no GPU";
    auto opened = open_gpu(0);
    ASSERT_TRUE(opened) << to_text(opened.error());
    bench_ = std::move(*opened);
  }
  [[nodiscard]] int capability() const {
    return 10 * bench_->device().capability_major + bench_->device().capability_minor;
  }
  static Work work_of(const GemmQuery& query) {
    Work work;
    work.what = query;
    work.source = KernelSource::cublas;
    return work;
  }
  void expect_right(const GemmQuery& query) {
    const Work work = work_of(query);
    auto prepared = bench_->prepare(work);
    ASSERT_TRUE(prepared) << to_text(prepared.error());
    // Two sets, so that the second lies where the next call finds it.
    const auto allocated = (*prepared)->allocate(2);
    ASSERT_TRUE(allocated) << to_text(allocated.error());
    const auto check = (*prepared)->check();
    ASSERT_TRUE(check) << to_text(work) << ": " << to_text(check.error());
    EXPECT_TRUE(check->good()) << to_text(work) << ": error " << check->error << " of " << check->allowed
                               << " allowed in " << check->compared << " entries, by " << (*prepared)->kernel();
    EXPECT_GT(check->compared, 0);
    EXPECT_FALSE((*prepared)->kernel().empty());
  }
  void expect_refused(const GemmQuery& query, const std::string& with) {
    const auto prepared = bench_->prepare(work_of(query));
    ASSERT_FALSE(prepared) << to_text(work_of(query));
    EXPECT_NE(to_text(prepared.error()).find(with), std::string::npos) << to_text(prepared.error());
    const auto usable = bench_->usable();
    EXPECT_TRUE(usable) << to_text(usable.error());
  }
  static bool built_with_older_cublas(const Error& error) {
    return error.what.find("has no such product") != std::string::npos;
  }
  static GemmQuery query_of(const GemmSize& size, Precision precision, GemmLayout layout) {
    GemmQuery query;
    query.m = size.m, query.n = size.n, query.k = size.k, query.batch = size.batch;
    query.precision = precision;
    query.layout = layout;
    return query;
  }

  std::unique_ptr<GpuBench> bench_;
};

constexpr GemmLayout all_gemm_layouts[] = {GemmLayout::tn, GemmLayout::nn, GemmLayout::nt};

TEST_F(GemmOnGpu, WidePrecisionsInEveryLayoutAndShape) {
  constexpr GemmSize sizes[] = {{1, 1, 1, 1}, {3, 5, 7, 1}, {16, 16, 16, 1}, {257, 1000, 129, 1}, {1024, 768, 2048, 1},
      {127, 129, 64, 5}, {8, 4096, 4096, 1}, {1000, 257, 4099, 1}, {128, 128, 64, 48}, {2048, 2048, 8192, 1}};
  struct Wide {
    Precision precision;
    int capability;
  };
  constexpr Wide wide[] = {{Precision::fp32, 0}, {Precision::fp16, 0}, {Precision::tf32, 80}, {Precision::bf16, 80}};
  for (const Wide& one : wide) {
    if (capability() < one.capability) continue;
    for (const GemmLayout layout : all_gemm_layouts)
      for (const GemmSize& size : sizes) expect_right(query_of(size, one.precision, layout));
  }
}

TEST_F(GemmOnGpu, Fp8InItsLayout) {
  if (capability() < 89) {
    expect_refused(query_of({256, 256, 256, 1}, Precision::fp8, GemmLayout::tn), "8.9");
    return;
  }
  for (const GemmSize& size : {GemmSize{256, 512, 1024, 1}, GemmSize{257, 1008, 4096, 1}, GemmSize{16, 16, 16, 1}})
    expect_right(query_of(size, Precision::fp8, GemmLayout::tn));
  const GemmQuery backward = query_of({256, 256, 256, 1}, Precision::fp8, GemmLayout::nt);
  if (capability() / 10 == 10) {
    expect_right(backward);
  } else {
    expect_refused(backward, "tn");
  }
}

TEST_F(GemmOnGpu, BlocksOf128OnHopperOnly) {
  GemmQuery query = query_of({256, 512, 1024, 1}, Precision::fp8, GemmLayout::tn);
  query.block_scaled = true;
  const auto prepared = bench_->prepare(work_of(query));
  if (!prepared && built_with_older_cublas(prepared.error())) GTEST_SKIP() << "skipped: cuBLASLt before 12.9";
  if (capability() != 90) {
    expect_refused(query, "block");
    return;
  }
  expect_right(query);
  query.m = 384, query.n = 1024, query.k = 7168;
  expect_right(query);
}

TEST_F(GemmOnGpu, FinerBlocksFromBlackwellOn) {
  for (const Precision precision : {Precision::mxfp8, Precision::nvfp4}) {
    const GemmQuery query = query_of({256, 512, 1024, 1}, precision, GemmLayout::tn);
    const auto prepared = bench_->prepare(work_of(query));
    if (!prepared && built_with_older_cublas(prepared.error())) GTEST_SKIP() << "skipped: cuBLASLt before 12.8";
    if (capability() < 100) {
      expect_refused(query, "10.0");
    } else {
      expect_right(query);
    }
  }
}

TEST_F(GemmOnGpu, WhatItCannotDoIsSaid) {
  GemmQuery cast = query_of({256, 256, 256, 1}, Precision::fp16, GemmLayout::tn);
  cast.casts_x = true;
  expect_refused(cast, "quantize");
  expect_refused(query_of({256.5, 256, 256, 1}, Precision::fp16, GemmLayout::tn), "whole numbers");
  expect_refused(query_of({0, 256, 256, 1}, Precision::fp16, GemmLayout::tn), "whole numbers");
  expect_refused(query_of({256, 256, 3e9, 1}, Precision::fp16, GemmLayout::tn), "whole numbers");
  if (capability() >= 89)
    expect_refused(query_of({256, 1001, 256, 1}, Precision::fp8, GemmLayout::tn), "multiples of 16");
}

TEST_F(GemmOnGpu, WeightGradientsStayRightAfterManyCalls) {
  const GemmQuery query = query_of({512, 512, 1024, 1}, Precision::fp16, GemmLayout::nt);
  auto prepared = bench_->prepare(work_of(query));
  ASSERT_TRUE(prepared) << to_text(prepared.error());
  EXPECT_EQ((*prepared)->touched(), Bytes(2.0 * 2 * 512 * 1024 + 4.0 * 512 * 512));
  ASSERT_TRUE((*prepared)->allocate(2));
  ASSERT_TRUE((*prepared)->record(1000));
  for (int replay = 0; replay < 3; ++replay) {
    const auto time = (*prepared)->replay(false);
    ASSERT_TRUE(time) << to_text(time.error());
    EXPECT_GT(*time, Seconds(0));
  }
  const auto check = (*prepared)->check();
  ASSERT_TRUE(check) << to_text(check.error());
  EXPECT_TRUE(check->good()) << check->error << " of " << check->allowed;
}

}  // namespace
}  // namespace stepcast::kernels
