// The share of a stage's time in attention, on a program with round numbers.
#include "sim/step/attending.h"

#include <gtest/gtest.h>

#include "tests/sim/small_program.h"

namespace stepcast::sim {
namespace {

KernelWork attention_of(double seconds, Pass pass) {
  KernelWork work = small::gemm(seconds, pass, "core");
  work.kernel = KernelClass::attention;
  work.sequence = 1000, work.sequences = 1, work.queries = 1000, work.heads = work.kv_heads = 1;
  work.key_reach.domain = Domain::causal;
  return work;
}

struct AttendingCase {
  Machine machine = small::machine();
  Profile profile = small::profile();
  Stack stack = small::stack();
  Program program;
  StageTimes times;

  explicit AttendingCase(Domain domain = Domain::causal) {
    ProgramBlock block = small::plain_layer();
    KernelWork core = attention_of(1, Pass::forward);
    core.key_reach.domain = domain;
    small::add(block, block.forward, core);
    small::add(block, block.backward, attention_of(2, Pass::input_grad));
    program = small::pipeline(block, 2, 3, 4);
    times.forward = {Seconds(6), Seconds(12)}, times.input_grad = {Seconds(9), Seconds(9)};
    times.weight_grad = {Seconds(3), Seconds(3)};
  }
  [[nodiscard]] Expected<AttendingShares> shares() const {
    return attending_shares(program, {machine, profile, stack, Precision::bf16}, times);
  }
};

TEST(Attending, SharesOfStages) {
  // Three layers of 1 s of attention forward, 2 s backward; the second stage takes twice as long.
  const auto shares = AttendingCase().shares();
  ASSERT_TRUE(shares) << to_text(shares.error());
  EXPECT_NEAR(shares->forward[0], 0.5, 0.01);
  EXPECT_NEAR(shares->forward[1], 0.25, 0.01);
  EXPECT_NEAR(shares->backward[0], 0.5, 0.01);
}

TEST(Attending, PartsOfTheKeysAreRefused) {
  EXPECT_FALSE(AttendingCase(Domain::window).shares());
  AttendingCase both;
  both.times.forward.push_back(Seconds(1));
  EXPECT_FALSE(both.shares());
}

}  // namespace
}  // namespace stepcast::sim
