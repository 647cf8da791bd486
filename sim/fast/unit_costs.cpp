#include "sim/fast/unit_costs.h"

#include <algorithm>
#include <utility>

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

UnitCosts::UnitCosts(const Program& program, const CostModel& cost, double paired)
    : UnitCosts(walk_lists(program, price_passes(program, cost, paired)), cost) {}

UnitCosts::UnitCosts(WalkLists lists, const CostModel& cost)
    : lists_(std::move(lists)), overlap_(cost.overlap()), tiers_(static_cast<int>(cost.machine().levels.size())) {
  find_fabric();
  if (!adds_up()) return;
  for (int block = 0; block < static_cast<int>(lists_.blocks.size()); ++block) blocks_.push_back(walked({{block, 1}}));
  lists_ = {};  // many of these live at once, and nothing is left to walk
}

void UnitCosts::find_fabric() {
  for (const WalkBlock& block : lists_.blocks) {
    Fabric fabric{
        std::vector<double>(static_cast<std::size_t>(tiers_)), std::vector<double>(static_cast<std::size_t>(tiers_))};
    const auto add = [&](const WalkList& list, std::vector<double>& seconds) {
      for (const WalkItem& item : list.items)
        if (item.kind != WalkItem::Kind::kernel) seconds[item.tier] += item.seconds;
    };
    add(block.forward, fabric.forward);
    add(block.backward, fabric.backward);
    fabric_.push_back(std::move(fabric));
  }
}

// Where every move that takes time stands in the way of compute, one block begins when the one before has ended.
bool UnitCosts::adds_up() const {
  const auto beside = [](const WalkList& list) {
    return std::ranges::any_of(list.beside, [&](int position) { return list.items[position].seconds > 0; });
  };
  return std::ranges::none_of(
      lists_.blocks, [&](const WalkBlock& block) { return beside(block.forward) || beside(block.backward); });
}

StageCost UnitCosts::walked(const std::vector<BlockRun>& runs) const {
  return cost_of(ChunkWalk(lists_, overlap_, tiers_).times({0, 0, runs}));
}

const StageCost& UnitCosts::walked_once(const std::vector<BlockRun>& runs) const {
  const auto known =
      std::find_if(walked_.begin(), walked_.end(), [&](const Walked& other) { return equal_runs(other.runs, runs); });
  if (known != walked_.end()) return known->cost;
  return walked_.emplace_back(Walked{runs, walked(runs)}).cost;
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
