#include "sim/memory.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stepcast {

namespace {

/// What lies in memory at one moment of a block's lists, beside what is persistent.
struct Moment {
  double saved = 0, temporary = 0, message = 0;
  [[nodiscard]] double sum() const { return saved + temporary + message; }
};

/// What one instance of a block needs.
struct BlockMemory {
  MemoryReport persistent;
  Bytes saved;               ///< per micro-batch in flight
  Bytes gathered;            ///< one copy of the gathered weights
  std::int64_t window = 1;   ///< copies of them that live at once
  Moment fullest;            ///< of its lists
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

/// Bytes born and freed at each item of one list; running sums give what is alive. What is kept for backward fills up
/// during forward and empties during backward, as each buffer is read for the last time.
void fill_changes(const ProgramBlock& block, Count count, std::vector<Moment>& changes) {
  const bool forward = count == Count::transient_forward;
  const int items = static_cast<int>(forward ? block.forward.size() : block.backward.size());
  changes.assign(static_cast<std::size_t>(items) + 1, {});
  if (items == 0) return;
  const auto at = [&](int item) { return static_cast<std::size_t>(std::clamp(item, 0, items - 1)); };
  for (const Buffer& buffer : block.buffers) {
    const double bytes = buffer.bytes.value();
    if (buffer.count == Count::per_micro_batch) {
      changes[forward ? at(buffer.born) : 0].saved += bytes;
      if (!forward) changes[at(buffer.dies) + 1].saved -= bytes;
    }
    if (buffer.count != count) continue;
    const auto part = buffer.kind == BufferKind::message ? &Moment::message : &Moment::temporary;
    changes[at(buffer.born)].*part += bytes;
    changes[at(std::max(buffer.born, buffer.dies)) + 1].*part -= bytes;
  }
}

void keep_fullest(const std::vector<Moment>& changes, Moment& fullest) {
  Moment alive;
  for (const Moment& change : changes) {
    alive.saved += change.saved;
    alive.temporary += change.temporary;
    alive.message += change.message;
    if (alive.sum() > fullest.sum()) fullest = alive;
  }
}

BlockMemory memory_of(const ProgramBlock& block, std::vector<Moment>& scratch) {
  BlockMemory memory;
  for (const Buffer& buffer : block.buffers) {
    if (buffer.count == Count::persistent) slot(memory.persistent, buffer.kind) += buffer.bytes;
    if (buffer.count == Count::per_micro_batch) memory.saved += buffer.bytes;
    if (buffer.count == Count::per_block_window) memory.gathered += buffer.bytes;
  }
  for (const Move& move : block.moves) memory.window = std::max<std::int64_t>(memory.window, 1 + move.ahead);
  for (const Count list : {Count::transient_forward, Count::transient_backward}) {
    fill_changes(block, list, scratch);
    keep_fullest(scratch, memory.fullest);
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

/// The fullest moment of one micro-batch's walk through a chunk: what the blocks before keep, plus the block at work.
/// `saved` is relative to what the whole chunk keeps when its forward is done.
Moment fullest_moment(const Chunk& chunk, const std::vector<BlockMemory>& blocks) {
  double before = 0, most = 0;
  Moment fullest;
  for (const BlockRun& run : chunk.runs) {
    const BlockMemory& block = blocks[run.block];
    if (run.count == 0) continue;
    Moment here = block.fullest;
    here.saved += before + block.saved.value() * static_cast<double>(run.count - 1);
    if (here.sum() > most) {
      most = here.sum();
      fullest = here;
    }
    before += block.saved.value() * static_cast<double>(run.count);
  }
  fullest.saved -= before;
  return fullest;
}

/// Persistent bytes of all blocks, and the fullest moment of one micro-batch on top of those in flight.
MemoryReport of_stage(const Program& program, const std::vector<BlockMemory>& blocks, int stage) {
  MemoryReport report;
  Moment fullest;
  Bytes gathered;
  for (const Chunk& chunk : program.chunks) {
    if (chunk.stage != stage) continue;
    for (const BlockRun& run : chunk.runs) {
      const BlockMemory& block = blocks[run.block];
      add(report, block.persistent, static_cast<double>(run.count));
      gathered = std::max(gathered, block.gathered * static_cast<double>(std::min(block.window, run.count)));
    }
    const Moment moment = fullest_moment(chunk, blocks);
    if (moment.sum() > fullest.sum()) fullest = moment;
  }
  report.gathered_weights += gathered;
  report.activations += Bytes(fullest.saved);
  report.temporary += Bytes(fullest.temporary) + shared_bytes(program, stage);
  report.communication += Bytes(fullest.message);
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
  std::vector<Moment> scratch;
  blocks.reserve(program.blocks.size());
  for (const ProgramBlock& block : program.blocks) blocks.push_back(memory_of(block, scratch));
  const std::vector<double> saved = saved_bytes(program, blocks);
  const std::vector<double> in_flight = peak_weighted(order, timeline, saved);
  MemoryReport peak;
  std::vector<Bytes> always;
  for (int stage = 0; stage < order.ranks; ++stage) {
    MemoryReport report = of_stage(program, blocks, stage);
    always.push_back(report.weights + report.gradients + report.optimizer);
    report.activations += Bytes(in_flight[stage]);
    report.temporary += stack.workspace;
    report.allocated = report.sum();
    report.reserved = report.allocated * (1 + stack.allocator_slack);
    report.framework = stack.framework_memory + (report.reserved - report.allocated);
    report.peak = report.sum();
    report.rank = stage * program.stage_stride;
    if (stage == 0 || report.peak > peak.peak) peak = report;
  }
  for (const double bytes : saved) peak.kept.emplace_back(bytes);
  peak.always = std::move(always);
  peak.capacity = machine.gpu.memory;
  peak.fits = peak.peak <= peak.capacity;
  return peak;
}

}  // namespace stepcast
