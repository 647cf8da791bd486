// Lists what each phase would measure if it had the time, most telling first. Only plan.cpp uses it.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/plan/design.h"
#include "calibrate/measure/plan/planned_work.h"

namespace stepcast::calibrate {

/// What all lists of candidates need to know of the GPU and the request.
struct PhaseContext {
  const PlanRequest& request;
  Precision precision = Precision::bf16;  ///< of training here: bf16, on chips without it fp16, else fp32
  Bytes room;                             ///< that one set of buffers may take
  std::vector<Shape> own;                 ///< products of the user's model, forward
  std::vector<Shape> design;              ///< far apart from each other and from those

  [[nodiscard]] bool has(Precision other) const { return request.gpu.peak[static_cast<int>(other)].value() > 0; }
  [[nodiscard]] bool fits(const Query& query) const { return bytes_taken(query) <= room; }
  /// Longer than a replay may take, a design's shape tells no more than a smaller one.
  [[nodiscard]] bool short_enough(const Query& query) const {
    return expected_time(request.gpu, query) <= request.rules.longest_replay;
  }
};
PhaseContext phase_context(const PlanRequest& request);

/// One thing to sample, by its usual source.
PlannedWork sampled_work(const Query& query, bool warm = false);
PlannedWork sampled_beside(const Query& query, const Query& beside);

using Candidates = std::vector<PlannedWork>;
using MakeCandidates = Candidates(const PhaseContext& context);

/// A row of the table of phases.
struct PlannedPhase {
  MeasurePhase phase;
  MakeCandidates* candidates;  ///< null: its works come from elsewhere
};
std::span<const PlannedPhase> planned_phases();
/// Where an own shape belongs; -1: nothing here can run it.
int phase_of(const Query& query, const PhaseContext& context);

MakeCandidates launch_candidates, bandwidth_candidates, gemm_candidates, backward_candidates, precision_candidates,
    skinny_works, edge_works, batched_candidates, warm_candidates, attention_candidates, decode_candidates,
    membound_candidates, sustained_candidates, beside_candidates;

/// Products of the two phases above: their times for a moment and alone are what those are held against.
std::vector<Shape> compared_shapes();

}  // namespace stepcast::calibrate
