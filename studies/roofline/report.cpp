// All figures of a roofline report, out of its parts.
#include "studies/roofline/report.h"

#include <algorithm>

#include <fmt/format.h>

#include "studies/run/figures/memory_fit.h"

namespace stepcast::roofline {
namespace {

constexpr std::size_t most_levers = 3;

void take_names(const Scenario& scenario, const Prediction& prediction, RooflineReport& report) {
  report.network = scenario.network.row.name;
  report.machine = scenario.machine.row.name;
  report.gpu = scenario.machine.row.gpu.name;
  report.split = in_words(scenario);
  report.gpus = scenario.plan.gpus;
  report.precision = scenario.plan.precision;
  report.step_time = prediction.step.step_time;
  report.too_much = too_much_memory(prediction.step.memory);
  report.p10 = prediction.step.p10;
  report.p90 = prediction.step.p90;
}

/// Without levers a report is still one: sequences in slices and mapping files refuse some of their neighbours.
void add_levers(const Request& request, Waterfall& fall) {
  auto levers = biggest_levers(request, most_levers);
  if (!levers) fall.levers_missing = levers.error().what;
  else if (levers->empty()) fall.levers_missing = "no single change makes a token cheaper";
  else fall.levers = *std::move(levers);
}

void warn(std::vector<std::string>& warnings, const std::string& name, const std::string& what) {
  if (!what.empty()) warnings.push_back(fmt::format("{}: {}", name, what));
}

/// Collectives that share a reason are one line: the first by name and figures, the others counted.
void add_link_warnings(const std::vector<LinkPoint>& points, std::vector<std::string>& warnings) {
  struct Reason {
    std::string link, because, line;
    int more = 0;
  };
  std::vector<Reason> reasons;
  for (const LinkPoint& point : points) {
    if (point.warning.empty()) continue;
    const auto known = std::find_if(reasons.begin(), reasons.end(),
        [&](const Reason& one) { return one.link == point.link && one.because == point.faster_because; });
    if (known == reasons.end())
      reasons.push_back({point.link, point.faster_because, fmt::format("{}: {}", point.name, point.warning)});
    else ++known->more;
  }
  for (const Reason& reason : reasons)
    warnings.push_back(
        reason.more > 0 ? fmt::format("{} (and {} more on this link)", reason.line, reason.more) : reason.line);
}

void add_warnings(const Prediction& prediction, RooflineReport& report) {
  std::vector<std::string>& warnings = report.warnings;
  warnings = prediction.warnings;
  report.forecast_warnings = warnings.size();
  for (const OperatorPoint& point : report.points) warn(warnings, point.block + " " + point.name, point.warning);
  for (const LoosePoint& point : report.loose) warn(warnings, point.kind + " " + point.shape, point.warning);
  add_link_warnings(report.links.points, warnings);
}

Expected<void> add_measured_rows(const MeasuredFile& measured, const Scenario& scenario, RooflineReport& report) {
  TRY(auto placed, place_measured(measured.rows, measured.name, scenario.machine.row.gpu, report.roofs, report.points));
  report.loose = std::move(placed.loose);
  for (const std::string& note : placed.notes)
    report.provenance.assumptions.push_back(fmt::format("{}: {}", measured.name, note));
  return {};
}

}  // namespace

Expected<RooflineReport> roofline_report(const Request& request, const Scenario& scenario, const Prediction& prediction,
    const std::optional<MeasuredFile>& measured) {
  RooflineReport report;
  take_names(scenario, prediction, report);
  report.provenance = provenance_of(scenario, prediction);
  report.roofs = roofs_of(scenario.machine.row.gpu, scenario.profile.row);
  report.points = operator_points(scenario, prediction, report.roofs);
  if (measured) TRY(add_measured_rows(*measured, scenario, report));
  report.links = network_roofline(scenario, prediction, report.roofs);
  report.boundaries = operator_boundaries(scenario, prediction, report.points, report.roofs);
  report.fall = waterfall(scenario, prediction, report.points, report.roofs);
  add_levers(request, report.fall);
  add_warnings(prediction, report);
  return report;
}

}  // namespace stepcast::roofline
