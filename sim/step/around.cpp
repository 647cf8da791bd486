#include "sim/step/around.h"

namespace stepcast::sim {

namespace {

// Token ids and labels reach the GPU as 8-byte integers (PyTorch int64), one share of a stage's ranks each; ranks that
// need the same tokens get them over the fabric, which is as small.
constexpr Bytes token_id{8};

}  // namespace

Seconds data_wait(const CostModel& cost) { return cost.stack().data_wait; }

Seconds host_to_device(const Program& program, const CostModel& cost) {
  const BytesPerSecond link = cost.machine().host_link;
  if (link.value() <= 0) return Seconds(0);
  const double ranks_per_stage = static_cast<double>(program.ranks) / static_cast<double>(program.stages);
  return token_id * (program.tokens_per_step / ranks_per_stage) / link;
}

Seconds host_time(const CostModel& cost) { return Seconds(cost.tuning()[StepParameter::host_per_step]); }

}  // namespace stepcast::sim
