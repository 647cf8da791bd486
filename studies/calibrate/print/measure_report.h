// Prints what `stepcast calibrate measure` would do and what it found, for people and for programs.
#pragma once

#include <string>

#include "calibrate/measure/plan/plan.h"
#include "calibrate/verdict/verdict.h"
#include "studies/cli/console.h"

namespace stepcast::calibration {

struct PlanReport {
  const MeasurePlan& plan;
  const Gpu& gpu;       ///< whose datasheet the estimates are of
  std::string device;   ///< as the driver names it; "" = it is not here
  std::string missing;  ///< libraries that could not be loaded, and how to get them
};
std::string plan_report(const PlanReport& report, const Console& console);
/// {"gpu", "budget_s", "estimate_s", "phases": [...], "works": [...], "left_out": [...], "notes": [...]}.
std::string plan_json(const PlanReport& report);

struct MeasureReport {
  const MeasureResult& result;
  Verdict verdict;
  const FittedProfile& fitted;
  const Gpu& gpu;
  std::string output, profile;  ///< files; profile "" = none was written
};
std::string measure_report(const MeasureReport& report, const Console& console);
/// Figures in base units; "distrust" holds the lines of the page.
std::string measure_json(const MeasureReport& report);

}  // namespace stepcast::calibration
