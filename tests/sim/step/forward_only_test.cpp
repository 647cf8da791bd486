// A batch without backward: flow through stages in a row.
#include "sim/step/forward_only.h"

#include <gtest/gtest.h>

#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim {
namespace {

StepReport step_of(const char* schedule, const ScheduleSize& size) {
  StepReport step;
  step.order = pipelines::order_of(schedule, size);
  step.times = pipelines::equal_times(size.ranks * size.chunks, 1, 2, 0, 0.5);
  return step;
}

TEST(ForwardOnly, StagesInARow) {
  // (8 + 3) x 1 of forward and three hops of 0.5; backward takes 2 and does not count.
  for (const char* schedule : {"1f1b", "gpipe", "zb-h1"})
    EXPECT_NEAR(forward_only(step_of(schedule, {.ranks = 4, .chunks = 1, .micro_batches = 8}))->value(), 12.5, 1e-9);
  EXPECT_NEAR(forward_only(step_of("1f1b", {.ranks = 1, .chunks = 1, .micro_batches = 8}))->value(), 8, 1e-9);
  // Two chunks on each of two ranks, without hops: 2 x 8 of work behind a ramp of 1.
  StepReport chunks = step_of("interleaved-1f1b", {.ranks = 2, .chunks = 2, .micro_batches = 8});
  chunks.times.hop_forward.clear();
  EXPECT_NEAR(forward_only(chunks)->value(), 17, 1e-9);
  // Blocking: of two stages the first sends for 0.5 after each, the second ends 8 x 1.5 + 1 after the start.
  StepReport blocking = step_of("1f1b", {.ranks = 2, .chunks = 1, .micro_batches = 8});
  blocking.times.blocking_hops = true;
  EXPECT_NEAR(forward_only(blocking)->value(), 13, 1e-9);
}

TEST(ForwardOnly, BothWaysIsRefused) {
  StepReport step = step_of("1f1b", {.ranks = 2, .chunks = 1, .micro_batches = 4});
  step.order.directions = 2;
  EXPECT_FALSE(forward_only(step));
}

}  // namespace
}  // namespace stepcast::sim
