// What a comparison measured, as a profile: the next forecast with it is of this cluster.
#pragma once

#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/compare/beside.h"
#include "studies/run/scenario.h"

namespace stepcast::comparison {

struct MeasuredProfile {
  Profile profile;
  Seconds forecast;                ///< of the same run with it
  std::vector<std::string> notes;  ///< which step parameters changed and by what, and what was left as it was
};

/// The run's profile with the step parameters of its software put to what this step shows, at most three: those whose
/// rows differ most. Collectives are left as they are: what a trace shows of them holds their waiting, too. The
/// interval stays what it was, for one run says nothing about others. Errors: no row differs; a mapping that no
/// forecast takes.
Expected<MeasuredProfile> measured_profile(const Scenario& scenario, const Beside& beside);

}  // namespace stepcast::comparison
