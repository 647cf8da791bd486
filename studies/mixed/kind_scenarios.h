// The run of a fleet as each kind of its machines sees it: the same split, on machines that could be all of this kind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/mixed/mixed_request.h"
#include "studies/run/prediction.h"

namespace stepcast::mixed {

struct KindScenario {
  MachineShare share;
  Scenario scenario;
  Scenario across;  ///< the same, with what joins the kinds for its outermost network
};

/// All of them, and how ranks lie on them.
struct FleetKinds {
  std::vector<KindScenario> kinds;
  std::int64_t block = 0;  ///< ranks in aligned blocks of so many are of one kind
  bool by_stage = true;    ///< each stage lies on one kind; otherwise each replica does
  [[nodiscard]] const Scenario& first() const { return kinds.front().scenario; }
  [[nodiscard]] const Split& split() const { return *first().split; }
  /// Prices; replicas count their ranks from the first of their own.
  [[nodiscard]] StageCosts costs(std::vector<int> kind_of_stage) const;
};

/// Of each share. Errors: see lay_kinds() of mixed_run.h.
Expected<std::vector<KindScenario>> kind_scenarios(const MixedRequest& asked);

/// The scenario with what joins the kinds for its outermost network.
Scenario joined_by(Scenario scenario, const std::optional<BetweenKinds>& between);

}  // namespace stepcast::mixed
