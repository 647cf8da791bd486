#include "studies/compare/forecast_trace.h"

#include <algorithm>
#include <cmath>

#include "calibrate/trace/kineto_trace.h"
#include "studies/predict/prices.h"
#include "studies/timeline/scene.h"

namespace stepcast::compare {
namespace {

/// Of collectives of one kind: the widest.
void widen(Spread& known, const Spread& spread) {
  known.p10 = std::min(known.p10, spread.p10);
  known.p90 = std::max(known.p90, spread.p90);
}

}  // namespace

Expected<ForecastTraces> forecast_traces(const Scenario& scenario) {
  TRY(const auto prediction, run::predict(scenario));
  TRY(const auto scene, step_scene(scenario, prediction));
  constexpr TraceChoice choice{TraceDetail::kernels, false};
  TRY(check_trace_size(scene, choice, "--global-batch"));
  const std::string text = scene_trace(scene, choice);
  TimingsStream stream("the forecast", std::string_view(text));
  ForecastTraces made;
  TRY(made.stages, read_kineto_trace(stream));
  made.stage_stride = scene.stage_stride;
  made.slowest_stage = prediction.step.slowest_stage;
  made.step_s = prediction.step.step_time.value();
  made.p10_s = prediction.step.p10.value(), made.p90_s = prediction.step.p90.value();
  const CostModel cost = cost_model(scenario);
  for (const PriceRow& row : kernel_prices(prediction.program, cost)) made.spreads.try_emplace(row.label, row.spread);
  for (const PriceRow& row : move_prices(prediction.program, cost))
    widen(made.spreads[std::string(collective_kind_in(row.label))], row.spread);
  return made;
}

}  // namespace stepcast::compare
