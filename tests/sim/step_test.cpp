#include "sim/step.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/small_program.h"

namespace stepcast::sim {
namespace {

using small::add;
using small::gemm;

class Steps {
 public:
  Machine machine = small::machine();
  Profile profile = small::profile();
  Stack stack = small::stack();

  [[nodiscard]] StepReport of(const Program& program) const {
    const CostModel cost(machine, profile, stack, Precision::bf16);
    auto report = forecast(program, cost);
    EXPECT_TRUE(report.has_value());
    EXPECT_EQ(step_time(program, cost).value(), report->step_time) << "alone as in the report";
    return *std::move(report);
  }
};

Move step_move(double seconds, MoveKind kind, When when, Cargo cargo, bool blocking) {
  Move move = small::move(seconds, kind, Pass::step, blocking, when == When::tail ? "gather" : "reduce");
  move.when = when;
  move.cargo = cargo;
  return move;
}

Program with_step_move(const Move& move, std::int64_t layers) {
  ProgramBlock block = small::plain_layer();
  block.step_moves = {move};
  return small::pipeline(block, 1, layers, 4);
}

const CollectiveReport* find_row(const StepReport& report, const std::string& name) {
  const auto row = std::find_if(
      report.collectives.begin(), report.collectives.end(), [&](const CollectiveReport& r) { return r.name == name; });
  return row == report.collectives.end() ? nullptr : &*row;
}

void expect_whole(const StepReport& report) {
  EXPECT_NEAR(report.phases.sum().value(), report.step_time.value(), 1e-9);
  const Phases& p = report.phases;
  for (const Seconds part : {p.forward, p.backward, p.bubble, p.exposed_communication, p.gradient_sync, p.clip,
           p.optimizer, p.parameter_gather, p.host, p.data_wait, p.host_to_device}) {
    EXPECT_GE(part.value(), -1e-9);
  }
  EXPECT_LE(report.p10.value(), report.step_time.value());
  EXPECT_GE(report.p90.value(), report.step_time.value());
}

TEST(Forecast, OneStageIsItsMicroBatches) {  // 4 x 3 layers x (1 forward + 2 backward)
  const StepReport report = Steps().of(small::pipeline(small::plain_layer(), 1, 3, 4));
  EXPECT_NEAR(report.phases.forward.value(), 12, 1e-9);
  EXPECT_NEAR(report.phases.backward.value(), 24, 1e-9);
  EXPECT_NEAR(report.phases.bubble.value(), 0, 1e-9);
  EXPECT_NEAR(report.bubble_fraction, 0, 1e-12);
  EXPECT_EQ(report.stages[0].layers, 3);
  expect_whole(report);
}

TEST(Forecast, PipelineBubbleIsTheClosedForm) {  // (p-1)/(m+p-1) of the makespan, arXiv 2104.04473 section 2.2
  const StepReport report = Steps().of(small::pipeline(small::plain_layer(), 4, 2, 8));
  EXPECT_NEAR(report.step_time.value(), (8 + 3) * 2 * 3, 1e-6);
  EXPECT_NEAR(report.phases.bubble.value(), 3 * 2 * 3, 1e-6);
  EXPECT_NEAR(report.bubble_fraction, 3.0 / 11, 1e-9);
  expect_whole(report);
}

TEST(Forecast, PhasesAreOfTheSlowestStage) {
  Program program = small::pipeline(small::plain_layer(), 2, 2, 8);
  program.chunks[1].runs[0].count = 3;
  const StepReport report = Steps().of(program);
  EXPECT_EQ(report.slowest_stage, 1);
  EXPECT_NEAR(report.phases.forward.value(), 8 * 3, 1e-9);
  EXPECT_EQ(report.stages[0].layers, 2);
  EXPECT_EQ(report.stages[1].layers, 3);
  expect_whole(report);
}

TEST(Forecast, RatesCountEveryRank) {  // 2 stages x 2 ranks, each 4 micro-batches x 3 s of 100 TFLOP/s
  Program program = small::pipeline(small::plain_layer(), 2, 1, 4);
  program.ranks = 4;
  program.stage_stride = 2;
  const StepReport report = Steps().of(program);
  EXPECT_NEAR(report.hardware_flops.value(), 4 * 4 * 3 * 100e12, 1e3);
  EXPECT_NEAR(report.hardware_flops_per_gpu.value(), 4 * 3 * 100e12 / report.step_time.value(), 1e3);
  EXPECT_NEAR(report.tokens_per_s_per_gpu, 1000 / report.step_time.value() / 4, 1e-9);
  EXPECT_LE(report.hardware_flops_per_gpu.value(), 200e12) << "below the peak";
}

TEST(Forecast, ExposedMovesHaveTheirPhaseAndRow) {
  ProgramBlock block = small::plain_layer();
  add(block, block.forward, small::move(0.5, MoveKind::all_reduce, Pass::forward, true, "Y all_reduce"), {0});
  const StepReport report = Steps().of(small::pipeline(block, 1, 3, 4));
  EXPECT_NEAR(report.phases.exposed_communication.value(), 4 * 3 * 0.5, 1e-9);
  const CollectiveReport* row = find_row(report, "Y all_reduce");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->count, 12);
  EXPECT_NEAR(row->time.value(), 6, 1e-9);
  EXPECT_NEAR(row->exposed.value(), 6, 1e-9);
  EXPECT_EQ(row->span, "node");
  EXPECT_EQ(row->kind, "all_reduce");
  EXPECT_EQ(row->group_size, 4);
  expect_whole(report);
}

TEST(Forecast, RowsOfTheBlocksSumToTheExposedPhase) {
  ProgramBlock block = small::plain_layer();
  add(block, block.forward, small::move(0.5, MoveKind::all_gather, Pass::forward, false, "a"), {0});
  add(block, block.backward, small::move(2.5, MoveKind::reduce_scatter, Pass::input_grad, false, "b"), {0});
  Steps steps;
  steps.profile.overlap.compute_slowdown = 0.2;
  const StepReport report = steps.of(small::pipeline(block, 1, 7, 3));
  Seconds exposed;
  for (const CollectiveReport& row : report.collectives) exposed += row.exposed;
  EXPECT_NEAR(exposed.value(), report.phases.exposed_communication.value(), 1e-6);
  expect_whole(report);
}

TEST(Forecast, BlockingBoundaryHoldsTheRank) {
  Program program = small::pipeline(small::plain_layer(), 2, 1, 4);
  program.edges[0].bytes = Bytes(10e9);  // 0.1 s inside the node
  Steps steps;
  const StepReport overlapped = steps.of(program);
  EXPECT_EQ(overlapped.phases.exposed_communication.value(), 0);
  steps.stack.boundary_sends = Manners::blocking;
  const StepReport blocking = steps.of(program);
  EXPECT_GT(blocking.phases.exposed_communication.value(), 0);
  EXPECT_GE(blocking.step_time, overlapped.step_time);
  const CollectiveReport* row = find_row(blocking, "boundary");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->count, 8);
  EXPECT_NEAR(row->time.value(), 0.8, 1e-9);
  expect_whole(blocking);
}

