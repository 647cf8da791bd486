// stepcast explain: a term of the field, or every argument of a launch.
#include "studies/launch/asked_run.h"
#include "studies/launch/rules/explain.h"
#include "studies/notation/explain_command.h"
#include "studies/notation/explain_terms.h"

namespace stepcast::notation {
namespace {

Expected<void> explain_this_launch(const LaunchSource& source, const Arguments& arguments, Console& console) {
  TRY(const auto hints, launch_hints(arguments));
  TRY(auto launch, read_launch(source));
  if (hints.gpus > 0) launch.gpus = hints.gpus, launch.gpus_per_node = 0;
  const ExplainedLaunch explained = explain_launch(launch, hints, arguments);
  console.out << (arguments.has("--json") ? explained_json(explained) : explained_text(explained, console));
  return {};
}

/// Flags of a run say something of a launch only.
Expected<void> check_term_flags(const Arguments& arguments) {
  for (const auto& [name, value] : arguments.flags)
    if (name != "--json")
      return fail(name, "belongs to a launch, and a term has none", "--launch run.sh, or leave it out");
  return {};
}

}  // namespace

Expected<void> explain_command(const Arguments& arguments, Console& console) {
  TRY(const auto source, launch_source(arguments));
  if (source) return explain_this_launch(*source, arguments, console);
  TRY(check_term_flags(arguments));
  return explain_term(arguments, console);
}

}  // namespace stepcast::notation
