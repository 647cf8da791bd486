#include "sim/step/around.h"

#include <algorithm>
#include <cmath>

namespace stepcast::sim {

namespace {

// Token ids and labels reach the GPU as 8-byte integers (PyTorch int64), one share of a stage's ranks each; ranks that
// need the same tokens get them over the fabric, which is as small.
constexpr Bytes token_id{8};

/// The slowest of more nodes is slower: by as much with each doubling, as extremes of a distribution with light tails
/// grow.
Seconds skew(const Program& program, const CostModel& cost) {
  const double nodes = static_cast<double>(program.ranks) / static_cast<double>(cost.machine().levels.front().gpus);
  return cost.stack().skew_per_doubling * std::log2(std::max(1.0, nodes));
}

}  // namespace

Seconds data_wait(const CostModel& cost) { return cost.stack().data_wait; }

Seconds host_to_device(const Program& program, const CostModel& cost) {
  const BytesPerSecond link = cost.machine().host_link;
  if (link.value() <= 0) return Seconds(0);
  const double ranks_per_stage = static_cast<double>(program.ranks) / static_cast<double>(program.stages);
  return token_id * (program.tokens_per_step / ranks_per_stage) / link;
}

Seconds host_time(const Program& program, const CostModel& cost) {
  return Seconds(cost.tuning()[StepParameter::host_per_step]) + skew(program, cost);
}

}  // namespace stepcast::sim
