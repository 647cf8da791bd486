#include "sim/memory/block_memory.h"

#include <algorithm>

namespace stepcast::sim {

namespace {

Bytes& slot(MemoryReport& report, BufferKind kind) {
  switch (kind) {
    case BufferKind::weight: return report.weights;
    case BufferKind::gathered_weight: return report.gathered_weights;
    case BufferKind::gradient: return report.gradients;
    case BufferKind::optimizer: return report.optimizer;
    case BufferKind::saved: return report.activations;
    case BufferKind::temporary: return report.temporary;
    case BufferKind::message: return report.communication;
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

BlockMemory memory_with(const ProgramBlock& block, std::vector<Moment>& scratch) {
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

}  // namespace

BlockMemory memory_of(const ProgramBlock& block) {
  std::vector<Moment> scratch;
  return memory_with(block, scratch);
}

std::vector<BlockMemory> block_memories(const Program& program) {
  std::vector<Moment> scratch;
  std::vector<BlockMemory> blocks;
  blocks.reserve(program.blocks.size());
  for (const ProgramBlock& block : program.blocks) blocks.push_back(memory_with(block, scratch));
  return blocks;
}

Moment fullest_moment(
    const std::vector<BlockRun>& runs, const std::vector<BlockMemory>& blocks, bool made_in_backward) {
  double before = 0, missing = 0;
  Moment fullest;  // behind backward nothing is kept, and all gradients stand
  const auto pass = [&](const BlockMemory& block, double gradients) {
    Moment here = block.fullest;
    here.saved += before;
    here.gradients = -missing - gradients;
    if (here.sum() > fullest.sum()) fullest = here;
  };
  for (const BlockRun& run : runs) {
    if (run.count == 0) continue;
    const BlockMemory& block = blocks[run.block];
    const double gradients = made_in_backward ? block.persistent.gradients.value() : 0;
    const auto others = static_cast<double>(run.count - 1);
    if (made_in_backward) pass(block, gradients);
    before += block.saved.value() * others;
    missing += gradients * others;
    pass(block, gradients);
    before += block.saved.value();
    missing += gradients;
  }
  fullest.saved -= before;
  return fullest;
}

bool makes_gradients(const Stack& stack, std::int64_t micro_batches) {
  return stack.gradients_freed && micro_batches == 1;
}

RankMemory rank_memory(Bytes tensors, const Stack& stack) {
  RankMemory memory;
  memory.allocated = tensors + stack.workspace;
  memory.reserved = memory.allocated * (1 + stack.allocator_slack);
  memory.peak = memory.reserved + stack.framework_memory;
  return memory;
}

}  // namespace stepcast::sim
