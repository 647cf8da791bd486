#include "studies/compare/forecast_trace.h"

#include <algorithm>
#include <cmath>

#include "calibrate/trace/kineto_trace.h"
#include "studies/predict/prices.h"
#include "studies/timeline/scene.h"

namespace stepcast::comparison {
namespace {

/// Of collectives of one kind: the widest.
void widen(Spread& known, const Spread& spread) {
  known.p10 = std::min(known.p10, spread.p10);
  known.p90 = std::max(known.p90, spread.p90);
}

/// Of the collectives that carry gradients, that which takes longest.
std::string gradient_kind_of(const StepReport& step) {
  const CollectiveReport* longest = nullptr;
  for (const CollectiveReport& one : step.collectives)
    if (one.pass == Pass::step || one.pass == Pass::weight_grad)
      if ((one.kind == "all_reduce" || one.kind == "reduce_scatter") &&
          (longest == nullptr || one.time > longest->time))
        longest = &one;
  return longest == nullptr ? "reduce_scatter" : longest->kind;
}

}  // namespace

double peak_for(const Gpu& gpu, Precision precision) {
  const bool wide = precision <= Precision::bf16;
  double peak = 0;
  for (int i = 0; i <= static_cast<int>(wide ? Precision::bf16 : Precision::nvfp4); ++i)
    peak = std::max(peak, gpu.peak[i].value());
  return peak;
}

RankTrace with_kinds(const ForecastTraces& forecast, std::size_t stage) {
  RankTrace trace = forecast.stages[stage];
  for (CalledCollective& called : trace.collectives) {
    if (called.kind == "gradient sync") called.kind = forecast.gradient_kind;
    if (called.kind == "parameter gather") called.kind = "all_gather";
  }
  return trace;
}

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
  made.gpu = scenario.machine.row.gpu.id, made.gpus = scenario.plan.gpus;
  made.peak = peak_for(scenario.machine.row.gpu, scenario.plan.precision);
  made.gradient_kind = gradient_kind_of(prediction.step);
  made.slowest_stage = prediction.step.slowest_stage;
  made.step_s = prediction.step.step_time.value();
  made.p10_s = prediction.step.p10.value(), made.p90_s = prediction.step.p90.value();
  const CostModel cost = cost_model(scenario);
  for (const PriceRow& row : kernel_prices(prediction.program, cost)) {
    made.prices.spreads.try_emplace(row.label, row.spread);
    if (row.flops.value() > 0) made.prices.products[row.label].push_back({row.time.value(), row.flops.value()});
  }
  for (const PriceRow& row : move_prices(prediction.program, cost))
    widen(made.prices.spreads[std::string(collective_kind_in(row.label))], row.spread);
  return made;
}

}  // namespace stepcast::comparison