TEST(Forecast, PiecesThatCrossAreGatheredInTheHop) {  // two micro-batches: one hop forward, one back
  Program program = small::pipeline(small::plain_layer(), 2, 1, 2);
  program.edges[0].bytes = Bytes(10e9);
  const double whole = Steps().of(program).step_time.value();
  program.edges[0].gather = small::move(0.2, MoveKind::all_gather, Pass::forward, false, "boundary gather");
  const StepReport pieces = Steps().of(program);
  EXPECT_NEAR(pieces.step_time.value() - whole, 2 * 0.2, 1e-6);
  const CollectiveReport* row = find_row(pieces, "boundary gather");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->count, 2);
  EXPECT_NEAR(row->time.value(), 0.4, 1e-9);
}

TEST(Forecast, BlockingReductionsFollowThePipeline) {
  const Move reduce = step_move(0.5, MoveKind::all_reduce, When::once_last_use, Cargo::gradient, true);
  const StepReport report = Steps().of(with_step_move(reduce, 6));
  EXPECT_NEAR(report.phases.gradient_sync.value(), 3, 1e-9);
  EXPECT_EQ(find_row(report, "reduce")->count, 6);
  expect_whole(report);
}

TEST(Forecast, OverlappedReductionsLeaveTheLastOne) {  // 6 layers of 2 s backward hide 5 of 6; the last layer's is left
  const Move reduce = step_move(0.5, MoveKind::all_reduce, When::once_last_use, Cargo::gradient, false);
  const StepReport report = Steps().of(with_step_move(reduce, 6));
  EXPECT_NEAR(report.phases.gradient_sync.value(), 0.5, 1e-9);
  EXPECT_NEAR(find_row(report, "reduce")->exposed.value(), 0.5, 1e-9);
  expect_whole(report);
}

TEST(Forecast,
    SlowReductionsQueue) {  // 3 s each behind 2 s layers: first closes at 2, six end at 20, backward ends at 12
  const Move reduce = step_move(3, MoveKind::all_reduce, When::once_last_use, Cargo::gradient, false);
  EXPECT_NEAR(Steps().of(with_step_move(reduce, 6)).phases.gradient_sync.value(), 8, 1e-9);
}

