#include "studies/run/balance.h"

#include "dataflow/lower/lower.h"
#include "sim/cost.h"
#include "sim/layer_costs.h"
#include "sim/schedule/layers/partition.h"
#include "sim/step/paired.h"
#include "studies/run/prediction.h"

namespace stepcast::run {
namespace {

Scenario laid_as(Scenario scenario, Split split, LayerCounts layers) {
  split.layers = std::move(layers);
  lay_split(scenario, std::move(split));
  return scenario;
}

LayerCounts nearly_even(const Scenario& scenario) {
  const Split& split = *scenario.split;
  const std::int64_t parts = split.pp * split.chunks;
  return split.layers.empty() ? LayerCounts(static_cast<std::size_t>(parts), scenario.network.row.layers / parts)
                              : split.layers;
}

/// With all that the scenario says of slices and caps.
Expected<Seconds> step_with(const Scenario& scenario, const LayerCounts& layers) {
  TRY(const auto prediction, predict_as_laid(laid_as(scenario, *scenario.split, layers)));
  return prediction.step.step_time;
}

}  // namespace

Expected<Program> weighed_program(const Scenario& scenario) {
  Split plain = *scenario.split;
  if (plain.recompute.layers > 0) plain.recompute = {};
  const Scenario weighed = laid_as(scenario, std::move(plain), nearly_even(scenario));
  return lower(weighed.network.row, weighed.plan, weighed.stack.row);
}

Expected<LayerCounts> layers_by_price(PartitionProblem prices, std::int64_t parts) {
  prices.stages = static_cast<int>(parts);
  prices.bare_ends = true;
  TRY(const auto partition, split_layers(prices));
  return LayerCounts(partition.layers.begin(), partition.layers.end());
}

Expected<LayerCounts> unless_even_is_faster(const Scenario& scenario, LayerCounts by_price) {
  const std::int64_t layers = scenario.network.row.layers, parts = scenario.split->pp * scenario.split->chunks;
  if (layers % parts != 0) return by_price;
  LayerCounts even(static_cast<std::size_t>(parts), layers / parts);
  if (by_price == even) return even;
  TRY(const auto balanced_step, step_with(scenario, by_price), even_step = step_with(scenario, even));
  if (!even_step) return tl::unexpected(even_step.error());
  return balanced_step <= *even_step ? by_price : even;
}

Expected<LayerCounts> balanced_layers(const Scenario& scenario) {
  TRY(const auto program, weighed_program(scenario));
  const double paired = paired_share(program);
  auto prices = layer_costs(program, cost_model(scenario), paired);
  TRY(auto by_price, layers_by_price(std::move(prices), scenario.split->pp * scenario.split->chunks));
  return unless_even_is_faster(scenario, std::move(by_price));
}

Expected<Scenario> with_balanced_layers(Scenario scenario) {
  if (!scenario.balance) return scenario;
  TRY(auto layers, balanced_layers(scenario));
  Split split = *scenario.split;
  split.layers = std::move(layers);
  drop_even_layers(split);
  lay_split(scenario, std::move(split));
  scenario.balance = false;
  return scenario;
}

}  // namespace stepcast::run
