// Which rank's step is shown beside which expected step, and what differs.
#pragma once

#include <string>
#include <vector>

#include "studies/compare/causes.h"
#include "studies/compare/facts_report.h"
#include "studies/compare/forecast_trace.h"

namespace stepcast::comparison {

struct Beside {
  std::string expected, measured;  ///< what is held beside what: "the forecast", "rank 3 of 8"
  Gap gap;
  std::vector<GapCause> causes;
  std::vector<RankPace> ranks;
  double p10_s = 0, p90_s = 0;  ///< of the forecast; equal: of none
  std::vector<std::string> notes;
};

/// Errors: ranks of different jobs or tools, a rank of which nobody knows the stage, another network than the
/// forecast's by the work that it does.
Expected<Beside> beside_forecast(const ForecastTraces& forecast, const std::vector<ReadTrace>& measured);
/// Rank by rank where both have as many; the one that differs most is shown.
Expected<Beside> beside_trace(const std::vector<ReadTrace>& expected, const std::vector<ReadTrace>& measured);

}  // namespace stepcast::comparison
