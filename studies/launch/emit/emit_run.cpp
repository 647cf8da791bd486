#include "studies/launch/emit/emit_run.h"

#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "studies/launch/asked_run.h"
#include "studies/launch/emit/emit.h"

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

}  // namespace

Expected<void> emit_run(const Arguments& arguments, const Scenario& scenario, Console& console) {
  TRY(const auto target, find_emit_target(arguments.value(emit_name), emit_name));
  TRY(auto plan, plan_to_emit(scenario));
  TRY(const auto launch, launch_asked(arguments));
  if (launch) plan.like = &*launch;
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
