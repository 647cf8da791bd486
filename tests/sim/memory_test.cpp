#include "sim/memory.h"

#include <gtest/gtest.h>

#include "sim/schedule/schedule_table.h"
#include "tests/sim/small_program.h"

namespace stepcast::sim {
namespace {

constexpr double gb = 1e9;

Buffer buffer(BufferKind kind, Count count, double bytes, int born = 0, int dies = 0) {
  return {"buffer", kind, count, Bytes(bytes), born, dies, false};
}

/// Per layer: 2 GB weights, 4 GB gradients, 12 GB optimizer, 1 GB saved per micro-batch.
ProgramBlock stateful_layer() {
  ProgramBlock block = small::plain_layer();
  block.buffers = {buffer(BufferKind::weight, Count::persistent, 2 * gb),
      buffer(BufferKind::gradient, Count::persistent, 4 * gb),
      buffer(BufferKind::optimizer, Count::persistent, 12 * gb),
      buffer(BufferKind::saved, Count::per_micro_batch, 1 * gb)};
  return block;
}

MemoryReport memory_of(const Program& program, const Stack& stack = small::stack()) {
  const auto order =
      make_order(program.schedule, {static_cast<int>(program.stages), 1, static_cast<int>(program.micro_batches), 0});
  StageTimes times;
  times.forward.assign(program.stages, Seconds(1));
  times.input_grad = times.weight_grad = times.forward;
  const auto timeline = run(*order, times);
  const std::vector<Bytes> capacity(program.stages, small::machine().gpu.memory);
  return peak_memory(program, *order, *timeline, capacity, stack);
}

TEST(PeakMemory, PersistentBytesCountEveryLayer) {
  const MemoryReport report = memory_of(small::pipeline(stateful_layer(), 1, 3, 1));
  EXPECT_NEAR(report.weights.value(), 6 * gb, 1);
  EXPECT_NEAR(report.gradients.value(), 12 * gb, 1);
  EXPECT_NEAR(report.optimizer.value(), 36 * gb, 1);
  EXPECT_NEAR(report.activations.value(), 3 * gb, 1);
  EXPECT_NEAR(report.peak.value(), 57 * gb, 1);
  EXPECT_TRUE(report.fits);
}

/// Three layers of stateful_layer() that keep `saved` GB each; 42 GB stand throughout, 12 of gradients come.
MemoryReport with_freed_gradients(double saved, std::int64_t micro_batches) {
  ProgramBlock block = stateful_layer();
  block.buffers.back().bytes = Bytes(saved * gb);
  Stack stack = small::stack();
  stack.gradients_freed = true;
  return memory_of(small::pipeline(block, 1, 3, micro_batches), stack);
}

TEST(PeakMemory, GradientsThatBackwardMakesTakeThePlaceOfWhatItFrees) {
  // Much is kept: full where backward begins, without a gradient.
  const MemoryReport early = with_freed_gradients(10, 1);
  EXPECT_NEAR(early.gradients.value(), 0, 1);
  EXPECT_NEAR(early.activations.value(), 30 * gb, 1);
  EXPECT_NEAR(early.peak.value(), (42 + 30) * gb, 1);
  // Little: full where it ends.
  const MemoryReport late = with_freed_gradients(1, 1);
  EXPECT_NEAR(late.gradients.value(), 12 * gb, 1);
  EXPECT_NEAR(late.activations.value(), 0, 1);
  EXPECT_NEAR(late.peak.value(), (42 + 12) * gb, 1);
  // The second micro-batch finds those of the first.
  EXPECT_NEAR(with_freed_gradients(10, 2).peak.value(), (42 + 12 + 30) * gb, 1);
}

TEST(PeakMemory, FirstStageKeepsAMicroBatchPerStage) {  // 1F1B: 4 stages in flight on the first
  const MemoryReport report = memory_of(small::pipeline(stateful_layer(), 4, 2, 16));
  EXPECT_NEAR(report.activations.value(), 4 * 2 * gb, 1);
  EXPECT_EQ(report.rank, 0);
}

TEST(PeakMemory, GpipeKeepsAllMicroBatches) {
  Program program = small::pipeline(stateful_layer(), 4, 2, 16);
  program.schedule = "gpipe";
  EXPECT_NEAR(memory_of(program).activations.value(), 16 * 2 * gb, 1);
}

TEST(PeakMemory, TheFullestStageMayBeTheLast) {  // one layer more there outweighs the micro-batches in flight
  Program program = small::pipeline(stateful_layer(), 2, 2, 8);
  program.stage_stride = 8;
  program.chunks[1].runs[0].count = 3;
  const MemoryReport report = memory_of(program);
  EXPECT_EQ(report.rank, 8);
  EXPECT_NEAR(report.weights.value(), 6 * gb, 1);
  EXPECT_NEAR(report.activations.value(), 3 * gb, 1);
}

TEST(PeakMemory, TransientsCountWhileTheyLiveTogether) {
  ProgramBlock block = small::plain_layer();  // two items backward
  block.buffers = {buffer(BufferKind::temporary, Count::transient_backward, 3 * gb, 0, 0),
      buffer(BufferKind::temporary, Count::transient_backward, 4 * gb, 1, 1),
      buffer(BufferKind::message, Count::transient_backward, 2 * gb, 0, 1),
      buffer(BufferKind::temporary, Count::transient_forward, 5 * gb, 0, 0)};
  const MemoryReport report = memory_of(small::pipeline(block, 1, 10, 1));
  EXPECT_NEAR(report.temporary.value(), 4 * gb, 1);  // 4 + 2 at the second item, more than 3 + 2 and than 5
  EXPECT_NEAR(report.communication.value(), 2 * gb, 1);
}

TEST(PeakMemory, GatheredWeightsFillTheirWindow) {
  ProgramBlock block = small::plain_layer();
  block.buffers = {buffer(BufferKind::gathered_weight, Count::per_block_window, 2 * gb)};
  EXPECT_NEAR(memory_of(small::pipeline(block, 1, 10, 1)).gathered_weights.value(), 2 * gb, 1);
  Move gather = small::move(1, MoveKind::all_gather, Pass::forward, false);
  gather.ahead = 1;
  block.moves.push_back(gather);
  EXPECT_NEAR(memory_of(small::pipeline(block, 1, 10, 1)).gathered_weights.value(), 4 * gb, 1);
  EXPECT_NEAR(memory_of(small::pipeline(block, 1, 1, 1)).gathered_weights.value(), 2 * gb, 1) << "one block, one copy";
}

TEST(PeakMemory, FrameworkAndAllocatorComeOnTop) {
  Stack stack = small::stack();
  stack.framework_memory = Bytes(3 * gb);
  stack.allocator_slack = 0.1;
  const MemoryReport report = memory_of(small::pipeline(stateful_layer(), 1, 1, 1), stack);
  EXPECT_NEAR(report.framework.value(), (3 + 1.9) * gb, 1);
  EXPECT_NEAR(report.peak.value(), (19 + 4.9) * gb, 1);
  EXPECT_NEAR(report.sum().value(), report.peak.value(), 1);
}

TEST(PeakMemory, WhatBackwardHasReadIsFree) {
  ProgramBlock block = small::plain_layer();  // 2 GB kept until the first item; 3 GB needed by the second
  block.buffers = {buffer(BufferKind::saved, Count::per_micro_batch, 2 * gb, 0, 0),
      buffer(BufferKind::temporary, Count::transient_backward, 3 * gb, 1, 1)};
  const MemoryReport one = memory_of(small::pipeline(block, 1, 1, 1));
  EXPECT_NEAR(one.peak.value(), 3 * gb, 1);
  EXPECT_NEAR(one.activations.value(), 0, 1);
  EXPECT_NEAR(memory_of(small::pipeline(block, 1, 4, 1)).peak.value(), (3 * 2 + 3) * gb, 1)
      << "three blocks before it hold theirs";
}

TEST(PeakMemory, TheFirstBlockWorksWhenThoseBehindAreFree) {
  // Its gradient of 5 GB never meets the 6 GB that the layers keep; on the last block it would.
  ProgramBlock table = small::plain_layer(), layer = stateful_layer();
  table.buffers = {buffer(BufferKind::temporary, Count::transient_backward, 5 * gb, 0, 0)};
  layer.buffers = {buffer(BufferKind::saved, Count::per_micro_batch, 1 * gb, 0, 1)};
  Program program = small::pipeline(layer, 1, 6, 1);
  program.blocks.push_back(table);
  program.chunks[0].runs.insert(program.chunks[0].runs.begin(), {1, 1});
  EXPECT_NEAR(memory_of(program).peak.value(), 6 * gb, 1);
  std::swap(program.chunks[0].runs[0], program.chunks[0].runs[1]);
  EXPECT_NEAR(memory_of(program).peak.value(), 11 * gb, 1);
}

TEST(PeakMemory, ForwardFillsAsItGoes) {
  ProgramBlock block = small::plain_layer();  // 4 GB are made by the second item, when the 3 GB of the first are gone
  block.forward = {block.forward[0], block.forward[0]};
  block.buffers = {buffer(BufferKind::saved, Count::per_micro_batch, 4 * gb, 1, 1),
      buffer(BufferKind::temporary, Count::transient_forward, 3 * gb, 0, 0)};
  EXPECT_NEAR(memory_of(small::pipeline(block, 1, 1, 1)).peak.value(), 4 * gb, 1);
}

TEST(PeakMemory, BuffersOfOneNameAreShared) {
  ProgramBlock layer = small::plain_layer(), head = small::plain_layer();
  layer.buffers = {buffer(BufferKind::temporary, Count::shared, 2 * gb)};
  head.buffers = {
      buffer(BufferKind::temporary, Count::shared, 2 * gb), buffer(BufferKind::temporary, Count::shared, 1 * gb)};
  head.buffers[1].label = "another";
  Program program = small::pipeline(layer, 1, 5, 1);
  program.blocks.push_back(head);
  program.chunks[0].runs.push_back({1, 1});
  EXPECT_NEAR(memory_of(program).temporary.value(), 3 * gb, 1);
}

TEST(PeakMemory, AllocatedReservedAndDeviceApart) {
  Stack stack = small::stack();
  stack.workspace = Bytes(1 * gb);
  stack.framework_memory = Bytes(3 * gb);
  stack.allocator_slack = 0.1;
  const MemoryReport report = memory_of(small::pipeline(stateful_layer(), 1, 1, 1), stack);
  EXPECT_NEAR(report.allocated.value(), 20 * gb, 1);  // 19 and the workspace
  EXPECT_NEAR(report.reserved.value(), 22 * gb, 1);
  EXPECT_NEAR(report.peak.value(), 25 * gb, 1);
}

TEST(PeakMemory, OverflowDoesNotFit) {
  const MemoryReport report = memory_of(small::pipeline(stateful_layer(), 1, 5, 1));
  EXPECT_NEAR(report.peak.value(), 95 * gb, 1);
  EXPECT_NEAR(report.capacity.value(), 80 * gb, 1);
  EXPECT_FALSE(report.fits);
}

}  // namespace
}  // namespace stepcast::sim
