// Fits the step parameters of one training software from its measured steps: a few named numbers and never one per run.
// It also says how far forecasts are off when the runs that are forecast are held out.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/fit/pair_spread.h"
#include "model/profile/step_parameter.h"

namespace stepcast::calibrate {

/// One measured step.
struct StepSample {
  double seconds = 0;
  std::string group;                 ///< left out together: a publication, a model, a release
  bool witness = true;               ///< false: its record is doubtful; it is forecast, but nothing is fitted to it
  std::string job = {}, split = {};  ///< JobResidual's; job "" = compared with nobody
};

/// Forecasts of the steps `which` with `values` in force, seconds, in their order. All must be positive.
using StepForecasts = std::function<void(
    std::span<const std::size_t> which, std::span<const StepValue> values, std::span<double> seconds)>;

struct StepFitOptions {
  std::vector<StepValue> start;     ///< the parameters to fit, at the values believed beforehand
  std::string left_out = "source";  ///< what `group` names, for the report
  /// Believed scatter of measured steps around the best forecast: weighs the measurements against what is believed of
  /// the parameters (StepParameterRow::doubt). Steps of one configuration repeat within 0.1 to 1 %, releases of one
  /// software differ by 1 to 8 % (MLPerf training results v3.0 to v4.1, Megatron-Bridge 25.09 to 26.08).
  double scatter = 0.03;
  /// How much less than a row's `doubt` the start is doubted: 1 for what laws and rows say by themselves; 3 for the fit
  /// of many runs of this software, 1.75 for a borrowed one. Tried on 1,260 triples of published runs, two of which
  /// teach the third, with `scatter` multiplied instead: mean error 5.4 % before, 4.7 with 1, 4.4 with 3; borrowed 4.9
  /// up to 2, 5.1 with 3.
  double certainty = 1;
  double pair_spread = 0.055;  ///< believed beforehand: fit_pair_spread
};

struct StepFitResult {
  std::vector<StepValue> values;
  std::vector<double> fitted;  ///< forecasts with `values`, one per step
  /// with the values fitted without the step's own group; empty: fewer than two groups
  std::vector<double> held_out;
  int runs = 0, groups = 0;            ///< witnesses and their groups
  double mape = 0, held_out_mape = 0;  ///< over witnesses
  Spread spread;     ///< 10th to 90th percentile of measured over held-out forecast; {1, 1}: not known
  PairSpread pairs;  ///< of witnesses, held out; no pairs: nothing is known
};

/// Maximum a posteriori: the Huber loss of log(forecast / measured) and the distance from `start` in units of the rows'
/// doubt. With two steps the most certain parameters hardly move; with many, the start is forgotten.
/// The search begins at the best point of a coarse grid around the start.
std::vector<StepValue> fit_step_values(std::span<const StepSample> steps, std::span<const std::size_t> which,
    const StepForecasts& forecasts, const StepFitOptions& options);

/// The fit on all witnesses, and by turns without each group.
StepFitResult fit_steps(
    std::span<const StepSample> steps, const StepForecasts& forecasts, const StepFitOptions& options);

/// How far the mean of one more group lies from those that are known, as half the width of an 80 % interval of its
/// logarithm: publications of one software publication_scatter, releases 0.06, models of one publication 0.04 (0.028
/// rms in 60 groups of eleven fits; studies/records/runs.json, 2026-11).
double group_scatter(std::string_view left_out);

/// 10th and 90th percentile of measured / forecast as they are expected of the next sample: order statistics of n
/// samples reach a little further than those of many (level 0.9 (n + 1) / n). What few `groups` do not show is
/// believed: with the scatter g of what `left_out` names, the half width h of the logarithm becomes
/// sqrt(h^2 (1 + 1/groups) + g^2/groups). At least +-2 %. Fewer than two samples: {1, 1}.
Spread step_spread(std::span<const double> measured_over_forecast, int groups, std::string_view left_out = "release");

}  // namespace stepcast::calibrate
