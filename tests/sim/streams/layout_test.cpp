// The layout of a chunk: by hand for small lists, and against the times of the same walk for lists of every kind.
#include "sim/streams/layout.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/chunk_times.h"
#include "tests/sim/small_program.h"

namespace stepcast::sim::layout_test {
namespace {

using small::add;
using small::gemm;

struct Laid {
  ChunkLayout layout;
  ChunkTimes times;
};

Laid lay(std::vector<ProgramBlock> blocks, std::vector<BlockRun> runs, OverlapLaw overlap = {0, 0, Source::measured}) {
  const Machine machine = small::machine();
  const Stack stack = small::stack();
  Profile profile = small::profile();
  profile.overlap = overlap;
  Program program = small::pipeline(blocks.front(), 1, 1, 1);
  program.blocks = std::move(blocks);
  program.chunks[0].runs = std::move(runs);
  const CostModel cost(machine, profile, stack, Precision::bf16);
  return {chunk_layout(program, price_blocks(program, cost), program.chunks[0], cost),
      chunk_times(program, program.chunks[0], cost)};
}

double sum(const ListLayout& list, LaidKind kind) {
  double seconds = 0;
  for (const LaidItem& item : list.items)
    if (item.kind == kind) seconds += item.end - item.start;
  return seconds;
}

double sum(const ListLayout& list, Pass pass) {
  double seconds = 0;
  for (const LaidItem& item : list.items)
    if (item.kind != LaidKind::move && item.pass == pass) seconds += item.end - item.start;
  return seconds;
}

void expect_tiled(const ListLayout& list) {
  double at = 0;
  for (const LaidItem& item : list.items) {
    EXPECT_LE(item.start, item.end);
    EXPECT_GE(item.start, 0);
    EXPECT_LE(item.end, list.seconds * (1 + 1e-12));
    if (item.kind == LaidKind::move) continue;
    EXPECT_EQ(item.start, at);
    at = item.end;
  }
  EXPECT_EQ(at, list.seconds);
}

void expect_same_totals(const Laid& laid) {
  const ChunkLayout& layout = laid.layout;
  const ChunkTimes& times = laid.times;
  const double slack = 1e-9 * (times.forward + times.backward()).value();
  EXPECT_NEAR(layout.forward.seconds, times.forward.value(), slack);
  EXPECT_NEAR(layout.backward.seconds, times.backward().value(), slack);
  EXPECT_NEAR(sum(layout.forward, LaidKind::kernel), times.forward_compute.value(), slack);
  EXPECT_NEAR(sum(layout.backward, LaidKind::kernel), times.backward_compute.value(), slack);
  EXPECT_NEAR(sum(layout.forward, LaidKind::wait), times.exposed_forward.value(), slack);
  EXPECT_NEAR(sum(layout.backward, LaidKind::wait), times.exposed_backward.value(), slack);
  EXPECT_NEAR(sum(layout.backward, Pass::recompute), times.recompute.value(), slack);
  EXPECT_NEAR(sum(layout.backward, Pass::weight_grad), times.weight_grad.value(), slack);
}

/// Overlapped moves of a tier follow each other, and so do blocking ones.
void expect_moves_in_line(const ListLayout& list) {
  for (const bool blocking : {false, true}) {
    std::vector<std::pair<double, double>> moves;
    for (const LaidItem& item : list.items)
      if (item.kind == LaidKind::move && item.blocking == blocking) moves.emplace_back(item.start, item.end);
    std::sort(moves.begin(), moves.end());
    for (std::size_t i = 1; i < moves.size(); ++i) EXPECT_GE(moves[i].first, moves[i - 1].second - 1e-9 * list.seconds);
  }
}

/// A kernel, an overlapped move of 3 s, a kernel that waits for it.
ProgramBlock waiting_block(bool blocking) {
  ProgramBlock block;
  block.name = "layer";
  add(block, block.forward, gemm(1, Pass::forward, "first"));
  add(block, block.forward, small::move(3, MoveKind::all_gather, Pass::forward, blocking), {0});
  add(block, block.forward, gemm(2, Pass::forward, "second"), {1});
  return block;
}

TEST(StreamLayout, KernelsAndWaitsStandInTheirOrder) {
  for (const bool blocking : {false, true}) {
    const ListLayout list = lay({waiting_block(blocking)}, {{0, 2}}).layout.forward;
    ASSERT_EQ(list.items.size(), 8U);
    EXPECT_NEAR(list.seconds, 12, 1e-9);
    const auto find = [&](LaidKind kind, std::int64_t copy, int item) {
      for (const LaidItem& laid : list.items)
        if (laid.kind == kind && laid.copy == copy && laid.item == item) return laid;
      ADD_FAILURE() << "not laid";
      return LaidItem{};
    };
    EXPECT_NEAR(find(LaidKind::kernel, 1, 0).start, 6, 1e-9);
    EXPECT_NEAR(find(LaidKind::kernel, 1, 1).start, 10, 1e-9);
    EXPECT_NEAR(find(LaidKind::move, 1, 0).start, 7, 1e-9);
    EXPECT_NEAR(find(LaidKind::wait, 1, 0).start, 7, 1e-9);
    EXPECT_NEAR(find(LaidKind::wait, 1, 0).end, 10, 1e-9);
    const LaidItem move = list.items.at(static_cast<std::size_t>(find(LaidKind::wait, 1, 0).waits_for));
    EXPECT_EQ(move.kind, LaidKind::move);
    EXPECT_EQ(move.copy, 1) << "of its own copy, not of the first";
    EXPECT_EQ(move.blocking, blocking);
    EXPECT_EQ(move.tier, 0);
  }
}

TEST(StreamLayout, BackwardNumbersCopiesAsForwardDoes) {
  const ListLayout list = lay({small::plain_layer()}, {{0, 5}}).layout.backward;
  ASSERT_EQ(list.items.size(), 10U);
  EXPECT_EQ(list.items.front().copy, 4);
  EXPECT_EQ(list.items.back().copy, 0);
}

// 1 s of kernel, then a move of 2 s beside a kernel of 4 s, slowed by a half while the move lasts: 4 + 2 x 0.5/1.5.
TEST(StreamLayout, MovesStretchKernels) {
  ProgramBlock block;
  block.name = "layer";
  add(block, block.forward, gemm(1, Pass::forward));
  add(block, block.forward, gemm(4, Pass::forward), {0});
  add(block, block.forward, small::move(2, MoveKind::all_gather, Pass::forward, false), {0});
  const Laid laid = lay({block}, {{0, 1}}, {0.5, 0, Source::measured});
  ASSERT_EQ(laid.layout.forward.items.size(), 3U);
  EXPECT_NEAR(laid.layout.forward.items[1].end, 5 + 2.0 / 3, 1e-9)
      << "the move was laid after the kernel that it slows";
  expect_tiled(laid.layout.forward);
  expect_same_totals(laid);
}

TEST(StreamLayout, TheEndWaitsForMovesThatNobodyTakes) {
  ProgramBlock block;
  block.name = "layer";
  add(block, block.backward, gemm(1, Pass::input_grad));
  add(block, block.backward, small::move(5, MoveKind::reduce_scatter, Pass::input_grad, false), {0});
  const ListLayout list = lay({block}, {{0, 1}}).layout.backward;
  ASSERT_EQ(list.items.size(), 3U);
  EXPECT_EQ(list.items.back().kind, LaidKind::wait);
  EXPECT_EQ(list.items.back().waits_for, 1);
  EXPECT_NEAR(list.items.back().end, 6, 1e-9);
}

// Input gradient 0-1, its reduction 1-4 beside the weight gradient 1-3, which nobody waits for: the wait to 4 is the
// input gradient's. The parts: 0-1 and 3-4 (the reduction in it: 1-2), and 1-3 (the reduction: 0-2).
TEST(StreamLayout, PartsOfBackwardHaveTheirOwnTime) {
  ProgramBlock block;
  block.name = "layer";
  add(block, block.backward, gemm(1, Pass::input_grad));
  add(block, block.backward, small::move(3, MoveKind::reduce_scatter, Pass::input_grad, false), {0});
  add(block, block.backward, gemm(2, Pass::weight_grad), {0});
  const ListLayout whole = lay({block}, {{0, 1}}).layout.backward;
  const ListLayout input = backward_part(whole, false), weights = backward_part(whole, true);
  EXPECT_NEAR(input.seconds, 2, 1e-9);
  EXPECT_NEAR(weights.seconds, 2, 1e-9);
  expect_tiled(input);
  expect_tiled(weights);
  ASSERT_EQ(input.items.size(), 3U);
  EXPECT_NEAR(input.items[1].start, 1, 1e-9);
  EXPECT_NEAR(input.items[1].end, 2, 1e-9);
  EXPECT_EQ(input.items[2].waits_for, 1);
  ASSERT_EQ(weights.items.size(), 2U);
  EXPECT_EQ(weights.items[0].kind, LaidKind::move);
  EXPECT_NEAR(weights.items[0].end, 2, 1e-9);
}

/// Kernels and moves of all kinds, each waiting for some of the items before it.
ProgramBlock random_block(std::mt19937& random) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  ProgramBlock block;
  block.name = "layer";
  for (const bool backward : {false, true}) {
    std::vector<Item>& list = backward ? block.backward : block.forward;
    const int items = 3 + pick(8);
    for (int i = 0; i < items; ++i) {
      const Pass passes[] = {Pass::recompute, Pass::input_grad, Pass::weight_grad};
      const Pass pass = backward ? passes[pick(3)] : Pass::forward;
      std::vector<int> after;
      if (i > 0 && pick(4) > 0) after.push_back(pick(i));
      const double seconds = 0.25 * (1 + pick(12));
      if (pick(5) < 3) {
        add(block, list, gemm(seconds, pass), after);
        continue;
      }
      Move move = small::move(seconds, MoveKind::all_gather, pass, pick(2) == 0);
      move.cargo = pick(2) == 0 ? Cargo::weight : Cargo::activation;
      if (move.cargo == Cargo::weight && !move.blocking) move.ahead = pick(3);
      add(block, list, move, after);
    }
  }
  return block;
}

TEST(StreamLayout, TotalsAreThoseOfTheTimes) {
  std::mt19937 random(10);
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    const Laid laid = lay({random_block(random), random_block(random)}, {{0, 1 + i % 9}, {1, 1 + i % 4}, {0, 3}},
        {i % 3 * 0.2, i % 2 * 0.3, Source::measured});
    expect_tiled(laid.layout.forward);
    expect_tiled(laid.layout.backward);
    expect_same_totals(laid);
    for (const bool weight_grad : {false, true}) {
      const ListLayout part = backward_part(laid.layout.backward, weight_grad);
      expect_tiled(part);
      const Seconds timed = weight_grad ? laid.times.weight_grad : laid.times.input_grad;
      EXPECT_NEAR(part.seconds, timed.value(), 1e-9 * laid.layout.backward.seconds);
      for (const LaidItem& item : part.items)
        EXPECT_TRUE(item.kind == LaidKind::move || (item.pass == Pass::weight_grad) == weight_grad);
    }
  }
}

