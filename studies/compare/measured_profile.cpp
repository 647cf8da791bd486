#include "studies/compare/measured_profile.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/untold_stack.h"
#include "model/step_tuning.h"
#include "studies/run/forecast.h"

namespace stepcast::comparison {
namespace {

/// A row's step parameter with the value that explains what was measured.
struct ParameterChange {
  StepParameter parameter;
  double before = 1, after = 1;
  double seconds = 0;  ///< of the gap
};

const GapRow* row_named(const Gap& gap, std::string_view name) {
  const auto at = std::ranges::find(gap.rows, name, &GapRow::name);
  return at == gap.rows.end() ? nullptr : &*at;
}

double ratio_of(const GapRow* row) {
  return row != nullptr && row->expected > 0 && row->measured > 0 ? row->measured / row->expected : 1;
}

std::vector<ParameterChange> changes_of(const Gap& gap, const StepTuning& in_force, bool one_stage) {
  std::vector<ParameterChange> changes;
  const GapRow *products = row_named(gap, "matrix products"), *attention = row_named(gap, "attention");
  const auto scaled = [&](StepParameter parameter, const GapRow* row, double factor) {
    const double before = in_force[parameter];
    if (row != nullptr && std::abs(factor - 1) > 0.005)
      changes.push_back({parameter, before, before * factor, std::abs(row->difference())});
  };
  scaled(StepParameter::products, products, ratio_of(products));
  // Its factor comes on top of that of products.
  scaled(StepParameter::attention, attention, ratio_of(attention) / ratio_of(products));
  const GapRow* memory = row_named(gap, "memory-bound kernels");
  scaled(StepParameter::memory, memory, ratio_of(memory));
  if (const GapRow* idle = row_named(gap, "idle"); idle != nullptr && one_stage) {
    const double before = in_force[StepParameter::host_per_step];
    changes.push_back(
        {StepParameter::host_per_step, before, before + idle->difference(), std::abs(idle->difference())});
  }
  std::ranges::stable_sort(changes, std::greater{}, &ParameterChange::seconds);
  return changes;
}

/// Values of other parameters stay; the changed ones fill what is left of three.
void put_in(StepFit& fit, const std::vector<ParameterChange>& changes, std::vector<std::string>& notes) {
  std::erase_if(fit.values, [&](const StepValue& value) {
    return std::ranges::any_of(changes, [&](const auto& change) { return change.parameter == value.parameter; });
  });
  for (const ParameterChange& change : changes) {
    const StepParameterRow& row = row_of(change.parameter);
    const std::string text = fmt::format("{} {:.3g} instead of {:.3g}", row.id, change.after, change.before);
    if (change.after < row.low || change.after > row.high) {
      notes.push_back(fmt::format(
          "{} is beyond what it stands for ({:g} to {:g}): something else takes this time", text, row.low, row.high));
    } else if (fit.values.size() >= most_fitted) {
      notes.push_back(fmt::format("{} is left out: at most {} of them are set", text, most_fitted));
    } else {
      fit.values.push_back({change.parameter, change.after});
      notes.push_back(text);
    }
  }
}

}  // namespace

Expected<MeasuredProfile> measured_profile(const Scenario& scenario, const Beside& beside) {
  if (is_untold(scenario.stack.row))
    return fail("--output", "a profile is fitted to the steps of one software, and nobody named it",
        fmt::format("--stack ID; its forecast stands on {}", scenario.stack.id));
  MeasuredProfile made;
  const FoundFit found = step_fit(scenario);
  const StepTuning in_force = tuning_of(scenario.stack.row, scenario.profile.row, found.fit ? &*found.fit : nullptr);
  const bool one_stage = !scenario.split || scenario.split->pp == 1;
  const auto changes = changes_of(beside.gap, in_force, one_stage);
  StepFit fit = found.fit ? *found.fit : StepFit{};
  put_in(fit, changes, made.notes);
  if (fit.values.empty()) return fail("--output", "no row of the step says anything about a profile", "--json");
  fit.stack = scenario.stack.row.id, fit.precision = scenario.plan.precision;
  fit.experts = scenario.network.row.experts.count > 0, fit.foreign = false;
  fit.runs = 1, fit.groups = 0, fit.left_out.clear(), fit.held_out_mape = 0, fit.pairs = 0, fit.pair_spread = 0;
  if (!in_force.fitted()) fit.spread = scenario.profile.row.step_spread;
  fit.most_gpus = scenario.plan.gpus, fit.gpus = {scenario.machine.row.gpu.id};
  fit.source = fmt::format("stepcast compare: {}", beside.measured);
  made.profile = scenario.profile.row;
  Profile& profile = made.profile;
  std::erase_if(profile.steps, [&](const StepFit& one) {
    return one.stack == fit.stack && one.precision == fit.precision && one.experts == fit.experts;
  });
  profile.steps.insert(profile.steps.begin(), fit);
  profile.context = fmt::format("Step parameters of {} by one measured step ({}); the rest is {}. {}", fit.stack,
      beside.measured, scenario.profile.row.id, scenario.profile.row.context);
  profile.id = scenario.profile.row.id + "-compared", profile.aliases.clear();
  Scenario again = scenario;
  again.profile.row = profile, again.own_profile = true;
  TRY(const auto prediction, run::predict(again));
  made.forecast = prediction.step.step_time;
  made.profile.steps.front().mape = std::abs(made.forecast.value() / beside.gap.measured - 1);
  return made;
}

}  // namespace stepcast::comparison
