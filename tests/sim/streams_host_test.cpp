// What the host costs a chunk: launches behind each priced kernel, CUDA graphs, and exchanges of routed rows beside
// another micro-batch.
#include <gtest/gtest.h>

#include "sim/streams.h"
#include "tests/sim/chunk_times.h"
#include "tests/sim/small_program.h"

namespace stepcast::sim {
namespace {

using small::add;

struct HostCase {
  Machine machine = small::machine();
  Profile profile = small::profile();
  Stack stack = small::stack();
  HostCase() { stack.host_per_launch = Seconds(0.1); }

  [[nodiscard]] ChunkTimes times(const ProgramBlock& block) const {
    const Program program = small::pipeline(block, 1, 1, 1);
    return chunk_times(program, program.chunks[0], {machine, profile, stack, Precision::bf16});
  }
  double forward(const ProgramBlock& block, Capture captured) {
    stack.captured = captured;
    return times(block).forward.value();
  }
};

KernelWork called(double seconds, double host_calls, bool routed) {
  KernelWork work = small::gemm(seconds, Pass::forward);
  work.host_calls = host_calls;
  work.routed = routed;
  return work;
}

Move exchange_of_rows(double seconds, Pass pass) {
  Move move = small::move(seconds, MoveKind::all_to_all, pass, true);
  move.experts = 8, move.choices = 2;
  return move;
}

TEST(HostFloor, CountsTheCallsBehindEachKernel) {  // 4 and 30 calls of 0.1 s against 2 s of kernels
  ProgramBlock block;
  add(block, block.forward, called(1, 4, false));
  add(block, block.forward, called(1, 30, true), {0});
  HostCase host;
  EXPECT_NEAR(host.forward(block, Capture::nothing), 3.4, 1e-9);
  EXPECT_NEAR(host.forward(block, Capture::static_parts), 3.0, 1e-9) << "what is routed is launched";
  EXPECT_NEAR(host.forward(block, Capture::step), 2.0, 1e-9);
  block.works[0].launches = 3;  // 12 and 30
  EXPECT_NEAR(host.forward(block, Capture::nothing), 4.2, 1e-9);
  EXPECT_NEAR(host.forward(block, Capture::static_parts), 3.0, 1e-9);
}

TEST(HostFloor, GoesOnWhileTheGpuWaitsForRows) {  // 35 calls of 0.1 s are the floor of kernels and exchange together
  ProgramBlock block;
  add(block, block.forward, called(1, 4, false));
  add(block, block.forward, exchange_of_rows(0.5, Pass::forward), {0});
  add(block, block.forward, called(1, 30, true), {1});
  HostCase host;
  EXPECT_NEAR(host.forward(block, Capture::nothing), 3.5, 1e-9);
  EXPECT_NEAR(host.forward(block, Capture::static_parts), 3.1, 1e-9) << "the exchange is launched, too";
  EXPECT_NEAR(host.forward(block, Capture::step), 2.5, 1e-9);
}

TEST(HostFloor, AGatherIsNoExchangeOfRows) {  // 3.5 s of calls stretch the kernels, the gather comes on top
  ProgramBlock block;
  add(block, block.forward, called(1, 4, false));
  add(block, block.forward, small::move(0.5, MoveKind::all_gather, Pass::forward, true), {0});
  add(block, block.forward, called(1, 30, true), {1});
  HostCase host;
  EXPECT_NEAR(host.forward(block, Capture::nothing), 3.5 + 0.5, 1e-9);
  EXPECT_NEAR(host.forward(block, Capture::static_parts), 3.0 + 0.5, 1e-9) << "the gather is in the graph";
}

/// Forward 1 s of kernels, backward 2 s, an exchange of `seconds` in each.
ProgramBlock with_exchanges(double seconds) {
  ProgramBlock block;
  add(block, block.forward, small::gemm(1, Pass::forward));
  add(block, block.forward, exchange_of_rows(seconds, Pass::forward), {0});
  add(block, block.backward, small::gemm(2, Pass::input_grad));
  add(block, block.backward, exchange_of_rows(seconds, Pass::input_grad), {0});
  return block;
}

struct HiddenCase : HostCase {
  HiddenCase() {
    stack.host_per_launch = Seconds(0);
    stack.expert_moves = Manners::overlapped;
  }
};

TEST(HiddenExchanges, HideBehindAsMuchComputeAsThereIs) {
  HiddenCase hidden;
  EXPECT_NEAR(hidden.times(with_exchanges(1)).forward.value(), 1, 1e-9);
  EXPECT_NEAR(hidden.times(with_exchanges(1)).backward().value(), 2, 1e-9);
  // 6 s of exchanges beside 3 s of kernels: half of each shows.
  EXPECT_NEAR(hidden.times(with_exchanges(3)).forward.value(), 1 + 1.5, 1e-9);
  EXPECT_NEAR(hidden.times(with_exchanges(3)).backward().value(), 2 + 1.5, 1e-9);
}

TEST(HiddenExchanges, BlockingOnesShowWhole) {
  HiddenCase shown;
  shown.stack.expert_moves = Manners::blocking;
  EXPECT_NEAR(shown.times(with_exchanges(3)).forward.value(), 1 + 3, 1e-9);
  EXPECT_NEAR(shown.times(with_exchanges(3)).backward().value(), 2 + 3, 1e-9);
}

// 25 % slower: a fifth of what hides comes back, spread over all kernels of the block.
TEST(HiddenExchanges, SlowTheComputeThatHidesThem) {
  HiddenCase slowed;
  slowed.profile.overlap.compute_slowdown = 0.25;
  const ChunkTimes short_ones = slowed.times(with_exchanges(1)), long_ones = slowed.times(with_exchanges(3));
  EXPECT_NEAR(short_ones.forward.value(), 1 + 0.2 * 2 / 3, 1e-9);
  EXPECT_NEAR((short_ones.forward + short_ones.backward()).value(), 3 + 0.2 * 2, 1e-9);
  EXPECT_NEAR(short_ones.exposed_forward.value(), 0, 1e-9) << "the kernels take longer, no move shows";
  EXPECT_NEAR(long_ones.forward.value(), 1.2 + 1.5, 1e-9);
}

TEST(HiddenExchanges, OtherMovesStayAsTheyAre) {
  ProgramBlock block = with_exchanges(1);
  for (Move& move : block.moves) move.experts = 0;
  EXPECT_NEAR(HiddenCase().times(block).forward.value(), 1 + 1, 1e-9);
  block = with_exchanges(1);
  for (Move& move : block.moves) move.kind = MoveKind::all_gather;
  EXPECT_NEAR(HiddenCase().times(block).forward.value(), 1 + 1, 1e-9);
}

}  // namespace
}  // namespace stepcast::sim
