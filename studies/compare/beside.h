// Which rank's step is shown beside which expected step, and what differs.
#pragma once

#include <string>
#include <vector>

#include "studies/compare/causes.h"
#include "studies/compare/facts_report.h"
#include "studies/compare/forecast_trace.h"
#include "studies/compare/iteration_forecast.h"

namespace stepcast::comparison {

struct Beside {
  std::string what = "Step";       ///< or "Iteration"
  std::string expected, measured;  ///< what is held beside what: "the forecast", "rank 3 of 8"
  Gap gap;
  std::vector<GapCause> causes;
  std::vector<RankPace> ranks;
  /// Which of the measured traces is shown, and beside which of what is expected (stages, or traces).
  std::size_t measured_at = 0, expected_at = 0;
  double p10_s = 0, p90_s = 0;  ///< of the forecast; equal: of none
  std::vector<std::string> notes;
};

/// Errors: ranks of different jobs or tools, a rank of which nobody knows the stage, another network than the
/// forecast's by the work that it does.
Expected<Beside> beside_forecast(const ForecastTraces& forecast, const std::vector<ReadTrace>& measured);
/// Of an engine's iteration; each trace's own one with the rows of the forecast. Errors: as above, or a trace whose
/// iterations have other rows.
Expected<Beside> beside_iteration(const IterationForecast& forecast, std::vector<ReadTrace>& measured);
/// Rank by rank where both have as many; the one that differs most is shown.
Expected<Beside> beside_trace(const std::vector<ReadTrace>& expected, const std::vector<ReadTrace>& measured);

}  // namespace stepcast::comparison
