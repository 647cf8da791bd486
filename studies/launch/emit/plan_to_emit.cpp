// The split of a run as frameworks are asked for it.
#include <algorithm>

#include "dataflow/notation/mapping.h"
#include "studies/launch/emit/emit.h"

namespace stepcast::launch {
namespace {

/// Whatever was asked for, a ring of one rank is none, and one stage takes no place among the other axes.
Split without_idle_choices(Split split) {
  if (split.cp == 1) split.context = ContextKind::ring;
  const auto is_staged = [](MeshAxis axis) { return axis != MeshAxis::pp; };
  if (split.pp == 1) std::stable_partition(split.order.begin(), split.order.end(), is_staged);
  return split;
}

/// As the notation prints it, whichever way it was written.
Expected<std::string> printed_statement(const std::string& text, const std::string& where) {
  TRY(const auto program, parse(text + "\n", where));
  TRY(const auto statements, expand(program));
  return statements.empty() ? std::string() : dataflow::print(statements.front());
}

}  // namespace

Expected<EmitPlan> plan_to_emit(const Scenario& scenario) {
  const std::string& where = scenario.plan.mapping_where;
  if (!scenario.split)
    return fail(
        where, "a mapping of your own cannot be written for a framework", "say the split by flags: --tp 8 --pp 4 ...");
  EmitPlan plan;
  plan.scenario = &scenario;
  plan.split = without_idle_choices(*scenario.split);
  for (const std::string& text : scenario.statements) {
    TRY(auto statement, printed_statement(text, where));
    plan.apart.push_back(std::move(statement));
  }
  return plan;
}

}  // namespace stepcast::launch
