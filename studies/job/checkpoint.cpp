#include "studies/job/checkpoint.h"

#include <algorithm>
#include <vector>

namespace stepcast::job {
namespace {

/// Sums over the blocks of a rank.
struct RankState {
  double parameters = 0, optimizer_elements = 0, weight_bytes = 0, optimizer_bytes = 0;
};

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
  size.all = Bytes(static_cast<double>(parameter_count(scenario.network.row)) * (size.weight + size.optimizer));
  double fullest = 0;
  for (const RankState& stage : stages) fullest = std::max(fullest, stage.parameters);
  const double ranks = static_cast<double>(program.ranks) / static_cast<double>(program.stages);
  size.fullest_gpu = size.all * (fullest / all.parameters / ranks);
  return size;
}

StorageRates default_storage(std::int64_t gpus) {
  constexpr double unit_gpus = 32 * 8, write = 20e9, read = 40e9;
  const double units = static_cast<double>(gpus) / unit_gpus;
  return {BytesPerSecond(units * write), BytesPerSecond(units * read), true};
}

CheckpointTimes checkpoint_times(const CheckpointSize& size, const StorageRates& rates, BytesPerSecond host_link) {
  return {size.all / rates.write, size.all / rates.read, size.fullest_gpu / host_link};
}

}  // namespace stepcast::job
