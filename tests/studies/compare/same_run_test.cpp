#include "studies/compare/same_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/compare/hand_trace.h"

namespace stepcast::comparison::same_run_test {
namespace {

using hand_trace::HandEvent;
using hand_trace::trace_of;
using testing::HasSubstr;

std::string error_of(const Expected<void>& checked) { return checked ? "" : to_text(checked.error()); }

ReadTrace rank_of(const std::vector<HandEvent>& events, std::int64_t rank) {
  RankTrace trace = trace_of(events);
  trace.rank = rank, trace.world = 2, trace.file = rank == 0 ? "a.json" : "b.json";
  FoundSteps steps = find_steps(trace);
  return {std::move(trace), std::move(steps)};
}

TEST(SameRun, RanksOfOneJobRunTheSameKernels) {
  const std::vector<HandEvent> events{{"a_gemm", 0, 100}, {"b_softmax", 100, 120}};
  EXPECT_TRUE(check_one_job({rank_of(events, 0), rank_of(events, 1)}));
  const std::vector<HandEvent> others{{"c_gemm", 0, 100}, {"b_softmax", 100, 120}};
  EXPECT_THAT(
      error_of(check_one_job({rank_of(events, 0), rank_of(others, 1)})), HasSubstr("17 % of its kernels' time"));
  EXPECT_THAT(error_of(check_one_job({rank_of(events, 1), rank_of(events, 1)})), HasSubstr("is of rank 1, as"));
}

/// Layers of a product and attention, which the first of them run again; `flops` of each product, 0: not recorded.
TimeSplit layers_of(int layers, double flops, double product = 100, int again = 0) {
  std::vector<HandEvent> events;
  double at = 0;
  for (int i = 0; i < layers; ++i) {
    events.push_back({"a_gemm", at, at + product});
    events.push_back({"flash_fwd", at + product, at + product + 20});
    at += product + 20;
    if (i >= again) continue;
    events.push_back({"flash_fwd again", at, at + 20});
    at += 20;
  }
  TimeSplit split = split_time(trace_of(events), 0, at);
  for (SplitProduct& one : split.products) one.flops = flops;
  return split;
}

/// Twelve layers of 1 GFLOP in 100 us each, on a GPU of 20 TFLOP/s.
std::string error_beside(const TimeSplit& measured, const TimeSplit& expected = layers_of(12, 1e9)) {
  RankTrace trace;
  trace.file = "trace.json";
  return error_of(check_run({"", 1, 12e9, 20e12, "another run"}, trace, expected, measured));
}

TEST(SameRun, OtherNetworksAreToldByTheirWork) {
  EXPECT_EQ(error_beside(layers_of(12, 1e9)), "");
  EXPECT_EQ(error_beside(layers_of(12, 0, 250)), "") << "slow is not another network";
  EXPECT_EQ(error_beside(layers_of(24, 0)), "") << "a forward pass that runs again";
  EXPECT_THAT(error_beside(layers_of(12, 1.5e9)), HasSubstr("multiply 1.8e+10 FLOPs, and the forecast 1.2e+10"));
  EXPECT_THAT(error_beside(layers_of(12, 0, 40)), HasSubstr("1.2 times the GPU's peak"));
  EXPECT_THAT(error_beside(layers_of(12, 0, 450)), HasSubstr("it is of another run"));
  EXPECT_THAT(error_beside(layers_of(6, 0, 200)), HasSubstr("6 forward kernels of attention, and the forecast has 12"));
  EXPECT_THAT(error_beside(layers_of(29, 0)), HasSubstr("29 forward kernels of attention, and the forecast has 12"));
}

/// A trace has one name for kernels that run and run again: 4 of 12 layers make 16, or 32 of a library that has two.
TEST(SameRun, RecomputationOfSomeLayersIsTheSameRun) {
  const TimeSplit recomputed = layers_of(12, 1e9, 100, 4);
  EXPECT_EQ(error_beside(layers_of(16, 0), recomputed), "");
  EXPECT_EQ(error_beside(layers_of(32, 0), recomputed), "");
  EXPECT_EQ(error_beside(layers_of(12, 0), recomputed), "") << "the run does not recompute";
  EXPECT_EQ(error_beside(layers_of(16, 0)), "") << "the forecast does not";
  EXPECT_THAT(error_beside(layers_of(29, 0), recomputed),
      HasSubstr("has 12 layers and micro-batches, and runs 4 of them again"));
  EXPECT_THAT(error_beside(layers_of(8, 0, 150), recomputed), HasSubstr("has 8 forward kernels of attention"));
}

TEST(SameRun, BackwardKernelsAreToldByTheirNames) {
  for (const char* name :
      {"attention dX", "flash_bwd_dq_dk_dv", "bwd_kernel_dk_dv", "cudnn_flash_bprop", "FlashAttnBwdSm90"})
    EXPECT_TRUE(is_backward_attention(name)) << name;
  for (const char* name : {"attention", "attention again", "flash_fwd_kernel"})
    EXPECT_FALSE(is_backward_attention(name)) << name;
}

}  // namespace
}  // namespace stepcast::comparison::same_run_test
