// How long a step takes at least, from parts that many steps share. Costs a fraction of a microsecond where a forecast
// runs every action of the pipeline.
//
// Never above sim/step.h's forecast: each term is a chain of work that any order of the kind must run through.
// - A rank works m x its stages' times, and stands still for the hops that hold it. Before it, the first micro-batch
//   passes the stages in front; after it, where backward is fused, the last one goes back through them.
// - A unit that a rank holds stays from its forward until the last stage has sent its gradient back; no more are held
//   at once than the order's fullest moment has. So a rank takes at least the sum of all stays over that number
//   (Little's law), and 1F1B, which holds p-r from rank r on, sends each block of p-r there and back once.
// - The first micro-batch goes to the end and back.
// - Rank 0 closes its first stage's gradients last: what its collectives cannot hide behind that stage's backward
//   shows. Likewise its first stage's parameters.
// Without hops it is the engine's makespan for equal stages of GPipe, 1F1B and eager 1F1B; with hops 1F1B lies 1 to 5 %
// lower, more with few micro-batches. V schedules with little memory may lie far lower (v-min by half), so that more of
// them are forecast whole.
#pragma once

#include <vector>

#include "sim/fast/held_units.h"
#include "sim/fast/stage_shape.h"
#include "sim/fast/step_costs.h"
#include "sim/fast/unit_costs.h"
#include "sim/schedule/schedule_kind.h"

namespace stepcast::sim {

/// Stages and ranks of a shape at a unit's costs.
struct UnitsOnShape {
  struct OnRank {
    double work = 0, split_work = 0;  ///< seconds per micro-batch; split_work: without weight gradients
  };
  const UnitCosts* units = nullptr;
  const StageShape* shape = nullptr;
  std::vector<StageCost> stages;  ///< by kind of stage
  std::vector<OnRank> ranks;      ///< by kind of rank
  double compute = 0;             ///< seconds of kernels per micro-batch, all ranks of one pipeline
};
/// Into `on`, whose room is used again.
void lay_units(const UnitCosts& units, const StageShape& shape, UnitsOnShape& on);

/// What a bound must know of a kind of schedule.
struct ScheduleTraits {
  bool supported = false;       ///< false: no bound, the forecast itself must be asked
  bool split_backward = false;  ///< weight gradients may come later than the rest
  bool one_by_one = false;      ///< 1F1B with one stage per rank
  bool pairs = false;           ///< a forward and a backward at once, their hops in one batch
};
ScheduleTraits schedule_traits(const ScheduleKind& kind);

struct PipelineBound {
  double makespan = 0;        ///< seconds
  double first_rank_end = 0;  ///< of rank 0, which the last gradient reaches
};
/// `held`: of this shape, kind and number of micro-batches. `hop`: seconds of the shortest send and gather between
/// neighbours; `blocking`: it holds both ranks.
PipelineBound bound_pipeline(const UnitsOnShape& units, const HeldUnits& held, const ScheduleTraits& traits, double hop,
    bool blocking, double micro_batches);

/// Seconds of the step.
double bound_step(const UnitsOnShape& units, const OnceOnShape& once, const PipelineBound& pipeline,
    const ScheduleTraits& traits, double micro_batches);

}  // namespace stepcast::sim
