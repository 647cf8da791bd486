// A forecast through the door that measured steps come through: its timeline as a trace for each stage, with how sure
// each kernel's and move's price is.
#pragma once

#include <string>
#include <vector>

#include "calibrate/trace/rank_trace.h"
#include "studies/compare/gap.h"
#include "studies/run/forecast.h"

namespace stepcast::comparison {

struct ForecastTraces {
  std::vector<RankTrace> stages;  ///< one rank of each
  ExpectedPrices prices;
  std::int64_t stage_stride = 1;  ///< ranks that lie between two stages
  int slowest_stage = 0;
  std::string gpu;        ///< of the catalogue
  std::int64_t gpus = 1;  ///< of the run
  double peak = 0;        ///< FLOP/s, what no product of the run is faster than
  /// What "gradient sync" is where a trace says kinds: all_reduce, or reduce_scatter.
  std::string gradient_kind = "reduce_scatter";
  double step_s = 0, p10_s = 0, p90_s = 0;
};

/// The GPU's peak in the precision of a run; of less than 16 bits, and of engines' quantised weights, its highest.
double peak_for(const Gpu& gpu, Precision precision);

/// A stage's trace with kinds of collectives in place of the names of the step's phases.
RankTrace with_kinds(const ForecastTraces& forecast, std::size_t stage);

/// Errors: those of the prediction; a step of more events than a trace may hold.
Expected<ForecastTraces> forecast_traces(const Scenario& scenario);

}  // namespace stepcast::comparison
