#include "studies/job/checkpoint.h"

#include <algorithm>
#include <vector>

#include "studies/run/encoders.h"

namespace stepcast::job {
namespace {

/// Sums over the blocks of a rank.
struct RankState {
  double parameters = 0, optimizer_elements = 0, weight_bytes = 0, optimizer_bytes = 0;
};

/// Weights with a gradient, each once.
double trained_parameters(const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  BatchShape batch;
  batch.positions = plan.sequence;
  batch.lora_rank = plan.lora_rank;
  batch.adapted = plan.adapted;
  const Network network = build_network(scenario.network.row, batch, AttentionForm::fused);
  std::vector<double> copies(network.tensors.size());
  for (const Block& block : network.blocks)
    for (const Operator& op : block.operators)
      for (const Access& input : op.inputs) {
        const auto tensor = static_cast<std::size_t>(input.tensor);
        copies[tensor] =
            std::max(copies[tensor], network.tensors[tensor].shared ? 1 : static_cast<double>(block.repeat));
      }
  double sum = 0;
  for (std::size_t i = 0; i < copies.size(); ++i)
    if (const Tensor& tensor = network.tensors[i]; tensor.role == TensorRole::weight && !tensor.frozen)
      sum += copies[i] * network.elements(static_cast<int>(i));
  return sum;
}

void add_block(RankState& sum, const ProgramBlock& block, double count) {
  sum.parameters += count * block.parameters;
  sum.optimizer_elements += count * block.optimizer_elements;
  for (const Buffer& buffer : block.buffers) {
    if (buffer.kind == BufferKind::weight) sum.weight_bytes += count * buffer.bytes.value();
    if (buffer.kind == BufferKind::optimizer) sum.optimizer_bytes += count * buffer.bytes.value();
  }
}

}  // namespace

CheckpointSize checkpoint_size(const Scenario& scenario, const Program& program) {
  std::vector<RankState> stages(static_cast<std::size_t>(program.stages));
  RankState all;
  for (const Chunk& chunk : program.chunks)
    for (const BlockRun& run : chunk.runs) {
      const ProgramBlock& block = program.blocks[static_cast<std::size_t>(run.block)];
      add_block(stages[static_cast<std::size_t>(chunk.stage)], block, static_cast<double>(run.count));
      add_block(all, block, static_cast<double>(run.count));
    }
  CheckpointSize size;
  size.weight = all.parameters > 0 ? all.weight_bytes / all.parameters : 0;
  size.optimizer = all.optimizer_elements > 0 ? all.optimizer_bytes / all.optimizer_elements : 0;
  // The fp32 weights of FSDP lie in two halves in memory: what the products take, and the rest of the master copy.
  constexpr double single = 4;
  if (const double rest = scenario.stack.row.master_bytes; rest > 0 && size.weight + rest == single)
    size.weight += rest, size.optimizer -= rest;
  size.adapters = scenario.plan.lora_rank > 0;
  size.written = size.trained = static_cast<double>(parameter_count(scenario.network.row));
  if (size.adapters || !run::frozen_parts(scenario.network.row).empty()) size.trained = trained_parameters(scenario);
  if (size.adapters) size.written = size.trained;
  size.all = Bytes(size.written * size.weight + size.trained * size.optimizer);
  double fullest = 0;
  for (const RankState& stage : stages) fullest = std::max(fullest, stage.parameters);
  const double ranks = static_cast<double>(program.ranks) / static_cast<double>(program.stages);
  size.fullest_gpu = size.all * (fullest / all.parameters / ranks);
  return size;
}

StorageRates default_storage(std::int64_t gpus) {
  constexpr double node_gpus = 8, unit_gpus = 32 * node_gpus;
  const double nodes = std::max(1.0, static_cast<double>(gpus) / node_gpus);
  const double units = std::max(1.0, static_cast<double>(gpus) / unit_gpus);
  const auto rate = [&](double node, double unit) { return BytesPerSecond(std::min(nodes * node, units * unit)); };
  return {rate(4e9, 20e9), rate(8e9, 40e9), true};
}

CheckpointTimes checkpoint_times(const CheckpointSize& size, const StorageRates& rates, BytesPerSecond host_link) {
  return {size.all / rates.write, size.all / rates.read, size.fullest_gpu / host_link};
}

}  // namespace stepcast::job
