// What the host pays per launch in networks with routed experts, beside a fit of other software that does not say. On
// GPUs without any fit of steps the software's row speaks.
#pragma once

#include <algorithm>

#include "model/profile/step_parameter.h"
#include "model/stack.h"

namespace stepcast {

/// Seconds. Between kernels that are written for it, dispatch and experts that run one by one are many small operators
/// of PyTorch: these cost the typical launch of step_parameters(), and not what the row says of fused modules.
inline double launch_with_experts(const Stack& stack) {
  const double said = stack.host_per_launch.value();
  return stack.calls_per_expert > 0 ? std::max(said, row_of(StepParameter::host_per_launch).typical) : said;
}

}  // namespace stepcast