TEST(Forecast, EarlyStagesReduceWhileOthersWork) {  // stage 1 ends 2 s before stage 0: its 0.5 s reduction is free
  Program program = with_step_move(step_move(0.5, MoveKind::all_reduce, When::once_last_use, Cargo::gradient, true), 1);
  Program two = small::pipeline(program.blocks[0], 2, 1, 4);
  two.blocks.push_back(small::plain_layer());
  two.chunks[0].runs[0].block = 1;  // the first stage has nothing to reduce
  EXPECT_NEAR(Steps().of(two).phases.gradient_sync.value(), 0, 1e-9);
  std::swap(two.chunks[0].runs, two.chunks[1].runs);
  EXPECT_NEAR(Steps().of(two).phases.gradient_sync.value(), 0.5, 1e-9);
}

TEST(Forecast, HiddenReductionsSlowTheBackward) {  // 25 %: of 2.5 s hidden, a fifth comes back
  Steps steps;
  steps.profile.overlap.compute_slowdown = 0.25;
  const Move reduce = step_move(0.5, MoveKind::all_reduce, When::once_last_use, Cargo::gradient, false);
  EXPECT_NEAR(steps.of(with_step_move(reduce, 6)).phases.gradient_sync.value(), 0.5 + 2.5 * 0.2, 1e-9);
}

TEST(Forecast, ParameterGathersPrecedeTheFirstForward) {  // layers of 1 s: blocking 6 x 0.5, overlapped only the first
  const Move blocking = step_move(0.5, MoveKind::all_gather, When::tail, Cargo::weight, true);
  EXPECT_NEAR(Steps().of(with_step_move(blocking, 6)).phases.parameter_gather.value(), 3, 1e-9);
  const Move beside = step_move(0.5, MoveKind::all_gather, When::tail, Cargo::weight, false);
  EXPECT_NEAR(Steps().of(with_step_move(beside, 6)).phases.parameter_gather.value(), 0.5, 1e-9);
  const Move slow = step_move(2, MoveKind::all_gather, When::tail, Cargo::weight, false);
  // The sixth gather ends at 12, its layer would start at 5.
  EXPECT_NEAR(Steps().of(with_step_move(slow, 6)).phases.parameter_gather.value(), 7, 1e-9);
}

TEST(Forecast, OptimizerAndClipReadTheirBytes) {  // 2 layers x 1e9 elements: 34 and 4 bytes each at 1 TB/s
  ProgramBlock block = small::plain_layer();
  block.optimizer_elements = 1e9;
  Program program = small::pipeline(block, 1, 2, 1);
  program.bytes_per_optimizer_element = 34;
  program.bytes_per_gradient_element = 4;
  program.tail = {small::move(0.25, MoveKind::all_reduce, Pass::step, true, "norm")};
  program.tail[0].cargo = Cargo::scalar;
  const StepReport report = Steps().of(program);
  EXPECT_NEAR(report.phases.optimizer.value(), 0.068, 1e-9);
  EXPECT_NEAR(report.phases.clip.value(), 0.008 + 0.25, 1e-9);
  expect_whole(report);
}

TEST(Forecast, SharedWeightsSyncBetweenStages) {
  Program program = small::pipeline(small::plain_layer(), 2, 1, 4);
  program.shared = {small::move(0.75, MoveKind::all_reduce, Pass::step, true, "tied")};
  program.shared[0].cargo = Cargo::gradient;
  EXPECT_NEAR(Steps().of(program).phases.gradient_sync.value(), 0.75, 1e-9);
}

TEST(Forecast, MoreGpusWaitLongerForTheirSlowest) {
  Steps steps;
  Program program = small::pipeline(small::plain_layer(), 1, 1, 1);
  const auto compute = [&](double spread, std::int64_t ranks) {
    steps.stack.gpu_spread = spread, program.ranks = ranks;
    const Phases phases = steps.of(program).phases;
    return phases.forward + phases.backward;
  };
  // Expected largest of n draws of a standard normal distribution (Harter, Biometrika 48, 1961, table 1).
  const std::map<std::int64_t, double> largest = {
      {2, 0.56419}, {8, 1.42360}, {16, 1.76599}, {64, 2.34370}, {400, 2.96818}};
  for (const auto& [ranks, deviations] : largest)
    EXPECT_NEAR(compute(0.01, ranks) / compute(0, ranks), 1 + 0.01 * deviations, 3e-4) << ranks;
  EXPECT_NEAR(compute(0.01, 1) / compute(0, 1), 1, 1e-12);
}

