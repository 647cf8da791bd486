// What `stepcast calibrate runs` prints: which step parameters the measured steps give, and how far off forecasts are
// without them, with them, and with them fitted without the run that is forecast.
#pragma once

#include <string>
#include <vector>

#include "studies/records/step_fitting.h"

namespace stepcast::calibration {

struct RunsReport {
  std::vector<MeasuredRun> runs;
  std::vector<FitPool> pools;
  std::vector<std::string> notes;
  std::string output;  ///< file or folder; "" = nothing was written
};
std::string runs_report(const RunsReport& report);
std::string runs_json(const RunsReport& report);

}  // namespace stepcast::calibration
