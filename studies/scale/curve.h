// Runs of one plan on more and more GPUs are held against the smallest of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "studies/run/scenario.h"
#include "studies/scale/fit.h"
#include "studies/whatif/sensitivity.h"

namespace stepcast::scale {

struct ScaledRun {
  std::int64_t gpus = 1, global_batch = 1, micro_batches = 1;  ///< micro_batches: of each rank
  Outcome outcome;
  double speed_up = 1;    ///< in tokens/s over the smallest run
  double efficiency = 1;  ///< speed-up over the growth in GPUs
};

struct SkippedCount {
  std::int64_t gpus = 1;
  std::string reason;
};

/// What becomes of the plan at a multiple of the smallest run's GPUs.
struct Horizon {
  double times = 2;                        ///< that were asked for
  std::int64_t wanted = 1;                 ///< GPUs that would be
  std::string not_as_asked;                ///< why the run is at another count; "" = it is at `wanted`
  std::optional<ScaledRun> run;            ///< empty: no count near it is legal
  PhaseMove grown = {"", "", Seconds(0)};  ///< the phase that is furthest above what ideal scaling would leave of it
  std::vector<std::string> breaks;         ///< what no longer works or pays, gravest first
};

struct ScalingCurve {
  Scaling scaling = Scaling::strong;
  std::vector<ScaledRun> runs;  ///< by GPUs; the first is what the others are held against
  std::vector<SkippedCount> skipped;
  std::optional<SerialFit> fit;
  std::vector<Horizon> horizons;  ///< 2, 4 and 10 times the smallest run
};

struct ScaleStudy {
  Scenario scenario;  ///< of the smallest run
  std::int64_t stages = 1;
  std::vector<ScalingCurve> curves;
};

}  // namespace stepcast::scale
