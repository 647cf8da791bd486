// Plans for the tests of what is written for other programs.
#pragma once

#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "model/catalog.h"
#include "studies/launch/emit/emit.h"
#include "studies/run/split/split_plan.h"

namespace stepcast::launch::emit_tests {

template <typename Row> const Row& row_called(const LazyRows<Row>& rows, const std::string& id) {
  for (const Row& row : rows)
    if (row.id == id) return row;
  ADD_FAILURE() << "no row " << id;
  return rows.front();
}

inline Scenario emit_scenario(
    const std::string& network, const std::string& stack = "megatron-core", const std::string& machine = "dgx-h100") {
  Scenario scenario;
  scenario.network.row = row_called(built_in().networks, network);
  scenario.network.id = network;
  scenario.stack.row = row_called(built_in().stacks, stack);
  scenario.stack.id = stack;
  scenario.machine.row = row_called(built_in().machines, machine);
  scenario.machine.id = machine;
  return scenario;
}

/// Puts the split of the wishes into the scenario, with layers nearly even where `uneven`; nothing where a rule refuses
/// it.
inline std::optional<Split> take_wishes(Scenario& scenario, const SplitWishes& wishes, bool uneven = false) {
  const NetworkSpec& network = scenario.network.row;
  Split split = split_of(wishes, network, scenario.stack.row);
  if (uneven) {
    auto layers = nearly_even_layers(network.layers, split.pp * split.chunks, "");
    if (!layers) return std::nullopt;
    split.layers = std::move(*layers);
  }
  if (broken_rule(split, wishes.size(), network) != nullptr) return std::nullopt;
  drop_even_layers(split);
  scenario.plan = plan_of(split, wishes.size(), scenario.plan);
  lay_split(scenario, split);
  return split;
}

/// A plan with what it refers to, whether or not a rule would refuse it.
struct EmitCase {
  Scenario scenario;
  EmitPlan plan;
  EmitCase(const SplitWishes& wishes, const std::string& network, const std::string& stack)
      : scenario(emit_scenario(network, stack)) {
    plan.split = split_of(wishes, scenario.network.row, scenario.stack.row);
    scenario.plan = plan_of(plan.split, wishes.size(), {});
    lay_split(scenario, plan.split);
    plan.scenario = &scenario;
  }
  EmitCase(const EmitCase&) = delete;
};

template <typename Value> Value any_of(std::mt19937& random, std::initializer_list<Value> values) {
  return *(values.begin() + std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random));
}

inline SplitWishes random_wishes(std::mt19937& random, bool experts) {
  using L = std::initializer_list<std::int64_t>;
  SplitWishes w;
  w.tp = any_of(random, L{1, 1, 2, 4, 8});
  w.cp = any_of(random, L{1, 1, 2});
  w.pp = any_of(random, L{1, 2, 4});
  w.chunks = w.pp > 1 ? any_of(random, L{1, 1, 2}) : 1;
  w.gpus = w.ways() * any_of(random, L{1, 2, 4, 16});
  if (experts) w.ep = any_of(random, L{1, 2, 8}), w.etp = any_of(random, L{1, 2});
  w.zero = any_of(random, L{0, 1, 2, 3});
  w.micro_batch = any_of(random, L{1, 2});
  w.sequence = 8192;
  w.global_batch = w.micro_batch * w.dp() * 4 * w.pp;
  if (any_of(random, {true, false})) w.sp = any_of(random, {true, false});
  w.schedule = w.chunks > 1 ? "" : any_of<const char*>(random, {"", "", "gpipe", "zb-h1", "zb-v"});
  w.recompute = any_of<Recompute>(
      random, {{}, {}, {Recompute::Kind::selective, 0}, {Recompute::Kind::full, 0}, {Recompute::Kind::full, 3}});
  w.context = any_of(random, {ContextKind::ring, ContextKind::gather, ContextKind::ulysses});
  w.order = *parse_order(
      any_of<const char*>(random, {"tp-cp-dp-pp", "tp-cp-dp-pp", "tp-cp-pp-dp", "pp-tp-cp-dp", "dp-tp-pp-cp"}), "");
  if (any_of(random, {true, false})) w.scatter_boundary = any_of(random, {true, false});
  w.save_gathered = any_of(random, {true, false});
  return w;
}

}  // namespace stepcast::launch::emit_tests
