#include "studies/run/figures/partition.h"

#include <algorithm>

#include "studies/run/split/layers.h"

namespace stepcast::run {
namespace {

/// Of one copy of the model: kinds with two directions have every layer twice.
std::vector<std::int64_t> layers_per_stage(const Program& program, const Order& order) {
  const auto copy = static_cast<std::size_t>(order.stages() / order.directions);
  std::vector<std::int64_t> layers(std::min(copy, program.chunks.size()), 0);
  for (std::size_t i = 0; i < layers.size(); ++i)
    for (const BlockRun& run : program.chunks[i].runs)
      if (program.blocks[run.block].is_layer) layers[i] += run.count;
  return layers;
}

}  // namespace

PartitionReport partition_report(const Scenario& scenario, const Prediction& prediction) {
  const StepReport& step = prediction.step;
  PartitionReport report;
  report.layers = layers_per_stage(prediction.program, step.order);
  report.layout = write_layer_layout(layout_of(report.layers, scenario.network.row.mtp_layers));
  report.balance = balance_of(step.order, step.times, step.timeline.makespan);
  return report;
}

}  // namespace stepcast::run
