#include "sim/fast/unit_costs.h"

#include <algorithm>

#include "sim/streams/walk.h"

namespace stepcast::sim {

namespace {

StageCost cost_of(const ChunkTimes& times) {
  StageCost cost;
  cost.forward = times.forward.value();
  cost.input_grad = times.input_grad.value();
  cost.weight_grad = times.weight_grad.value();
  cost.compute = (times.forward_compute + times.backward_compute).value();
  for (const Seconds& seconds : times.run_forward) cost.run_forward.push_back(seconds.value());
  for (const Seconds& seconds : times.run_backward) cost.run_backward.push_back(seconds.value());
  return cost;
}

}  // namespace

UnitCosts::UnitCosts(const Program& program, std::shared_ptr<const Program> alike, const CostModel& cost, double paired)
    : UnitCosts(program, std::move(alike), price_passes(program, cost, paired), cost) {}

UnitCosts::UnitCosts(const Program& program, std::shared_ptr<const Program> alike, std::vector<BlockPrices> prices,
    const CostModel& cost)
    : alike_(std::move(alike)), prices_(std::move(prices)), overlap_(cost.overlap()),
      tiers_(static_cast<int>(cost.machine().levels.size())) {
  find_fabric(program, tiers_);
  if (!adds_up(program)) return;
  for (int block = 0; block < static_cast<int>(program.blocks.size()); ++block)
    blocks_.push_back(walked(program, {{block, 1}}));
  prices_.clear();  // many of these live at once, and nothing is left to walk
}

void UnitCosts::find_fabric(const Program& program, int tiers) {
  for (std::size_t b = 0; b < program.blocks.size(); ++b) {
    const ProgramBlock& block = program.blocks[b];
    Fabric fabric{
        std::vector<double>(static_cast<std::size_t>(tiers)), std::vector<double>(static_cast<std::size_t>(tiers))};
    const auto add = [&](const std::vector<Item>& items, std::vector<double>& seconds) {
      for (const Item& item : items)
        if (item.is_move) seconds[prices_[b].moves[item.index].tier] += prices_[b].moves[item.index].time.value();
    };
    add(block.forward, fabric.forward);
    add(block.backward, fabric.backward);
    fabric_.push_back(std::move(fabric));
  }
}

// Where every move that takes time stands in the way of compute, one block begins when the one before has ended.
bool UnitCosts::adds_up(const Program& program) const {
  for (std::size_t b = 0; b < program.blocks.size(); ++b)
    for (std::size_t i = 0; i < program.blocks[b].moves.size(); ++i)
      if (!program.blocks[b].moves[i].blocking && prices_[b].moves[i].time.value() > 0) return false;
  return true;
}

StageCost UnitCosts::walked(const Program& program, const std::vector<BlockRun>& runs) const {
  ChunkWalk walk(program, prices_, overlap_, tiers_);
  return cost_of(walk.times({0, 0, runs}));
}

const StageCost& UnitCosts::walked_once(const std::vector<BlockRun>& runs) const {
  const auto known =
      std::find_if(walked_.begin(), walked_.end(), [&](const Walked& other) { return equal_runs(other.runs, runs); });
  if (known != walked_.end()) return known->cost;
  return walked_.emplace_back(Walked{runs, walked(*alike_, runs)}).cost;
}

void UnitCosts::lay_stage(const std::vector<BlockRun>& runs, StageCost& cost) const {
  if (blocks_.empty()) {
    cost = walked_once(runs);
    return;
  }
  cost.forward = cost.input_grad = cost.weight_grad = cost.compute = 0;
  cost.run_forward.clear();
  cost.run_backward.clear();
  for (const BlockRun& run : runs) {
    const StageCost& block = blocks_[run.block];
    const double count = static_cast<double>(run.count);
    cost.forward += block.forward * count;
    cost.input_grad += block.input_grad * count;
    cost.weight_grad += block.weight_grad * count;
    cost.compute += block.compute * count;
    cost.run_forward.push_back(block.forward * count);
    cost.run_backward.push_back(block.backward() * count);
  }
}

}  // namespace stepcast::sim
