// A roofline report: all figures, before any of them is drawn. JSON, SVG, HTML and the terminal show these and nothing
// else.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/rows/measurement.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/run/forecast.h"
#include "studies/run/request.h"
#include "studies/roofline/figures/boundaries.h"
#include "studies/roofline/figures/links.h"
#include "studies/roofline/figures/operator_points.h"
#include "studies/roofline/figures/roofs.h"
#include "studies/roofline/figures/waterfall.h"
#include "studies/run/scenario.h"

namespace stepcast::roofline {

/// Under which circumstances the figures hold.
struct Provenance {
  struct Fact {
    std::string name, value;
  };  ///< "profile", "h100-sxm"; "clocks", "not recorded"
  std::vector<Fact> facts;
  std::vector<std::string> assumptions;  ///< defaults and remarks, as predict prints them
};
Provenance provenance_of(const Scenario& scenario, const Prediction& prediction);

struct RooflineReport {
  std::string network, machine, gpu, split;  ///< names for people
  std::int64_t gpus = 1;
  Precision precision = Precision::bf16;
  Seconds step_time, p10, p90;
  std::string too_much;  ///< memory that a GPU does not have, in words; "" where the run fits
  Roofs roofs;
  std::vector<OperatorPoint> points;  ///< heaviest first
  std::vector<LoosePoint> loose;
  NetworkRoofline links;
  std::vector<OperatorBoundaries> boundaries;
  Waterfall fall;
  Provenance provenance;
  std::vector<std::string> warnings;  ///< those of the forecast, then points above roofs
  std::size_t forecast_warnings = 0;  ///< how many of them are the forecast's
};

struct MeasuredFile {
  std::string name;
  Measurements rows;
};
/// The file that a flag names, if it is given. Errors: it cannot be read, or is no file of measurements.
Expected<std::optional<MeasuredFile>> read_measured_file(const Arguments& arguments, const std::string& flag);

/// `request` is what `scenario` was resolved from, for the levers.
Expected<RooflineReport> roofline_report(const Request& request, const Scenario& scenario, const Prediction& prediction,
    const std::optional<MeasuredFile>& measured = std::nullopt);

/// One document, base units, every digit; points in the report's order. The page's script reads the same.
std::string roofline_json(const RooflineReport& report);
std::string roofline_text(const RooflineReport& report, const Console& console);
std::string roofline_page(const RooflineReport& report);

}  // namespace stepcast::roofline
