#include "sim/step/attending.h"

#include <algorithm>

namespace stepcast::sim {
namespace {

bool sees_whole_documents(const KernelWork& work) {
  const Domain domain = work.key_reach.domain;
  return (domain == Domain::all || domain == Domain::causal) && work.kept == 0;
}

Seconds attending(const ProgramBlock& block, const std::vector<Item>& items, const CostModel& cost) {
  Seconds sum;
  for (const Item& item : items) {
    if (item.is_move) continue;
    const KernelWork& work = block.works[static_cast<std::size_t>(item.index)];
    if (work.kernel == KernelClass::attention) sum += cost.work(work).time;
  }
  return sum;
}

}  // namespace

Expected<AttendingShares> attending_shares(const Program& program, const CostModel& cost, const StageTimes& times) {
  if (times.forward.size() != program.chunks.size() || !times.forward_each.empty())
    return fail("schedule", "stages run both ways or the sequence is cut: what a document costs there is not known",
        "a schedule of one direction and whole sequences: 1f1b");
  for (const ProgramBlock& block : program.blocks)
    for (const KernelWork& work : block.works)
      if (work.kernel == KernelClass::attention && !sees_whole_documents(work))
        return fail("network", work.label + " sees a part of the keys: its work does not grow with their pairs",
            "a network whose attention sees all keys, or the costs of micro-batches: costs=FILE");
  AttendingShares shares;
  for (std::size_t at = 0; at < program.chunks.size(); ++at) {
    Seconds forward, backward;
    for (const BlockRun& run : program.chunks[at].runs) {
      const ProgramBlock& block = program.blocks[static_cast<std::size_t>(run.block)];
      const auto count = static_cast<double>(run.count);
      forward += attending(block, block.forward, cost) * count,
          backward += attending(block, block.backward, cost) * count;
    }
    const Seconds whole = times.input_grad[at] + times.weight_grad[at];
    shares.forward.push_back(std::min(1.0, forward / times.forward[at]));
    shares.backward.push_back(whole > Seconds() ? std::min(1.0, backward / whole) : 0);
  }
  return shares;
}

}  // namespace stepcast::sim
