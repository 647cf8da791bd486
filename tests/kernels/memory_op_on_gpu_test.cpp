// The operators that device memory bounds against float64, on whatever GPU is there: rows that a warp, a block and
// shared memory hold, in elements of 2 and 4 bytes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/bench/device.h"
#include "kernels/bench/gpu_bench.h"

namespace stepcast::kernels {
namespace {

struct OperatorSize {
  double rows, columns;
};

class MemoryOpOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto found = devices();
    if (!found || found->empty()) GTEST_SKIP() << "skipped: no GPU";
    auto opened = open_gpu(0);
    ASSERT_TRUE(opened) << to_text(opened.error());
    bench_ = std::move(*opened);
  }
  static Work work_of(const char* op, OperatorSize size, double element_bytes) {
    Work work;
    work.what = MemoryQuery{find_memory_op(op), size.rows, size.columns, element_bytes};
    return work;
  }
  void expect_right(const char* op, OperatorSize size, double element_bytes) {
    const Work work = work_of(op, size, element_bytes);
    auto prepared = bench_->prepare(work);
    ASSERT_TRUE(prepared) << to_text(prepared.error());
    const auto allocated = (*prepared)->allocate(2);
    ASSERT_TRUE(allocated) << to_text(allocated.error());
    expect_check(work, **prepared);
    // In place again and again, and over results that are there already.
    ASSERT_TRUE((*prepared)->record(50)) << to_text(work);
    for (int replay = 0; replay < 40; ++replay) ASSERT_TRUE((*prepared)->replay(false)) << to_text(work);
    expect_check(work, **prepared);
  }
  static void expect_check(const Work& work, PreparedWork& prepared) {
    const auto check = prepared.check();
    ASSERT_TRUE(check) << to_text(work) << ": " << to_text(check.error());
    EXPECT_TRUE(check->good()) << to_text(work) << ": error " << check->error << " of " << check->allowed
                               << " allowed in " << check->compared << " elements";
  }
  void expect_refused(const char* op, OperatorSize size, double element_bytes, const std::string& with) {
    const auto prepared = bench_->prepare(work_of(op, size, element_bytes));
    ASSERT_FALSE(prepared) << op;
    EXPECT_NE(to_text(prepared.error()).find(with), std::string::npos) << to_text(prepared.error());
  }
  std::unique_ptr<GpuBench> bench_;
};

const OperatorSize kOperatorSizes[] = {{5, 256}, {2051, 4096}, {300, 16384}};

TEST_F(MemoryOpOnGpu, EveryOperatorOfTheTableInTwoBytes) {
  for (const MemoryOp& op : memory_ops()) {
    if (op.id == "adam") continue;  // counted in elements of four
    for (const OperatorSize& size : kOperatorSizes) expect_right(op.id.data(), size, 2);
  }
}

TEST_F(MemoryOpOnGpu, EveryOperatorOfTheTableInFourBytes) {
  for (const MemoryOp& op : memory_ops()) {
    if (op.id == "quantize" || op.id == "embedding-backward") continue;  // counted in elements of two
    for (const OperatorSize& size : kOperatorSizes) expect_right(op.id.data(), size, 4);
  }
}

TEST_F(MemoryOpOnGpu, VocabulariesAndLongRows) {
  for (const char* op : {"softmax", "softmax-backward", "cross-entropy"}) {
    for (const double columns : {257.0, 32000.0, 50257.0, 151936.0}) {
      expect_right(op, {140, columns}, 2);
      expect_right(op, {9, columns}, 4);
    }
  }
  for (const char* op : {"norm", "norm-backward"}) expect_right(op, {140, 65536}, 2);
}

TEST_F(MemoryOpOnGpu, HeadsOfEverySize) {
  for (const double head : {64.0, 128.0, 256.0}) {
    expect_right("rope", {32 * 5000, head}, 2);
    expect_right("rope", {33, head}, 4);
  }
}

TEST_F(MemoryOpOnGpu, TailsThatAreNoWholeVector) {
  for (const char* op : {"add", "add-scalar", "triad", "gelu", "swiglu", "gelu-backward", "swiglu-backward"}) {
    expect_right(op, {3, 1001}, 2);
    expect_right(op, {3, 1001}, 4);
  }
}

TEST_F(MemoryOpOnGpu, TouchesWhatTheQuestionCounts) {
  const auto touched = [&](const char* op, double element_bytes) {
    const Work work = work_of(op, {4096, 4096}, element_bytes);
    auto prepared = bench_->prepare(work);
    EXPECT_TRUE(prepared) << op;
    return prepared ? (*prepared)->touched() / bytes_of(std::get<MemoryQuery>(work.what)) : 0;
  };
  for (const char* op : {"read", "copy", "triad", "add", "norm", "norm-backward", "softmax", "gelu", "swiglu-backward",
           "rope", "embedding", "quantize"}) {
    EXPECT_NEAR(touched(op, 2), 1, 2e-3) << op;  // ids, weights
  }
  // Written over what was read: 1 of 2 elements, 4.5 of 7.5, and of a gradient and twice a table one of each.
  EXPECT_NEAR(touched("cross-entropy", 2), 0.5, 1e-3);
  EXPECT_NEAR(touched("adam", 4), 0.6, 1e-3);
  EXPECT_NEAR(touched("embedding-backward", 2), 0.6, 1e-3);
}

TEST_F(MemoryOpOnGpu, RefusesWhatItCannotDo) {
  expect_refused("norm", {4, 1001}, 2, "a row is not whole 16-byte vectors");
  expect_refused("copy", {3, 1}, 2, "an array is not whole 16-byte vectors");
  expect_refused("rope", {4, 24}, 2, "half a head is not whole 16-byte vectors");
  expect_refused("rope", {4, 1000}, 2, "heads of 128 or 64");
  expect_refused("adam", {4, 1024}, 2, "4 bytes");
  expect_refused("quantize", {4, 1024}, 4, "2 bytes");
  expect_refused("add", {4, 1024}, 8, "2 or 4 bytes");
  expect_refused("add", {4.5, 1024}, 2, "no whole number");
  EXPECT_TRUE(bench_->usable());
}

}  // namespace
}  // namespace stepcast::kernels
