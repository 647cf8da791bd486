#include "sim/memory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/memory/block_memory.h"

namespace stepcast::sim {

namespace {

void add(MemoryReport& to, const MemoryReport& from, double times) {
  to.weights += from.weights * times;
  to.gathered_weights += from.gathered_weights * times;
  to.gradients += from.gradients * times;
  to.optimizer += from.optimizer * times;
  to.activations += from.activations * times;
  to.temporary += from.temporary * times;
  to.communication += from.communication * times;
}

/// Workspaces that blocks share by name.
Bytes shared_bytes(const Program& program, int stage) {
  std::map<std::string, double> shared;
  for (const Chunk& chunk : program.chunks) {
    if (chunk.stage != stage) continue;
    for (const BlockRun& run : chunk.runs)
      for (const Buffer& buffer : program.blocks[run.block].buffers)
        if (buffer.count == Count::shared) shared[buffer.label] = std::max(shared[buffer.label], buffer.bytes.value());
  }
  double sum = 0;
  for (const auto& [label, bytes] : shared) sum += bytes;
  return Bytes(sum);
}

/// Persistent bytes of all blocks, and the fullest moment of one micro-batch on top of those in flight.
MemoryReport of_stage(
    const Program& program, const std::vector<BlockMemory>& blocks, int stage, bool made_in_backward) {
  MemoryReport report;
  std::optional<Moment> fullest;
  Bytes gathered;
  for (const Chunk& chunk : program.chunks) {
    if (chunk.stage != stage) continue;
    for (const BlockRun& run : chunk.runs) {
      const BlockMemory& block = blocks[run.block];
      add(report, block.persistent, static_cast<double>(run.count));
      gathered = std::max(gathered, block.gathered * static_cast<double>(std::min(block.window, run.count)));
    }
    const Moment moment = fullest_moment(chunk.runs, blocks, made_in_backward);
    if (!fullest || moment.sum() > fullest->sum()) fullest = moment;
  }
  const Moment most = fullest.value_or(Moment{});
  report.gathered_weights += gathered;
  report.gradients += Bytes(most.gradients);
  report.activations += Bytes(most.saved);
  report.temporary += Bytes(most.temporary) + shared_bytes(program, stage);
  report.communication += Bytes(most.message);
  return report;
}

/// Bytes that one micro-batch leaves on each virtual stage until its backward.
std::vector<double> saved_bytes(const Program& program, const std::vector<BlockMemory>& blocks) {
  std::vector<double> bytes(program.chunks.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const BlockRun& run : program.chunks[i].runs) {
      bytes[i] += blocks[run.block].saved.value() * static_cast<double>(run.count);
    }
  }
  return bytes;
}

}  // namespace

MemoryReport peak_memory(const Program& program, const Order& order, const Timeline& timeline,
    std::span<const Bytes> capacity, const Stack& stack) {
  const std::vector<BlockMemory> blocks = block_memories(program);
  const std::vector<double> saved = saved_bytes(program, blocks);
  const std::vector<double> in_flight = peak_weighted(order, timeline, saved);
  MemoryReport peak;
  std::vector<Bytes> always, peaks;
  for (int stage = 0; stage < order.ranks; ++stage) {
    MemoryReport report = of_stage(program, blocks, stage, makes_gradients(stack, program.micro_batches));
    always.push_back(report.weights + report.gradients + report.optimizer);
    report.activations += Bytes(in_flight[stage]);
    const RankMemory memory = rank_memory(report.sum(), stack);
    report.temporary += stack.workspace;
    report.allocated = memory.allocated;
    report.reserved = memory.reserved;
    report.framework = stack.framework_memory + (memory.reserved - memory.allocated);
    report.peak = memory.peak;
    report.rank = stage * program.stage_stride;
    report.capacity = capacity[stage];
    peaks.push_back(report.peak);
    if (stage == 0 || report.capacity - report.peak < peak.capacity - peak.peak) peak = report;
  }
  for (const double bytes : saved) peak.kept.emplace_back(bytes);
  peak.always = std::move(always);
  peak.peaks = std::move(peaks);
  peak.fits = peak.peak <= peak.capacity;
  return peak;
}

}  // namespace stepcast::sim
