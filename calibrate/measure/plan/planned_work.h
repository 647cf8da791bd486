// What a plan is asked for and what it holds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/measure/method.h"
#include "calibrate/measure/plan/expected_time.h"
#include "kernels/bench/work.h"
#include "model/base/units.h"
#include "model/machine/machine.h"

namespace stepcast::calibrate {

/// A part of the plan: a row of the table that --only chooses from, the dry run prints and the budget is shared by.
struct MeasurePhase {
  std::string_view id;  ///< "gemm", "gemm-backward", "attention", "membound", "bandwidth", "launch", "sustained", ...
  std::string_view about;  ///< one line
  double share = 0;        ///< of the budget, where all phases run
};
/// In the order of the printed plan. "collectives" is among them with share 0, so that --only can name it: make_plan
/// leaves it to plan_collectives(), which has time of its own. "repeat" needs another phase to repeat something of.
std::span<const MeasurePhase> measure_phases();
/// -1: there is none of this name.
int phase_index(std::string_view id);

enum class WorkMode : std::uint8_t { sampled, sustained, alternating, repeat };

struct PlannedWork {
  int phase = 0;  ///< index into measure_phases()
  WorkMode mode = WorkMode::sampled;
  std::vector<Work> works;  ///< one; several that take turns in mode alternating
  Seconds duration;         ///< of sustained and alternating work
  Seconds estimate;         ///< with preparing and checking
  bool own = false;         ///< a shape of the user's model: comes first, and has up to half of the budget to itself

  [[nodiscard]] bool runs_for_long() const { return mode == WorkMode::sustained || mode == WorkMode::alternating; }
};

struct MeasurePlan {
  std::vector<PlannedWork> works;     ///< in the order they run: own shapes first, the rest shuffled within its round
  std::vector<PlannedWork> left_out;  ///< for want of time; the least telling first
  std::vector<std::string> notes;     ///< what this GPU cannot do: precisions, shapes beyond its memory
  Seconds budget, estimate;           ///< estimate <= budget, always
};

struct PlanRequest {
  Gpu gpu;                   ///< datasheet: what it can do, how long things take, how much fits
  int capability_major = 9;  ///< our attention in bf16 needs 8
  bool cudnn = false;        ///< its attention is timed beside ours
  Seconds budget{180};
  std::vector<std::string> only;  ///< phases; empty = all
  std::vector<Query> own;         ///< the user's model's, heaviest first
  std::uint64_t seed = 1;         ///< of the order
  MethodRules rules;
};

/// What a work takes of the campaign at most: preparing, checking, warming up and sampling by the rules.
Seconds expected_campaign_time(const PlanRequest& request, const PlannedWork& work);

}  // namespace stepcast::calibrate
