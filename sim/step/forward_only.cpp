#include "sim/step/forward_only.h"

#include <algorithm>

#include "sim/schedule/engine/engine.h"

namespace stepcast::sim {

Expected<Seconds> forward_only(const StepReport& step) {
  if (step.order.directions > 1)
    return fail("schedule", "how a batch is evaluated on stages that run both ways is not modelled",
        "a schedule of one direction: 1f1b");
  StageTimes times = step.times;
  for (auto* backward : {&times.input_grad, &times.weight_grad, &times.hop_backward})
    std::ranges::fill(*backward, Seconds());
  for (auto* backward : {&times.input_grad_each, &times.weight_grad_each}) std::ranges::fill(*backward, 0.0);
  TRY(const auto timeline, run(step.order, times));
  return timeline.makespan;
}

}  // namespace stepcast::sim
