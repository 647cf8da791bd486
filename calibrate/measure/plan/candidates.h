// Collects what a plan chooses from: the works of the phases that were asked for, without those that this GPU cannot
// hold or do, and the time that each would take. Only plan.cpp uses it.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/plan/planned_work.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// A phase's works, most telling first; the first `taken` of them are in the plan.
struct PhaseList {
  int phase = 0;
  std::vector<PlannedWork> works;
  std::size_t taken = 0;
  Seconds used;  ///< of this phase's share, by own shapes too
  [[nodiscard]] bool spent() const { return taken == works.size(); }
  [[nodiscard]] const PlannedWork& next() const { return works[taken]; }
};

struct CandidateSet {
  std::vector<PlannedWork> own;   ///< heaviest first
  std::vector<PhaseList> phases;  ///< in the table's order
  bool repeats = false;           ///< was asked for
  std::vector<std::string> notes;
};
/// Fails on an unknown phase.
Expected<CandidateSet> candidates_of(const PlanRequest& request);

}  // namespace stepcast::calibrate
