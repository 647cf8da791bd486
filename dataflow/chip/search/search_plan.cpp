// What keep lists imply: the stages, who feeds whom, how many units may need the same part.
#include <algorithm>

#include "dataflow/chip/search/search_bound.h"

namespace stepcast::dataflow::mapper {
namespace {

std::vector<PerTensor> repeats_of(const Space& space, const std::vector<SpaceCombo>& combos) {
  std::vector<PerTensor> repeats;
  for (const SpaceCombo& combo : combos) {
    PerTensor row;
    row.fill(1);
    for (const SpaceCombo::Part& part : combo.parts)
      for (int t = 0; t < space.tensors; ++t)
        if (!(space.uses[t] >> part.dim & 1U)) row[t] *= static_cast<double>(part.factor);
    repeats.push_back(row);
  }
  return repeats;
}

constexpr double most_divisions = 3e7;  // tiles x combos that are tried for a table

std::shared_ptr<const DivisionTable> divisions(const Space& space, const std::vector<SpaceCombo>& combos) {
  if (space.lattice() * static_cast<double>(combos.size()) > most_divisions) return nullptr;
  auto table = std::make_shared<DivisionTable>();
  const auto nodes = static_cast<std::uint32_t>(space.lattice());
  for (std::uint32_t id = 0; id < nodes; ++id) {
    table->first.push_back(static_cast<std::uint32_t>(table->parts.size()));
    std::array<int, most_chip_dims> tile{};
    std::array<std::uint32_t, most_chip_dims> stride{};
    std::uint32_t step = 1;
    for (int d = 0; d < space.dims; step *= static_cast<std::uint32_t>(space.grids[d].size()), ++d) {
      stride[d] = step;
      tile[d] = static_cast<int>(id / step % static_cast<std::uint32_t>(space.grids[d].size()));
    }
    for (int c = 0; c < static_cast<int>(combos.size()); ++c) {
      std::uint32_t inside = id;
      bool whole = true;
      for (const SpaceCombo::Part& part : combos[c].parts) {
        const int left = space.grids[part.dim].over(tile[part.dim], part.index);
        whole = left >= 0;
        if (!whole) break;
        inside -= stride[part.dim] * static_cast<std::uint32_t>(tile[part.dim] - left);
      }
      if (whole) table->parts.push_back({c, inside});
    }
  }
  table->first.push_back(static_cast<std::uint32_t>(table->parts.size()));
  return table;
}

void add_supply(const Space& space, KeepPlan& plan) {
  for (int t = 0; t < space.tensors; ++t) {
    int source = 0;
    plan.first_inside[t] = -1;
    for (int i = 0; i < plan.last(); ++i) {
      Stage& stage = plan.stages[i];
      if (!(stage.keeps >> t & 1U)) continue;
      stage.source[t] = static_cast<std::int8_t>(source);
      if (i > 0 && source == 0) plan.first_inside[t] = static_cast<std::int8_t>(i);
      for (int outside = 0; outside < i; ++outside) plan.stages[outside].moving |= 1U << t;
      source = i;
    }
    plan.innermost[t] = static_cast<std::int8_t>(source);
  }
}

void add_limits(KeepPlan& plan) {
  double units = 1;
  for (Stage& stage : plan.stages) {
    double most = 1;
    for (const SpaceCombo& combo : stage.combos) most = std::max(most, combo.units);
    stage.most_units = units *= most;
  }
  PerTensor inside;
  inside.fill(1);
  for (int i = plan.last(); i >= 0; --i) {
    Stage& stage = plan.stages[i];
    stage.most_repeats_inside = inside;
    PerTensor most;
    most.fill(1);
    for (const PerTensor& repeats : stage.repeats)
      for (std::size_t t = 0; t < most.size(); ++t) most[t] = std::max(most[t], repeats[t]);
    for (std::size_t t = 0; t < most.size(); ++t) inside[t] *= most[t];
  }
}

}  // namespace

Stage Planner::stage(int first, int level, bool units_only) {
  const int last = units_only ? space_.levels - 1 : level;
  auto [known, added] = known_.try_emplace({first, last});
  if (added) {
    known->second.combos = combos_of(space_, first, last);
    known->second.repeats = repeats_of(space_, known->second.combos);
    known->second.whole = divisions(space_, known->second.combos);
  }
  Stage stage = known->second;
  stage.level = level;
  return stage;
}

KeepPlan Planner::plan(const std::array<TensorMask, most_chip_levels>& keeps) {
  KeepPlan plan;
  plan.keeps = keeps;
  int first = 0;
  for (int l = 0; l < space_.levels; ++l) {
    const auto& fixed = space_.fixed_time[l];
    const bool timed =
        std::any_of(fixed.begin(), fixed.begin() + space_.dims, [](std::int64_t trips) { return trips > 1; });
    if (keeps[l] == 0 && !timed) continue;
    plan.stages.push_back(stage(first, l, false));
    plan.stages.back().keeps = keeps[l];
    first = l + 1;
  }
  plan.stages.push_back(stage(first, space_.levels, true));
  add_supply(space_, plan);
  add_limits(plan);
  for (const ScoreTable::Chain& chain : table_.chains) {
    int waits = -1;
    for (int i = plan.last() - 1; i >= 0; --i)
      if (plan.stages[i].level >= chain.level && plan.stages[i].keeps != 0) waits = i;
    plan.chain_stage.push_back(waits);
  }
  return plan;
}

}  // namespace stepcast::dataflow::mapper