/// A layer as mappings make it: weights gathered ahead, a blocking gather of activations, gradients reduced beside what
/// follows.
ProgramBlock usual_layer(double gather, int ahead) {
  ProgramBlock block;
  block.name = "layer";
  Move weights = small::move(gather, MoveKind::all_gather, Pass::forward, false, "weights");
  weights.cargo = Cargo::weight;
  weights.ahead = ahead;
  add(block, block.forward, weights);
  add(block, block.forward, small::move(0.3, MoveKind::all_gather, Pass::forward, true), {0});
  add(block, block.forward, gemm(2, Pass::forward), {1});
  add(block, block.backward, gemm(2, Pass::recompute));
  add(block, block.backward, gemm(2, Pass::input_grad), {0});
  add(block, block.backward, small::move(1.5, MoveKind::reduce_scatter, Pass::input_grad, false), {1});
  add(block, block.backward, gemm(1, Pass::weight_grad), {1});
  add(block, block.backward, gemm(0.5, Pass::input_grad), {2});
  return block;
}

// The walk leaves out the middle of long runs; the layout has all of it.
TEST(StreamLayout, TotalsOfLongRunsAreThoseOfTheTimes) {
  for (const double gather : {0.5, 1.9, 7.0}) {
    for (const int ahead : {0, 1, 2}) {
      SCOPED_TRACE(testing::Message() << gather << " s, " << ahead << " ahead");
      const Laid laid = lay(
          {usual_layer(gather, ahead), small::plain_layer()}, {{1, 1}, {0, 40}, {1, 1}}, {0.2, 0.1, Source::measured});
      expect_tiled(laid.layout.forward);
      expect_tiled(laid.layout.backward);
      expect_same_totals(laid);
      expect_moves_in_line(laid.layout.forward);
      expect_moves_in_line(laid.layout.backward);
      std::vector<std::int64_t> copies;
      for (const LaidItem& item : laid.layout.forward.items)
        if (item.run == 1 && item.kind == LaidKind::kernel) copies.push_back(item.copy);
      std::vector<std::int64_t> all(40);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(copies, all);
    }
  }
}

}  // namespace
}  // namespace stepcast::sim::layout_test
