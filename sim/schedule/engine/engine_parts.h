// The engine's steps beside the event loop (engine.cpp), one source file each.
#pragma once

#include "model/base/error.h"
#include "sim/schedule/engine/engine_workspace.h"
#include "sim/schedule/engine/timeline.h"

namespace stepcast::sim::engine {

enum Direction { ahead = 0, back = 1 };

/// engine_stages.cpp: fills workspace.stages.
void gather_stages(const Order& order, const StageTimes& times, EngineWorkspace& workspace);

/// Durations of single units where StageTimes has them, the stage's own where not.
class UnitDurations {
 public:
  UnitDurations(const Order& order, const StageTimes& times)
      : units_(order.units()), forward_(data(times.forward_each)), input_grad_(data(times.input_grad_each)),
        weight_grad_(data(times.weight_grad_each)) {}

  [[nodiscard]] double of(const Action& action, const EngineStage& stage) const {
    if (action.kind == ActionKind::forward) return part(forward_, action, stage, ActionKind::forward);
    double sum = 0;
    if (action.kind != ActionKind::weight_grad) sum += part(input_grad_, action, stage, ActionKind::input_grad);
    if (action.kind != ActionKind::input_grad) sum += part(weight_grad_, action, stage, ActionKind::weight_grad);
    return sum;
  }

 private:
  static const double* data(const std::vector<double>& each) { return each.empty() ? nullptr : each.data(); }
  [[nodiscard]] double part(const double* each, const Action& action, const EngineStage& stage, ActionKind kind) const {
    if (each == nullptr) return stage.duration[static_cast<int>(kind)];
    return stage.slowdown * each[action.stage * units_ + action.micro_batch];
  }

  std::int64_t units_;
  const double *forward_, *input_grad_, *weight_grad_;
};

/// engine_summary.cpp: makespan, span, each rank's clock and the messages.
void summarise(const Order& order, Timeline& timeline);

/// in_flight.cpp: fills the peaks.
void count_in_flight(const Order& order, Timeline& timeline);

/// deadlock.cpp: who waits for whom, starting at a rank that the run has left stuck.
Error name_deadlock(const Order& order, const EngineWorkspace& workspace);

}  // namespace stepcast::sim::engine
