// What a stack and a narrow plan change in the price of a kernel or a move.
#include <gtest/gtest.h>

#include "model/catalog.h"
#include "sim/cost.h"

namespace stepcast {
namespace {

const Machine& dgx() { return **find_row(catalog().machines, "dgx-h100", "machine"); }
const Profile& h100() { return **find_row(catalog().profiles, "h100-sxm", "profile"); }

Stack bare_stack() {
  Stack stack = **find_row(catalog().stacks, "megatron-core", "stack");
  stack.compute_factors.clear();
  return stack;
}

/// 8192 x 8192 x 8192: 1.1 TFLOP, far above the memory bound.
KernelWork cube(const char* label, double head_dim = 0) {
  KernelWork work;
  work.label = label;
  work.kernel = KernelClass::gemm;
  work.m = work.n = work.k = 8192;
  work.head_dim = head_dim;
  work.flops = work.useful = Flops(2.0 * 8192 * 8192 * 8192);
  work.bytes = Bytes(3.0 * 2 * 8192 * 8192);
  return work;
}

/// A product that a narrower plan leaves in its own type.
KernelWork kept(KernelWork work) {
  work.keeps_width = true;
  return work;
}

Seconds time_of(const Stack& stack, Precision precision, const KernelWork& work) {
  return CostModel(dgx(), h100(), stack, precision).work(work).time;
}

TEST(StackPrices, NarrowPlansSpeedUpProjectionsOnly) {
  const Stack stack = bare_stack();
  const double wide = time_of(stack, Precision::bf16, cube("mlp.up")).value();
  EXPECT_GT(wide / time_of(stack, Precision::fp8, cube("mlp.up")).value(), 1.5);  // 2 less the cast
  EXPECT_LT(wide / time_of(stack, Precision::fp8, cube("mlp.up")).value(), 2.1);
  EXPECT_DOUBLE_EQ(time_of(stack, Precision::fp8, kept(cube("head"))).value(), wide);
  EXPECT_DOUBLE_EQ(time_of(stack, Precision::fp8, kept(cube("mtp.head dX"))).value(), wide);
  EXPECT_DOUBLE_EQ(time_of(stack, Precision::fp8, kept(cube("attn.core.scores", 128))).value(), wide);
}

TEST(StackPrices, CastsAreChargedWhereTheLeftOperandIsNew) {
  const Stack stack = bare_stack();
  KernelWork work = cube("mlp.up");
  const Seconds forward = time_of(stack, Precision::fp8, work);
  work.pass = Pass::weight_grad;
  const Seconds weight_grad = time_of(stack, Precision::fp8, work);
  const Seconds cast = Bytes(2.0 * 8192 * 8192) / h100().memory.memory;
  EXPECT_NEAR((forward - weight_grad).value(), cast.value(), 1e-12);
}

TEST(StackPrices, ComputeFactorStretchesProductsAndAttention) {
  Stack stack = bare_stack();
  const double before = time_of(stack, Precision::bf16, cube("mlp.up")).value();
  stack.compute_factors = {{Precision::bf16, "", 1.2, 0.9, 1.3, "test"}};
  const double ratio = time_of(stack, Precision::bf16, cube("mlp.up")).value() / before;
  EXPECT_GT(ratio, 1.18);
  EXPECT_LE(ratio, 1.2);
  EXPECT_DOUBLE_EQ(time_of(stack, Precision::fp16, cube("mlp.up")).value(), time_of(bare_stack(), Precision::fp16, cube("mlp.up")).value());
}

TEST(StackPrices, BlockingLaunchesAddAGapPerKernel) {
  Stack stack = bare_stack();
  KernelWork work = cube("mlp.up");
  const Seconds before = time_of(stack, Precision::bf16, work);
  stack.launch_gap = Seconds(1e-4);
  EXPECT_NEAR((time_of(stack, Precision::bf16, work) - before).value(), 1e-4, 1e-12);
}

TEST(StackPrices, PiecesHideAllButTheFirst) {
  Stack stack = bare_stack();
  Move gather;
  gather.kind = MoveKind::all_gather;
  gather.received = Bytes(1e8);
  Group node;
  node.size = 8;
  node.digits = {{1, 8}};
  const auto price = [&] { return CostModel(dgx(), h100(), stack, Precision::bf16).move(gather, node).time.value(); };
  stack.activation_pieces = 4;
  stack.activation_moves = Manners::blocking;
  const double whole = price();
  stack.activation_moves = Manners::overlapped;
  const double slow = h100().overlap.compute_slowdown;
  EXPECT_NEAR(price() / whole, 0.25 + 0.75 * slow / (1 + slow), 1e-9);
  gather.cargo = Cargo::weight;
  EXPECT_NEAR(price() / whole, 1, 1e-9);
}

}  // namespace
}  // namespace stepcast
