#include "calibrate/fit/fit_steps.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>

#include "calibrate/fit/holdout.h"
#include "calibrate/fit/robust_fit.h"

namespace stepcast {
namespace {

constexpr double tolerance = 1e-4;        ///< of the loss: far below what a single run more would change
constexpr double smallest_share = 1e-3;  ///< of a range's upper end: the search runs over logarithms, where 0 has no place

double lowest(const StepParameterRow& row) { return std::max(row.low, row.high * smallest_share); }

std::vector<StepValue> with_values(std::span<const StepValue> start, std::span<const double> values) {
  std::vector<StepValue> out(start.begin(), start.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i].value = values[i];
  return out;
}

/// Costs of the host count only where they outlast the GPU.
bool is_floor(const StepValue& value) { return value.parameter == StepParameter::host_per_launch; }

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
                                       const StepForecasts& forecasts, const StepFitOptions& options,
                                       std::span<const StepValue> from) {
  const std::size_t parameters = options.start.size();
  if (parameters == 0 || which.empty()) return options.start;
  std::vector<FitParameter> ranges;
  for (const StepValue& value : from) {
    const StepParameterRow& row = row_of(value.parameter);
    ranges.push_back({std::clamp(value.value, lowest(row), row.high), lowest(row), row.high});
  }
  // What is believed beforehand counts like one more measured step per parameter.
  std::vector<double> measured(parameters, 1.0);
  for (const std::size_t i : which) measured.push_back(steps[i].seconds);
  const auto model = [&](std::span<const double> values, std::span<double> predicted) {
    const auto tried = with_values(options.start, values);
    for (std::size_t i = 0; i < parameters; ++i)
      predicted[i] = std::exp(options.scatter * distance(tried[i], options.start[i].value));
    forecasts(which, tried, predicted.subspan(parameters));
  };
  Fit best = fit_log_error(model, measured, ranges, 2 * options.scatter, tolerance);
  // A floor that does not bind has no slope: a second search begins where it does.
  if (std::any_of(options.start.begin(), options.start.end(), is_floor)) {
    for (std::size_t i = 0; i < parameters; ++i)
      if (is_floor(options.start[i])) ranges[i].start = 2 * row_of(options.start[i].parameter).typical;
    if (Fit other = fit_log_error(model, measured, ranges, 2 * options.scatter, tolerance); other.loss < best.loss) best = std::move(other);
  }
  auto found = with_values(options.start, best.parameters);
  for (StepValue& value : found)  // logarithms may leave a bound by a last digit
    value.value = std::clamp(value.value, row_of(value.parameter).low, row_of(value.parameter).high);
  return found;
}

Spread step_spread(std::span<const double> measured_over_forecast) {
  const auto n = static_cast<double>(measured_over_forecast.size());
  if (n < 2) return {};
  std::vector<double> ratios(measured_over_forecast.begin(), measured_over_forecast.end());
  constexpr double least = 0.02;
  const double level = std::min(1.0, 0.9 * (n + 1) / n);
  return {std::min(1 - least, percentile(ratios, 1 - level)), std::max(1 + least, percentile(ratios, level))};
}

StepFitResult fit_steps(std::span<const StepSample> steps, const StepForecasts& forecasts, const StepFitOptions& options) {
  StepFitResult result;
  std::vector<std::size_t> all(steps.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto witnesses = witnesses_without(steps, nullptr);
  result.values = fit_step_values(steps, witnesses, forecasts, options, options.start);
  result.fitted.resize(steps.size());
  forecasts(all, result.values, result.fitted);
  result.runs = static_cast<int>(witnesses.size());
  result.mape = mean_error(steps, result.fitted);

  std::map<std::string, std::vector<std::size_t>> groups;
  for (const std::size_t i : all) groups[steps[i].group].push_back(i);
  for (const auto& [name, members] : groups)
    result.groups += std::any_of(members.begin(), members.end(), [&](std::size_t i) { return steps[i].witness; }) ? 1 : 0;
  if (result.groups < 2) {
    result.groups = 0;
    return result;
  }
  result.held_out.resize(steps.size());
  for (const auto& [name, members] : groups) {
    // From the same start as the fit on all: a search that began at its result would know the group that is left out.
    const auto values = fit_step_values(steps, witnesses_without(steps, &name), forecasts, options, options.start);
    std::vector<double> seconds(members.size());
    forecasts(members, values, seconds);
    for (std::size_t i = 0; i < members.size(); ++i) result.held_out[members[i]] = seconds[i];
  }
  std::vector<double> ratios;
  for (const std::size_t i : witnesses) ratios.push_back(steps[i].seconds / result.held_out[i]);
  result.held_out_mape = mean_error(steps, result.held_out);
  result.spread = step_spread(ratios);
  return result;
}

}  // namespace stepcast
