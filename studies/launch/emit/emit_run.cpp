#include "studies/launch/emit/emit_run.h"

#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "studies/launch/asked_run.h"
#include "studies/launch/emit/emit.h"
#include "studies/launch/emit/refused_plans.h"

namespace stepcast::launch {
namespace {

/// The launch that the run came from.
Expected<std::optional<Launch>> launch_asked(const Arguments& arguments) {
  TRY(const auto source, launch_source(arguments));
  if (!source) return std::nullopt;
  TRY(auto launch, read_launch(*source));
  return launch;
}

void print_limits(const EmitTarget& target, const Emission& emission, Console& console) {
  for (const std::string& line : emission.unsaid)
    console.err << fmt::format("stepcast: {} cannot say: {}\n", target.id, line);
  if (!emission.beside.empty())
    console.err << fmt::format("stepcast: read it back with {} {} {}\n", target.flag, target.file, emission.beside);
}

/// A plan that nobody can run is not written: the error names the flags of the nearest one.
Expected<void> check_refused(const EmitTarget& target, const EmitPlan& plan) {
  const std::vector<RefusedPlan> refused = refused_plans(target.id, plan);
  if (refused.empty()) return {};
  std::vector<std::string_view> reasons, flags;
  for (const RefusedPlan& row : refused) reasons.push_back(row.what), flags.push_back(row.instead);
  return fail(emit_name, fmt::format("{} refuses to train this plan: {}", target.id, fmt::join(reasons, "; ")),
      fmt::format(
          "{} for the nearest plan that it trains, or --lenient for the launch of this one", fmt::join(flags, " ")));
}

}  // namespace

Expected<void> emit_run(const Arguments& arguments, const Scenario& scenario, Console& console) {
  TRY(const auto target, find_emit_target(arguments.value(emit_name), emit_name));
  TRY(auto plan, plan_to_emit(scenario));
  TRY(const auto launch, launch_asked(arguments));
  if (launch) plan.like = &*launch;
  if (!arguments.has("--lenient")) TRY(check_refused(*target, plan));
  const Emission emission = target->emit(plan);
  if (!emission.refused.empty() && !arguments.has("--lenient"))
    return fail(emit_name,
        fmt::format(
            "{} would train another network, or none: it cannot say {}", target->id, fmt::join(emission.refused, "; ")),
        "another target of --emit, or --lenient for what it can say");
  console.out << emission.text;
  print_limits(*target, emission, console);
  return {};
}

}  // namespace stepcast::launch
