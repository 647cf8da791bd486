// Forecasts of measured loads: closed loops of so many users, open loops at a rate, and all requests at once.
#pragma once

#include <optional>
#include <string>

#include "studies/infer/records/record.h"
#include "studies/infer/served_load.h"

namespace stepcast::infer {

/// Seconds of `phase` are what is forecast: of a word.
struct ServedForecast {
  std::string metric;
  double measured = 0, predicted = 0;
  Phase phase;
  std::optional<Seconds> first_word = {};  ///< the mean, from sending, of closed loops
};

bool is_served(const InferenceRecord& record);
/// `prompts`: the engine that reads prompts, where the other says words alone. Errors: loads that the record does not
/// tell in full, guesses, and requests that the cache does not hold. `iterations`: whether the phase has them.
Expected<ServedForecast> forecast_served(
    const InferenceRecord& record, ServedTimes& times, ServedTimes* prompts = nullptr, bool iterations = true);

}  // namespace stepcast::infer
