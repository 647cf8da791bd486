// What a stack and a narrow plan change in the price of a kernel or a move.
#include <gtest/gtest.h>

#include "model/catalog.h"
#include "sim/cost.h"

namespace stepcast::sim {
namespace {

const Machine& dgx() { return **find_row(built_in().machines, "dgx-h100", "machine"); }
const Profile& h100() { return **find_row(built_in().profiles, "h100-sxm", "profile"); }

Stack bare_stack() { return **find_row(built_in().stacks, "megatron-core", "stack"); }

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
  return CostModel(dgx(), h100(), stack, precision, 1).work(work).time;  // one GPU waits for no other
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
  work.pass = Pass::input_grad;  // both gradients add up apart (GradientsInFp8AddUpApartOnHopper)
  const Seconds input_grad = time_of(stack, Precision::fp8, work);
  work.pass = Pass::weight_grad;
  const Seconds weight_grad = time_of(stack, Precision::fp8, work);
  const Seconds cast = Bytes(2.0 * 8192 * 8192) / h100().memory.memory;
  EXPECT_NEAR((input_grad - weight_grad).value(), cast.value(), 1e-12);
}

TEST(StackPrices, RowsOfExpertsThatRunOneByOneAreCastOnTheirOwn) {  // read once, written as is and transposed
  Stack stack = bare_stack();
  KernelWork work = cube("expert.up");
  work.routed = true;
  const double element = (Bytes(8192.0 * 8192) / h100().memory.memory).value();
  for (const auto& [precision, bytes] : {std::pair{Precision::fp8, 2.0 + 1 + 1}, {Precision::nvfp4, 2.0 + 0.5 + 0.5}}) {
    stack.calls_per_expert = 2;
    const Seconds alone = time_of(stack, precision, work);
    stack.calls_per_expert = 0;
    EXPECT_NEAR((alone - time_of(stack, precision, work)).value(), (bytes - 2) * element, 1e-12)
        << "2 bytes where norms cast for it";
    EXPECT_EQ(time_of(stack, precision, work), time_of(stack, precision, cube("mlp.up")))
        << "a routed product like any other";
  }
  stack.calls_per_expert = 2;
  EXPECT_EQ(time_of(stack, Precision::bf16, work), time_of(stack, Precision::bf16, cube("mlp.up")))
      << "nothing is cast";
}

StepFit fit_of(StepParameter parameter, double value) {
  StepFit fit;
  fit.values = {{parameter, value}};
  return fit;
}

TEST(StackPrices, StepParametersStretchWhatTheyNameAndNothingElse) {
  const Stack stack = bare_stack();
  const KernelWork product = cube("mlp.up");
  KernelWork stream, core;
  stream.kernel = KernelClass::pointwise;
  stream.bytes = Bytes(1e9);
  core.kernel = KernelClass::attention;
  core.flops = core.useful = Flops(1e12);
  core.sequence = 8192;
  const auto ratio = [&](StepParameter parameter, const KernelWork& work) {
    const StepFit fit = fit_of(parameter, 1.2);
    return CostModel(dgx(), h100(), stack, Precision::bf16, 1, &fit).work(work).time /
           time_of(stack, Precision::bf16, work);
  };
  EXPECT_GT(ratio(StepParameter::products, product), 1.18);  // the memory term stays
  EXPECT_LE(ratio(StepParameter::products, product), 1.2);
  EXPECT_GT(ratio(StepParameter::products, core), 1.18);
  EXPECT_EQ(ratio(StepParameter::products, stream), 1);
  EXPECT_GT(ratio(StepParameter::attention, core), 1.18);
  EXPECT_EQ(ratio(StepParameter::attention, product), 1);
  EXPECT_NEAR(ratio(StepParameter::memory, stream), 1.2, 1e-9);
  EXPECT_EQ(ratio(StepParameter::memory, product), 1);
}

TEST(StackPrices, StepParametersOfMovesGoByWhatIsCarried) {
  const Stack stack = bare_stack();
  Group node;
  node.size = 8;
  node.digits = {{1, 8}};
  const auto ratio = [&](StepParameter parameter, MoveKind kind, Cargo cargo) {
    Move move;
    move.kind = kind, move.cargo = cargo, move.received = Bytes(1e8);
    const StepFit fit = fit_of(parameter, 0.5);
    return CostModel(dgx(), h100(), stack, Precision::bf16, 1, &fit).move(move, node).time /
           CostModel(dgx(), h100(), stack, Precision::bf16).move(move, node).time;
  };
  EXPECT_DOUBLE_EQ(ratio(StepParameter::activation_moves, MoveKind::all_gather, Cargo::activation), 0.5);
  EXPECT_DOUBLE_EQ(ratio(StepParameter::activation_moves, MoveKind::all_to_all, Cargo::activation), 1);
  EXPECT_DOUBLE_EQ(ratio(StepParameter::expert_moves, MoveKind::all_to_all, Cargo::activation), 0.5);
  EXPECT_DOUBLE_EQ(ratio(StepParameter::gradient_moves, MoveKind::reduce_scatter, Cargo::gradient), 0.5);
  EXPECT_DOUBLE_EQ(ratio(StepParameter::gradient_moves, MoveKind::all_gather, Cargo::activation), 1);
  const StepFit fit = fit_of(StepParameter::stage_sends, 2);
  EXPECT_DOUBLE_EQ(CostModel(dgx(), h100(), stack, Precision::bf16, 1, &fit).send(Bytes(1e8), 64).time /
                       CostModel(dgx(), h100(), stack, Precision::bf16).send(Bytes(1e8), 64).time,
      2);
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
}  // namespace stepcast::sim
