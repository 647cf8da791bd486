#include "studies/run/balance.h"

#include "dataflow/lower/lower.h"
#include "sim/cost.h"
#include "sim/layer_costs.h"
#include "sim/schedule/layers/partition.h"
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

Expected<LayerCounts> layers_by_cost(const Scenario& scenario) {
  Split plain = *scenario.split;
  if (plain.recompute.layers > 0) plain.recompute = {};
  const Scenario weighed = laid_as(scenario, std::move(plain), nearly_even(scenario));
  TRY(const auto program, lower(weighed.network.row, weighed.plan, weighed.stack.row));
  PartitionProblem problem = layer_costs(program, cost_model(weighed));
  problem.bare_ends = true;
  TRY(const auto partition, split_layers(problem));
  return LayerCounts(partition.layers.begin(), partition.layers.end());
}

/// With all that the scenario says of slices and caps.
Expected<Seconds> step_with(const Scenario& scenario, const LayerCounts& layers) {
  TRY(const auto prediction, predict_as_laid(laid_as(scenario, *scenario.split, layers)));
  return prediction.step.step_time;
}

}  // namespace

Expected<LayerCounts> balanced_layers(const Scenario& scenario) {
  const std::int64_t layers = scenario.network.row.layers, parts = scenario.split->pp * scenario.split->chunks;
  auto by_cost = layers_by_cost(scenario);
  if (!by_cost || layers % parts != 0) return by_cost;
  LayerCounts even(static_cast<std::size_t>(parts), layers / parts);
  if (*by_cost == even) return even;
  TRY(const auto balanced_step, step_with(scenario, *by_cost), even_step = step_with(scenario, even));
  if (!even_step) return tl::unexpected(even_step.error());
  return balanced_step <= *even_step ? *by_cost : even;
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
