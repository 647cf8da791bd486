// Carries a plan out on a GPU. It keeps measurements with their context as they come, so that whatever ends it early
// loses nothing. What an earlier campaign's file holds is not measured again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/measure/plan/planned_work.h"
#include "calibrate/measure/sample.h"
#include "calibrate/rows/measurement.h"
#include "kernels/bench/gpu_bench.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

struct MeasureProgress {
  const PlannedWork* now = nullptr;
  std::size_t done = 0, all = 0;
  Seconds elapsed, left;  ///< left: by the plan's estimates, corrected by how they did so far
};

/// What the caller is told and asked; any may be empty.
struct MeasureHooks {
  std::function<bool()> stop;                               ///< true: finish now (Ctrl-C)
  std::function<void(const MeasureProgress&)> progress;     ///< before each work
  std::function<Expected<void>(const Measurements&)> keep;  ///< every few seconds and at the end: write the file
};

/// A thing that was not measured, and why.
struct NotMeasured {
  std::string work, why;
};

/// Seconds of one work without rest, or of several in turn ("a / b / c").
struct SustainedResult {
  std::string work;
  Sustained run;
};

struct MeasureResult {
  Measurements measurements;         ///< earlier rows first
  std::vector<NotMeasured> skipped;  ///< the GPU or a library could not, a check failed; "budget": used up
  std::vector<SustainedResult> sustained;
  struct Repeated {
    std::string work;
    Seconds first, again;
  };
  std::vector<Repeated> repeats;  ///< drift: the same thing early and late
  // clang-format off
  struct Timed { std::size_t row; std::string kernel; double sm_clock_mhz, temperature_c, check_error; bool settled; };
  // clang-format on
  std::vector<Timed> timed;  ///< of bursts, what the file does not hold: for the verdict
  std::size_t resumed = 0;   ///< works that the earlier file already had
  bool finished = false;     ///< false: stopped, out of budget, or the GPU was lost (`ended_by` says which)
  std::string ended_by;      ///< "interrupted", "budget", or what the GPU said; "" = finished
};

struct CampaignRequest {
  MeasurePlan plan;
  MethodRules rules;
  std::string gpu;       ///< catalogue id for the contexts
  std::string date;      ///< of today: "2026-11-21"
  Measurements earlier;  ///< of the file to go on with; empty = from the start
};

/// Fails before anything ran where the earlier file is of another GPU, driver or library, or not of this program. Later
/// failures end up in the result: a work that cannot run is skipped, a GPU that is lost ends the campaign, a file that
/// cannot be written fails.
Expected<MeasureResult> run_campaign(GpuBench& bench, const CampaignRequest& request, const MeasureHooks& hooks);

/// The context that rows of this work get. `beside` names the neighbour as work_name() does: first its kind.
MeasurementContext context_of(const GpuBench& bench, const CampaignRequest& request, const Work& work, bool sustained);

}  // namespace stepcast::calibrate
