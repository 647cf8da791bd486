// What a case should take: the figures of a forecasting command of this program, asked as its JSON, so that any run
// that a command understands can stand in a gate's file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/gate/results.h"

namespace stepcast::gate {

struct CaseForecast {
  double seconds = 0;                  ///< a step, an iteration, a kernel or a collective
  double tokens_per_s_per_gpu = 0;     ///< 0: not known
  std::optional<double> mfu;           ///< predict
  std::optional<double> roof_seconds;  ///< roofline: kernels at the datasheet's roofs; kernel: FLOPs or bytes at them
  StepWork work;
};

/// Errors: a command that gives no forecast, what the command itself refuses, a run that does not fit in memory.
Expected<CaseForecast> forecast_case(const std::vector<std::string>& words, const std::string& where);

}  // namespace stepcast::gate
