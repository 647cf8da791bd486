// A bound of the pipeline against the event engine.
#include "sim/fast/step_bound.h"

#include <gtest/gtest.h>

#include "sim/schedule/engine/engine.h"
#include "tests/sim/schedule/bound/closed_form.h"
#include "tests/sim/fast/small_shapes.h"
#include "tests/trials.h"

namespace stepcast::sim {
namespace {

using namespace small_shapes;

StageTimes times_of(const StageShape& shape, const UnitsOnShape& units, double hop, bool blocking) {
  StageTimes times;
  for (const int kind : shape.kind_of) {
    times.forward.emplace_back(units.stages[kind].forward);
    times.input_grad.emplace_back(units.stages[kind].input_grad);
    times.weight_grad.emplace_back(units.stages[kind].weight_grad);
  }
  times.hop_forward.assign(static_cast<std::size_t>(shape.stages() - 1), Seconds(hop));
  times.hop_backward = times.hop_forward;
  times.blocking_hops = blocking;
  return times;
}

// clang-format off
struct Bounded { PipelineBound bound; Timeline timeline; StageTimes times; };
// clang-format on

Bounded bounded(
    const ScheduleKind& kind, const ScheduleSize& size, bool equal, double hop, bool blocking, std::mt19937& random) {
  const Order order = make_order(kind.id, size).value();
  const StageShape shape = stage_shape(program_of(order, random));
  const UnitsOnShape units = units_of(shape, equal, random);
  const HeldUnits held = held_units(shape, held_on_stages(kind, size).value());
  StageTimes times = times_of(shape, units, hop, blocking);
  return {bound_pipeline(units, held, schedule_traits(kind), hop, blocking, size.micro_batches),
      run(order, times).value(), times};
}

TEST(StepBound, IsNeverAboveTheEngine) {
  std::mt19937 random(9);
  for (const ScheduleKind* kind : priced_kinds()) {
    int tried = 0;
    for (int trial = 0; trial < trials(400); ++trial) {
      const ScheduleSize size = legal_size(*kind, 12, 60, random);
      if (size.ranks == 0) continue;
      const double hop = trial % 3 == 0 ? 0 : 0.1 * draw(random, 1, trial % 3 == 1 ? 10 : 80);
      const bool blocking = random() % 2 == 0, equal = random() % 4 == 0;
      const Bounded b = bounded(*kind, size, equal, hop, blocking, random);
      const double rounding = 1e-9 * b.timeline.makespan.value();
      ASSERT_LE(b.bound.makespan, b.timeline.makespan.value() + rounding)
          << sized_name(*kind, size) << " hop " << hop << (blocking ? " blocking" : "");
      ASSERT_LE(b.bound.first_rank_end, b.timeline.rank_end[0].value() + rounding)
          << sized_name(*kind, size) << " hop " << hop << (blocking ? " blocking" : "");
      EXPECT_GT(b.bound.makespan, 0);
      ++tried;
    }
    EXPECT_GT(tried, trials(100)) << kind->id;
  }
}

/// Where a formula is exact for equal stages, the bound is that formula: without hops, and with two ranks that they
/// hold.
TEST(StepBound, IsTightForEqualStages) {
  std::mt19937 random(10);
  for (const char* id : {"1f1b", "gpipe", "eager-1f1b"}) {
    const ScheduleKind& kind = **find_schedule(id);
    int compared = 0;
    for (int trial = 0; trial < 300; ++trial) {
      const bool blocking = kind.id == "1f1b" && trial % 4 == 0;
      const ScheduleSize size = legal_size(kind, blocking ? 2 : 16, 80, random);
      const Bounded b = bounded(kind, size, true, blocking ? 0.1 * draw(random, 0, 50) : 0, blocking, random);
      const auto formula = closed_form_makespan(kind.id, size, b.times);
      if (!formula) continue;
      EXPECT_NEAR(b.bound.makespan, formula->value(), 1e-9 * formula->value())
          << sized_name(kind, size) << (blocking ? " blocking" : "");
      ++compared;
    }
    EXPECT_GT(compared, 200) << id;
  }
}

/// 1F1B on more ranks: hops no longer than a stage's work cost it a few hops that the bound does not see.
TEST(StepBound, IsNearOneForwardOneBackwardWithHops) {
  std::mt19937 random(13);
  const ScheduleKind& kind = **find_schedule("1f1b");
  for (int trial = 0; trial < 300; ++trial) {
    const ScheduleSize size{draw(random, 2, 16), 1, draw(random, 16, 100), 0};
    const Bounded b = bounded(kind, size, true, 0.02 * draw(random, 1, 10), trial % 2 == 0, random);
    EXPECT_GT(b.bound.makespan, 0.92 * b.timeline.makespan.value()) << sized_name(kind, size);
  }
}

/// Other kinds: how far below, so that pruning keeps its worth.
TEST(StepBound, IsNotFarBelow) {
  std::mt19937 random(11);
  for (const ScheduleKind* kind : priced_kinds()) {
    double sum = 0;
    int count = 0;
    for (int trial = 0; trial < 200; ++trial) {
      const ScheduleSize size = legal_size(*kind, 8, 64, random);
      if (size.ranks == 0 || size.micro_batches < 2 * size.ranks) continue;
      const Bounded b = bounded(*kind, size, true, 0, false, random);
      sum += b.bound.makespan / b.timeline.makespan.value();
      ++count;
    }
    EXPECT_GT(sum / count, 0.8) << kind->id;
  }
}

TEST(StepBound, OneStageTakesItsWork) {
  std::mt19937 random(12);
  const ScheduleKind& kind = **find_schedule("1f1b");
  const Bounded b = bounded(kind, {1, 1, 7, 0}, true, 3, true, random);
  EXPECT_NEAR(b.bound.makespan, b.timeline.makespan.value(), 1e-9);
}

TEST(StepBound, KnowsNothingOfTwoCopiesSlicesAndTimedOrders) {
  for (const char* id : {"dualpipe", "chimera", "seq-1f1b", "terapipe", "zb-auto", "zb-1p", "zb-v-auto"})
    EXPECT_FALSE(schedule_traits(**find_schedule(id)).supported) << id;
  EXPECT_GE(priced_kinds().size(), 12U);
}

}  // namespace
}  // namespace stepcast::sim
