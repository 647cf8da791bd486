// The run of a fleet as each kind of its machines sees it: the same split, on machines that could be all of this kind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/mixed/shares.h"
#include "studies/run/scenario.h"

namespace stepcast::mixed {

struct KindScenario {
  MachineShare share;
  Scenario scenario;
  Scenario across;  ///< the same, with what joins the kinds for its outermost network
};

/// Of each share. `request` may say neither machine nor GPUs but these. Errors: see
/// forecast_mixed() of mixed_run.h.
Expected<std::vector<KindScenario>> kind_scenarios(const Request& request, const std::vector<MachineShare>& shares,
    const std::optional<BetweenKinds>& between, const std::string& where);

}  // namespace stepcast::mixed
