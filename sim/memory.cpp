#include "sim/memory.h"

#include <algorithm>
#include <vector>

namespace stepcast {

namespace {

/// What one instance of a block needs.
struct BlockMemory {
  MemoryReport persistent;
  Bytes saved;               ///< per micro-batch in flight
  Bytes gathered;            ///< one copy of the gathered weights
  std::int64_t window = 1;   ///< copies of them that live at once
  Bytes temporary, message;  ///< live at the fullest moment of its lists
};

Bytes& slot(MemoryReport& report, BufferKind kind) {
  switch (kind) {
    case BufferKind::weight:
      return report.weights;
    case BufferKind::gathered_weight:
      return report.gathered_weights;
    case BufferKind::gradient:
      return report.gradients;
    case BufferKind::optimizer:
      return report.optimizer;
    case BufferKind::saved:
      return report.activations;
    case BufferKind::temporary:
      return report.temporary;
    case BufferKind::message:
      return report.communication;
  }
  return report.temporary;
}

/// Bytes born and freed at each item of one list; running sums give what is alive.
struct Change {
  double temporary = 0, message = 0;
};

void fill_changes(const ProgramBlock& block, Count count, std::vector<Change>& changes) {
  const int items = static_cast<int>(count == Count::transient_forward ? block.forward.size() : block.backward.size());
  changes.assign(static_cast<std::size_t>(items) + 1, {});
  for (const Buffer& buffer : block.buffers) {
    if (buffer.count != count || items == 0) continue;
    const int born = std::clamp(buffer.born, 0, items - 1), dies = std::clamp(buffer.dies, born, items - 1);
    const auto part = buffer.kind == BufferKind::message ? &Change::message : &Change::temporary;
    changes[born].*part += buffer.bytes.value();
    changes[dies + 1].*part -= buffer.bytes.value();
  }
}

void keep_fullest(const std::vector<Change>& changes, BlockMemory& memory) {
  Change alive;
  for (const Change& change : changes) {
    alive.temporary += change.temporary;
    alive.message += change.message;
    if (Bytes(alive.temporary + alive.message) <= memory.temporary + memory.message) continue;
    memory.temporary = Bytes(alive.temporary);
    memory.message = Bytes(alive.message);
  }
}

BlockMemory memory_of(const ProgramBlock& block, std::vector<Change>& scratch) {
  BlockMemory memory;
  for (const Buffer& buffer : block.buffers) {
    if (buffer.count == Count::persistent) slot(memory.persistent, buffer.kind) += buffer.bytes;
    if (buffer.count == Count::per_micro_batch) memory.saved += buffer.bytes;
    if (buffer.count == Count::per_block_window) memory.gathered += buffer.bytes;
  }
  for (const Move& move : block.moves) memory.window = std::max<std::int64_t>(memory.window, 1 + move.ahead);
  for (const Count list : {Count::transient_forward, Count::transient_backward}) {
    fill_changes(block, list, scratch);
    keep_fullest(scratch, memory);
  }
  return memory;
}

void add(MemoryReport& to, const MemoryReport& from, double times) {
  to.weights += from.weights * times;
  to.gathered_weights += from.gathered_weights * times;
  to.gradients += from.gradients * times;
  to.optimizer += from.optimizer * times;
  to.activations += from.activations * times;
  to.temporary += from.temporary * times;
  to.communication += from.communication * times;
}

/// Persistent bytes of all blocks, and the most that one of them needs while it runs.
MemoryReport of_stage(const Program& program, const std::vector<BlockMemory>& blocks, int stage) {
  MemoryReport report;
  BlockMemory fullest;
  Bytes gathered;
  for (const Chunk& chunk : program.chunks) {
    if (chunk.stage != stage) continue;
    for (const BlockRun& run : chunk.runs) {
      const BlockMemory& block = blocks[run.block];
      add(report, block.persistent, static_cast<double>(run.count));
      gathered = std::max(gathered, block.gathered * static_cast<double>(std::min(block.window, run.count)));
      if (block.temporary + block.message > fullest.temporary + fullest.message) fullest = block;
    }
  }
  report.gathered_weights += gathered;
  report.temporary += fullest.temporary;
  report.communication += fullest.message;
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

MemoryReport peak_memory(const Program& program, const Order& order, const Timeline& timeline, const Machine& machine,
                         const Stack& stack) {
  std::vector<BlockMemory> blocks;
  std::vector<Change> scratch;
  blocks.reserve(program.blocks.size());
  for (const ProgramBlock& block : program.blocks) blocks.push_back(memory_of(block, scratch));
  const std::vector<double> in_flight = peak_weighted(order, timeline, saved_bytes(program, blocks));
  MemoryReport peak;
  for (int stage = 0; stage < order.ranks; ++stage) {
    MemoryReport report = of_stage(program, blocks, stage);
    report.activations += Bytes(in_flight[stage]);
    report.framework = stack.framework_memory + report.sum() * stack.allocator_slack;
    report.peak = report.sum();
    report.rank = stage * program.stage_stride;
    if (stage == 0 || report.peak > peak.peak) peak = report;
  }
  peak.capacity = machine.gpu.memory;
  peak.fits = peak.peak <= peak.capacity;
  return peak;
}

}  // namespace stepcast