TEST(Forecast, HostAndDataStandAroundTheStep) {
  Steps steps;
  steps.stack.host_per_step = Seconds(0.15);
  steps.stack.data_wait = Seconds(0.05);
  Program program = small::pipeline(small::plain_layer(), 1, 1, 1);
  program.tokens_per_step = 10e9 / 8;  // 10 GB of token ids over 10 GB/s
  const StepReport report = steps.of(program);
  EXPECT_NEAR(report.phases.host.value(), 0.15, 1e-12);
  EXPECT_NEAR(report.phases.data_wait.value(), 0.05, 1e-12);
  EXPECT_NEAR(report.phases.host_to_device.value(), 1, 1e-12);
  expect_whole(report);
}

TEST(Forecast, IntervalComesFromTheHoldOuts) {
  const StepReport report = Steps().of(small::pipeline(small::plain_layer(), 1, 1, 1));
  EXPECT_NEAR(report.p10 / report.step_time, 0.95, 1e-9);
  EXPECT_NEAR(report.p90 / report.step_time, 1.05, 1e-9);
  EXPECT_TRUE(report.warnings.empty());
}

TEST(Forecast, ATransferredLawWidensItAndWarns) {
  Steps steps;
  steps.profile.gemm[0].source = Source::transferred;
  steps.profile.gemm[0].spread = {0.75, 1.25};
  const StepReport report = steps.of(small::pipeline(small::plain_layer(), 1, 1, 1));
  EXPECT_NEAR(report.p10 / report.step_time, 0.75, 1e-3);
  EXPECT_NEAR(report.p90 / report.step_time, 1.25, 1e-3);
  EXPECT_THAT(report.warnings, testing::ElementsAre(testing::HasSubstr("gemm roofline bf16: transferred")));
}

// Software that nobody measured takes kernels of its own choice for attention: the more of it, the wider.
TEST(Forecast, AttentionOfOtherSoftwareWidensTheIntervalByItsShare) {
  const Steps steps;
  StepFit fit;
  fit.spread = {0.95, 1.05};
  const auto width = [&](bool foreign, double seconds) {
    ProgramBlock block = small::plain_layer();
    if (seconds > 0) {
      KernelWork core = small::gemm(seconds, Pass::forward, "core");
      core.kernel = KernelClass::attention, core.sequence = 4096;
      small::add(block, block.forward, core);
    }
    fit.foreign = foreign;
    const auto report = forecast(small::pipeline(block, 1, 1, 1),
        CostModel{steps.machine, steps.profile, steps.stack, Precision::bf16, 0, &fit});
    return std::log(report->p90 / report->p10);
  };
  EXPECT_NEAR(width(false, 9), width(false, 0), 1e-9);
  EXPECT_NEAR(width(true, 0), width(false, 0), 1e-9);
  const double half = std::log(1.05) - std::log(0.95);
  EXPECT_NEAR(width(true, 3), 2 * std::hypot(half / 2, 0.48 * 0.5), 0.01) << "attention is half of 6 s";
  EXPECT_GT(width(true, 9), width(true, 3));
}

TEST(Forecast, OverflowIsSpelledOut) {
  ProgramBlock block = small::plain_layer();
  block.buffers = {{"w", BufferKind::weight, Count::persistent, Bytes(150e9), 0, 0, false}};
  const StepReport report = Steps().of(small::pipeline(block, 1, 1, 1));
  EXPECT_FALSE(report.memory.fits);
  EXPECT_THAT(report.warnings, testing::Contains(testing::HasSubstr("needs 140 GiB of 74.5 GiB, 65.2 GiB too much")));
}

TEST(Forecast, AScheduleThatCannotRunIsExplained) {
  Program program = small::pipeline(small::plain_layer(), 2, 1, 3);
  program.schedule = "no-such-schedule";
  const Steps steps;
  const auto report = forecast(program, CostModel{steps.machine, steps.profile, steps.stack, Precision::bf16});
  ASSERT_FALSE(report.has_value());
  EXPECT_FALSE(report.error().what.empty());
}

TEST(Forecast, MoreMicroBatchesAddTheSlowestStageEach) {  // T = a + b m
  const Steps steps;
  const auto time = [&](std::int64_t m) {
    return steps.of(small::pipeline(small::plain_layer(), 4, 2, m)).step_time.value();
  };
  EXPECT_NEAR(time(16) - time(8), 8 * 6, 1e-3);
  EXPECT_NEAR(time(32) - time(16), 16 * 6, 1e-3);
}

}  // namespace
}  // namespace stepcast::sim
