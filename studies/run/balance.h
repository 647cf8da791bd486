// Layers laid on stages by what they cost: a scenario that asks for it is completed by the forecast itself.
#pragma once

#include "model/base/error.h"
#include "dataflow/program.h"
#include "sim/schedule/layers/partition.h"
#include "studies/run/split/layers.h"
#include "studies/run/scenario.h"

namespace stepcast::run {

/// The slowest virtual stage is as fast as can be (sim/schedule/layers/partition.h, exact), by the prices of the
/// scenario's own forecast (sim/layer_costs.h). The first and the last stage may hold no layer at all. With chunks the
/// virtual stages are made alike; the ranks, which hold one of each turn, follow well enough. `full:N` recomputation
/// takes the same time on every stage, so layers are weighed without it. The even split stays where it is the faster
/// step: gradients and optimizer wait for the rank with most layers. `scenario` has a split that has passed check_split
/// with any layers.
Expected<LayerCounts> balanced_layers(const Scenario& scenario);

/// The same in steps, for callers with many scenarios that share the first ones. The program that weighs layers by
/// sim/layer_costs.h: its blocks follow from how they are split, neither from the schedule nor from the layers of a
/// stage.
Expected<Program> weighed_program(const Scenario& scenario);
/// On `parts` virtual stages, by price alone.
Expected<LayerCounts> layers_by_price(PartitionProblem prices, std::int64_t parts);
/// These, or the even split where that is the faster step.
Expected<LayerCounts> unless_even_is_faster(const Scenario& scenario, LayerCounts by_price);

/// The scenario with its layers weighed, where it asks for that.
Expected<Scenario> with_balanced_layers(Scenario scenario);

}  // namespace stepcast::run
