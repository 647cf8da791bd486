// What a reader should doubt in a fit's figures.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "model/profile/profile_names.h"
#include "studies/calibrate/print/calibrate_report.h"

namespace stepcast::calibration {
namespace {

/// Below, laws have no corrections and their errors scatter.
constexpr int few_samples = 64;
/// From here on the coverage of an 80 % interval is known to 3 %: sqrt(0.8 * 0.2 / 150).
constexpr int enough_for_coverage = 150;
constexpr double least_coverage = 0.75, most_coverage = 0.88;
constexpr double largest_bias = 0.05;

/// Curves of collectives pass through their points and have no corrections to gain.
bool of_a_collective(const LawFit& fit) {
  return std::any_of(std::begin(collective_names), std::end(collective_names),
      [&](const Choice<CollectiveKind>& kind) { return fit.law.starts_with(std::string(kind.name) + " "); });
}

std::string doubt_of_samples(const LawFit& fit) {
  if (fit.samples >= few_samples || of_a_collective(fit) || fit.held_out.samples == 0) return {};
  return fmt::format(
      "{}: {} samples give the parameters, but no corrections; more shapes make it better", fit.law, fit.samples);
}

std::string doubt_of_coverage(const LawFit& fit) {
  const double share = fit.held_out.coverage;
  if (fit.held_out.samples < enough_for_coverage || share == 0 || (share >= least_coverage && share <= most_coverage))
    return {};
  return fmt::format("{}: its 80 % interval holds {:.0f} % of what was held out", fit.law, 100 * share);
}

std::string doubt_of_bias(const LawFit& fit) {
  if (fit.held_out.samples == 0 || (fit.bias > 1 - largest_bias && fit.bias < 1 + largest_bias)) return {};
  return fmt::format("{}: measured times are {:.2f} of the forecast in the median", fit.law, fit.bias);
}

}  // namespace

std::vector<std::string> doubts_of(
    const std::vector<LawFit>& laws, const Measurements& measurements, const std::string& gpu) {
  std::vector<std::string> notes;
  for (const LawFit& fit : laws)
    for (const auto doubt : {doubt_of_samples, doubt_of_coverage, doubt_of_bias})
      if (std::string text = doubt(fit); !text.empty()) notes.push_back(std::move(text));
  for (const MeasurementContext& context : measurements.contexts)
    if (context.gpu == gpu && context.regime == "sustained")
      notes.push_back(fmt::format("{} was measured sustained: it gives the slow-down of long runs, not the rates",
          context.software.empty() ? context.source : context.software));
  return notes;
}

}  // namespace stepcast::calibration
