// Layers on the virtual stages of a point: those that are to be balanced are weighed by the prices of shared blocks.
#include <algorithm>
#include <limits>

#include "model/base/text.h"
#include "sim/layer_costs.h"
#include "studies/run/balance.h"
#include "studies/sweep/price/shared_blocks.h"

namespace stepcast::sweep {

std::size_t SharedBlocks::DigitsHash::operator()(const Digits& digits) const { return fnv1a(digits); }

// Where layers cannot lie evenly, costs of a micro-batch alone decide; else the whole step is weighed against the even
// split.
Digits SharedBlocks::balanced_key(const Digits& digits, const Split& split) const {
  Digits key = digits;
  if (points_->network().layers % (split.pp * split.chunks) == 0 || split.zero >= 2) return key;
  for (const AxisId axis : {AxisId::zero, AxisId::replicas, AxisId::dp_overlap})
    key[static_cast<std::size_t>(axis)] = 0;
  return key;
}

// Neither schedule and layout change what a block is, nor the number of stages where all groups of a micro-batch lie
// inside of them on the mesh and keep their ranks. Where moves stay between tensor and context ranks and these are the
// fastest on the mesh, the order of the rest changes nothing either.
Digits SharedBlocks::block_key(const Digits& digits, const Split& split) const {
  constexpr std::uint16_t one_stage = 0, more_stages = 1;
  constexpr auto any_order = std::numeric_limits<std::uint16_t>::max();
  Digits key = digits;
  const auto drop = [&](std::initializer_list<AxisId> axes) {
    for (const AxisId axis : axes) key[static_cast<std::size_t>(axis)] = 0;
  };
  drop({AxisId::chunks, AxisId::schedule, AxisId::layout});
  if (split.zero >= 2) return key;
  drop({AxisId::zero, AxisId::replicas, AxisId::dp_overlap});
  const auto stages = std::ranges::find(split.order, MeshAxis::pp);
  const auto inside = [&](MeshAxis axis) { return std::find(split.order.begin(), stages, axis) != stages; };
  if (inside(MeshAxis::tp) && inside(MeshAxis::cp) && (!split.experts || inside(MeshAxis::dp)))
    key[static_cast<std::size_t>(AxisId::pp)] = split.pp == 1 ? one_stage : more_stages;
  SplitWishes sharded;
  sharded.zero = split.zero;
  const bool leads = split.order[0] == MeshAxis::tp && split.order[1] == MeshAxis::cp;
  if (!leads || split.experts || moves_over_data_ranks(sharded, points_->stack())) return key;
  drop({AxisId::tp_tier, AxisId::pp_tier, AxisId::dp_tier});
  key[static_cast<std::size_t>(AxisId::order)] = any_order;
  return key;
}

SharedBlocks::Blocks& SharedBlocks::remembered_blocks(const Digits& key) {
  constexpr std::size_t most_remembered = 1 << 10;
  if (blocks_.size() >= most_remembered && !blocks_.contains(key)) blocks_.clear();
  return blocks_[key];
}

Expected<SharedBlocks::Blocks*> SharedBlocks::blocks(const Digits& digits, const Scenario& point) {
  Blocks& here = remembered_blocks(block_key(digits, *point.split));
  if (here.program != nullptr) return &here;
  ++lowered_;
  TRY(auto program, weighed_program(point));
  here.program = std::make_shared<const Program>(std::move(program));
  return &here;
}

Expected<LayerCounts> SharedBlocks::layers_by_price(
    const Digits& digits, const SplitWishes& wishes, const Split& split) {
  const std::int64_t parts = split.pp * split.chunks;
  const auto lay = [&](const PartitionProblem& problem, Laid& laid) -> Expected<LayerCounts> {
    const auto [known, added] = laid.try_emplace(parts, LayerCounts{});
    if (added) known->second = run::layers_by_price(problem, parts);
    return known->second;
  };
  if (split.recompute.layers == 0)
    if (const auto here = unit(digits, wishes, split, true); here->layers) return lay(*here->layers, here->laid);
  TRY(Blocks* const own, blocks(digits, points_->lay_point(digits, wishes, split)));
  const double share = paired(split);
  auto known = std::ranges::find(own->prices, share, &PricedLayers::paired);
  if (known == own->prices.end()) {
    own->prices.push_back({share, sim::layer_costs(*own->program, *points_->setting(digits).cost, share), {}});
    known = own->prices.end() - 1;
  }
  return lay(known->problem, known->laid);
}

/// The blocks of a point whose layout is to be balanced, whatever its layers; null where they are not shared.
std::shared_ptr<const Program> SharedBlocks::block_program(const Digits& digits) {
  const SplitWishes wished = points_->wishes(digits);
  const auto nearly_even = points_->split(digits, wished);
  if (!nearly_even || nearly_even->recompute.layers > 0 || !points_->balances_layers(digits)) return nullptr;
  const auto here = blocks(digits, points_->lay_point(digits, wished, *nearly_even));
  return here ? (*here)->program : nullptr;
}

Expected<LayerCounts> SharedBlocks::balanced(const Digits& digits) {
  constexpr std::size_t most_remembered = 1 << 16;
  const SplitWishes wished = points_->wishes(digits);
  const Digits key = balanced_key(digits, split_of(wished, points_->network(), points_->stack()));
  if (const auto known = balanced_.find(key); known != balanced_.end()) return known->second;
  TRY(const auto nearly_even, points_->split(digits, wished));
  TRY(auto layers, layers_by_price(digits, wished, nearly_even));
  // Only a split that could be even is weighed against it, by whole steps.
  if (points_->network().layers % (nearly_even.pp * nearly_even.chunks) == 0) {
    const Scenario& here = points_->lay_point(digits, wished, nearly_even);
    TRY(layers, unless_even_is_faster(here, std::move(layers)));
  }
  if (balanced_.size() >= most_remembered) balanced_.clear();
  return balanced_[key] = std::move(layers);
}

Expected<std::vector<LayerCounts>> SharedBlocks::balanced_choices(const Digits& digits) {
  const SplitWishes wished = points_->wishes(digits);
  const std::int64_t layers = points_->network().layers;
  const Digits key = balanced_key(digits, split_of(wished, points_->network(), points_->stack()));
  if (const auto known = balanced_.find(key); known != balanced_.end()) return std::vector<LayerCounts>{known->second};
  TRY(const auto nearly_even, points_->split(digits, wished));
  const std::int64_t parts = nearly_even.pp * nearly_even.chunks;
  TRY(auto by_price, layers_by_price(digits, wished, nearly_even));
  std::vector<LayerCounts> choices{std::move(by_price)};
  if (layers % parts != 0) return choices;
  if (LayerCounts even(static_cast<std::size_t>(parts), layers / parts); choices.front() != even)
    choices.push_back(std::move(even));
  return choices;
}

Expected<Split> SharedBlocks::laid(const Digits& digits, const SplitWishes& wishes) {
  TRY(auto here, points_->split(digits, wishes));
  if (points_->balances_layers(digits)) {
    TRY(auto layers, balanced(digits));
    here.layers = std::move(layers);
  }
  drop_even_layers(here);
  return here;
}

}  // namespace stepcast::sweep
