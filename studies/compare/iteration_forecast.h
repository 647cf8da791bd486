// An engine's iteration forecast, in the form that measured ones are held beside: every second in one row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "studies/cli/arguments.h"
#include "studies/cli/flags.h"
#include "studies/compare/facts_report.h"
#include "studies/compare/gap.h"

namespace stepcast::comparison {

struct IterationForecast {
  TimeSplit split;
  RankTrace trace;  ///< the same one after the other, layer by layer
  ExpectedPrices prices;
  IterationRows rows;
  std::string gpu;  ///< of the catalogue
  std::int64_t gpus = 1;
  double peak = 0;  ///< FLOP/s, what no product of the iteration is faster than
  double p10_s = 0, p90_s = 0;
  std::vector<std::string> notes;
};

/// Flags that say an iteration, beside those that say where it runs.
std::vector<Flag> iteration_flags();
/// Whether one of them was given.
bool asks_for_iteration(const Arguments& arguments);

/// Errors: those of stepcast infer; flags of a step of training; more than one iteration; pipeline stages, of which a
/// trace has one.
Expected<IterationForecast> iteration_forecast(const Arguments& arguments);

/// Takes the median of the trace's iterations that have the forecast's rows, and says what it could not check, "":
/// nothing. Error: none has these rows, and which there are.
Expected<std::string> take_iteration(const IterationForecast& forecast, ReadTrace& read);

}  // namespace stepcast::comparison
