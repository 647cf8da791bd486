// A step whose work is uneven: what --imbalance says, put on the forecast step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/base/json_writer.h"
#include "studies/run/forecast.h"
#include "studies/whatif/uneven_words.h"

namespace stepcast::whatif {

/// The step with it, in seconds: what stands around the pipeline takes as long as in the forecast.
struct UnevenForecast {
  double mean_s = 0, p10_s = 0, p90_s = 0, even_s = 0;
  double error_s = 0;  ///< standard error of the mean
  std::int64_t copies = 1, samples = 0;
  std::optional<double> one_stage_s;  ///< by closed form, where it holds
  double busiest = 1;                 ///< rows of the fullest rank of experts over the mean
  double tokens = 1;                  ///< of a step over those of whole sequences: less where they are padded
  int slowest_stage = 0;              ///< that takes longest with what is named
  std::vector<std::string> notes;     ///< what is taken for granted
};
/// Errors: a mapping, whose copies are not known; a schedule that the engine cannot run with single durations; ranks,
/// nodes and rails that the run has not; lengths and experts that say nothing here.
Expected<UnevenForecast> uneven_forecast(
    const Scenario& scenario, const Prediction& prediction, const UnevenWords& words);

std::string uneven_text(const UnevenForecast& forecast);
/// The same as keys of the object that is open, notes as "assumptions".
void write_uneven(JsonWriter& json, const UnevenForecast& forecast);

/// Rows of the busiest of `ranks` ranks over the mean. `placed`: experts are dealt to ranks by their rows, the most
/// first, each to the rank with the fewest that has room; else neighbours lie on one rank. A spread s of k experts on
/// each rank gives 1 + s / sqrt(k) x the largest of so many normal draws.
double busiest_rank(const ExpertRows& rows, std::int64_t experts, std::int64_t ranks, bool placed = false);

}  // namespace stepcast::whatif
