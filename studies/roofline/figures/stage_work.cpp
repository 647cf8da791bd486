#include "studies/roofline/figures/stage_work.h"

#include <cassert>

#include "studies/run/sequence_slices.h"

namespace stepcast::roofline {

StageWork::StageWork(const Scenario& scenario, const Prediction& prediction) : prediction_(&prediction) {
  if (scenario.pipeline.slices == 1) return;
  auto slices = lower_slices(scenario, prediction.program);
  assert(slices);  // they were forecast
  if (slices) slices_ = *std::move(slices);
}

std::span<const Program> StageWork::programs() const {
  if (slices_.empty()) return {&prediction_->program, 1};
  return slices_;
}

// As the forecast counts units (sim/step.cpp): both copies of a model share the micro-batches, and the second lies from
// the last rank to the first (sim/step/copies.cpp).
std::vector<double> StageWork::runs(int stage) const {
  const Program& program = prediction_->program;
  const Order& order = prediction_->step.order;
  const double passes = static_cast<double>(order.micro_batches) / order.directions;
  std::vector<double> runs(program.blocks.size());
  for (const Chunk& chunk : program.chunks) {
    const bool here = chunk.stage == stage;
    const bool copied = order.directions == 2 && static_cast<int>(program.stages) - 1 - chunk.stage == stage;
    for (const BlockRun& run : chunk.runs) runs[run.block] += (here + copied) * passes * static_cast<double>(run.count);
  }
  return runs;
}

Flops StageWork::matrix_flops(int stage) const {
  const std::vector<double> runs = this->runs(stage);
  Flops sum;
  for (const Program& program : programs())
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i] == 0) continue;
      for (const KernelWork& work : program.blocks[i].works)
        if (multiplies(work)) sum += work.flops * runs[i];
    }
  return sum;
}

}  // namespace stepcast::roofline
