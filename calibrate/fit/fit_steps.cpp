#include "calibrate/fit/fit_steps.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>

#include "calibrate/fit/numeric/robust_fit.h"
#include "model/base/percentile.h"
#include "model/publication_scatter.h"

namespace stepcast::calibrate {
namespace {

constexpr double tolerance = 1e-4;  ///< of the loss: far below what a single run more would change
/// of a range's upper end: the search runs over logarithms, where 0 has no place
constexpr double smallest_share = 1e-3;

double lowest(const StepParameterRow& row) { return std::max(row.low, row.high * smallest_share); }

std::vector<StepValue> with_values(std::span<const StepValue> start, std::span<const double> values) {
  std::vector<StepValue> out(start.begin(), start.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i].value = values[i];
  return out;
}

/// Where a search may begin: a floor that does not bind has no slope, and valleys of two parameters have several
/// bottoms.
std::vector<double> places(const StepValue& believed) {
  const StepParameterRow& row = row_of(believed.parameter);
  std::vector<double> values;
  if (row.low > 0) values = {0.6 * believed.value, believed.value, 1.6 * believed.value};
  else values = {believed.value, row.typical, 3 * row.typical};
  for (double& value : values) value = std::clamp(value, lowest(row), row.high);
  return values;
}

/// Every combination of places.
std::vector<std::vector<double>> grid(std::span<const StepValue> start) {
  std::vector<std::vector<double>> points(1);
  for (const StepValue& value : start) {
    std::vector<std::vector<double>> longer;
    for (const std::vector<double>& point : points)
      for (const double place : places(value)) {
        longer.push_back(point);
        longer.back().push_back(place);
      }
    points = std::move(longer);
  }
  return points;
}

/// How far a value lies from what was believed of it, in standard deviations.
double distance(const StepValue& value, double believed) {
  const StepParameterRow& row = row_of(value.parameter);
  if (row.low > 0) return std::log(value.value / believed) / row.doubt;
  return (value.value - believed) / row.doubt;
}

std::vector<std::size_t> witnesses_without(std::span<const StepSample> steps, const std::string* group) {
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].witness && (group == nullptr || steps[i].group != *group)) which.push_back(i);
  return which;
}

double mean_error(std::span<const StepSample> steps, const std::vector<double>& forecast) {
  double sum = 0, n = 0;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].witness) sum += std::abs(forecast[i] / steps[i].seconds - 1), ++n;
  return n > 0 ? sum / n : 0;
}

}  // namespace

std::vector<StepValue> fit_step_values(std::span<const StepSample> steps, std::span<const std::size_t> which,
    const StepForecasts& forecasts, const StepFitOptions& options) {
  const std::size_t parameters = options.start.size();
  if (parameters == 0 || which.empty()) return options.start;
  // What is believed beforehand counts like one more measured step per parameter.
  std::vector<double> measured(parameters, 1.0), predicted(parameters + which.size());
  for (const std::size_t i : which) measured.push_back(steps[i].seconds);
  const auto model = [&](std::span<const double> values, std::span<double> out) {
    const auto tried = with_values(options.start, values);
    for (std::size_t i = 0; i < parameters; ++i)
      out[i] = std::exp(options.scatter * options.certainty * distance(tried[i], options.start[i].value));
    forecasts(which, tried, out.subspan(parameters));
  };
  const double knee = 2 * options.scatter;
  std::vector<double> from;
  double least = 0;
  for (const std::vector<double>& point : grid(options.start)) {
    model(point, predicted);
    const double loss = log_error_loss(predicted, measured, knee);
    if (from.empty() || loss < least) from = point, least = loss;
  }
  std::vector<FitParameter> ranges;
  for (std::size_t i = 0; i < parameters; ++i) {
    const StepParameterRow& row = row_of(options.start[i].parameter);
    ranges.push_back({from[i], lowest(row), row.high});
  }
  auto found = with_values(options.start, fit_log_error(model, measured, ranges, knee, tolerance).parameters);
  for (StepValue& value : found)  // logarithms may leave a bound by a last digit
    value.value = std::clamp(value.value, row_of(value.parameter).low, row_of(value.parameter).high);
  return found;
}

double group_scatter(std::string_view left_out) {
  if (left_out == "source" || left_out == "stack") return publication_scatter;
  return left_out == "release" ? 0.06 : 0.04;
}

Spread step_spread(std::span<const double> measured_over_forecast, int groups, std::string_view left_out) {
  const auto n = static_cast<double>(measured_over_forecast.size());
  if (n < 2) return {};
  std::vector<double> ratios(measured_over_forecast.begin(), measured_over_forecast.end());
  constexpr double least = 0.02;
  const double level = std::min(1.0, 0.9 * (n + 1) / n);
  const double low = std::log(percentile(ratios, 1 - level)), high = std::log(percentile(ratios, level));
  const double middle = (low + high) / 2, half = (high - low) / 2, count = std::max(1, groups);
  const double scatter = group_scatter(left_out);
  const double wide = std::sqrt(half * half * (1 + 1 / count) + scatter * scatter / count);
  return {std::min(1 - least, std::exp(middle - wide)), std::max(1 + least, std::exp(middle + wide))};
}

StepFitResult fit_steps(
    std::span<const StepSample> steps, const StepForecasts& forecasts, const StepFitOptions& options) {
  StepFitResult result;
  std::vector<std::size_t> all(steps.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto witnesses = witnesses_without(steps, nullptr);
  result.values = fit_step_values(steps, witnesses, forecasts, options);
  result.fitted.resize(steps.size());
  forecasts(all, result.values, result.fitted);
  result.runs = static_cast<int>(witnesses.size());
  result.mape = mean_error(steps, result.fitted);

  std::map<std::string, std::vector<std::size_t>> groups;
  for (const std::size_t i : all) groups[steps[i].group].push_back(i);
  for (const auto& [name, members] : groups)
    result.groups +=
        std::any_of(members.begin(), members.end(), [&](std::size_t i) { return steps[i].witness; }) ? 1 : 0;
  if (result.groups < 2) {
    result.groups = 0;
    return result;
  }
  result.held_out.resize(steps.size());
  for (const auto& [name, members] : groups) {
    // From the same start as the fit on all: a search that began at its result would know the group that is left out.
    const auto values = fit_step_values(steps, witnesses_without(steps, &name), forecasts, options);
    std::vector<double> seconds(members.size());
    forecasts(members, values, seconds);
    for (std::size_t i = 0; i < members.size(); ++i) result.held_out[members[i]] = seconds[i];
  }
  std::vector<double> ratios;
  std::vector<JobResidual> residuals;
  for (const std::size_t i : witnesses) {
    ratios.push_back(steps[i].seconds / result.held_out[i]);
    residuals.push_back({steps[i].job, steps[i].split, std::log(ratios.back())});
  }
  result.held_out_mape = mean_error(steps, result.held_out);
  result.spread = step_spread(ratios, result.groups, options.left_out);
  result.pairs = fit_pair_spread(residuals, options.pair_spread);
  return result;
}

}  // namespace stepcast::calibrate
