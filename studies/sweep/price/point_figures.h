// The figures of a point: those that follow from its plan, and those of its forecast.
#pragma once

#include "model/machine/machine.h"
#include "model/network/network.h"
#include "model/stack.h"
#include "studies/run/forecast.h"
#include "studies/run/split/split_plan.h"
#include "studies/sweep/space/figures.h"

namespace stepcast::sweep {

/// All that a row of results holds. `price` in US dollars per GPU and hour, 0 = not said: then the cost is no number.
Figures figures_of(const Scenario& scenario, const SplitWishes& wishes, const Prediction& prediction, double price);

/// Those that are known before any price.
void set_plan_figures(const SplitWishes& wishes, const NetworkSpec& network, const Stack& stack, Figures& figures);

/// Power of a GPU that waits, as a share of its limit; kernels are taken to run at the limit. Assumed, from no
/// measurement.
constexpr double idle_power_share = 0.15;
/// Joules of a step: kernels run `kernel_s` on the average GPU.
double step_energy(const Gpu& gpu, double gpus, double step_s, double kernel_s);

}  // namespace stepcast::sweep
