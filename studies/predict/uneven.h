// A step whose work is uneven: --imbalance "ranks=2% micro-batches=0.25 slow=1x2.5".
#pragma once

#include <optional>
#include <string>

#include "sim/job/uneven.h"
#include "studies/run/forecast.h"

namespace stepcast::predict {

/// Words, separated by blanks:
///   ranks=S           each rank by a factor of its own that lasts, log-normal with this standard deviation
///   micro-batches=S   each micro-batch, the same on all stages
///   actions=S         each forward and each backward by itself
///   slow=NxF          N ranks take F times as long
///   law=P5,P50,P95,MOST,MEAN   cost of micro-batches by its percentiles, in any unit
///   costs=FILE        costs of micro-batches, a number on each line
/// Errors: other words, what is no such number, a word twice, nothing.
Expected<sim::Unevenness> read_unevenness(const std::string& text, const std::string& where);
Expected<void> check_unevenness(const std::string& text, const std::string& where);

/// The step with it, in seconds: what stands around the pipeline takes as long as in the forecast.
struct UnevenForecast {
  double mean_s = 0, p10_s = 0, p90_s = 0, even_s = 0;
  double error_s = 0;  ///< standard error of the mean
  std::int64_t copies = 1, samples = 0;
  std::optional<double> one_stage_s;  ///< by closed form, where it holds
};
/// Errors: a mapping, whose copies are not known; a schedule that the engine cannot run with single durations.
Expected<UnevenForecast> uneven_forecast(
    const Scenario& scenario, const Prediction& prediction, const sim::Unevenness& uneven);

std::string uneven_text(const UnevenForecast& forecast);

}  // namespace stepcast::predict
