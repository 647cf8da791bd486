#include "studies/compare/compare.h"

#include <set>

#include <fmt/format.h>

#include "calibrate/trace/trace_file.h"
#include "model/base/json_writer.h"
#include "studies/compare/facts_report.h"
#include "studies/compare/gap_report.h"
#include "studies/launch/asked_run.h"
#include "studies/launch/run_flags.h"

namespace stepcast::comparison {
namespace {

Expected<std::vector<ReadTrace>> read_traces(const std::vector<std::string>& files) {
  std::vector<ReadTrace> traces;
  for (const std::string& file : files) {
    TRY(auto ranks, read_trace_file(file));
    for (RankTrace& rank : ranks) {
      FoundSteps steps = find_steps(rank);
      traces.push_back({std::move(rank), std::move(steps)});
    }
  }
  return traces;
}

Expected<void> show_facts(const Arguments& arguments, Console& console) {
  TRY(const auto traces, read_traces(arguments.words));
  if (!arguments.has("--json")) {
    console.out << facts_text(traces, console);
    return {};
  }
  JsonWriter json;
  json.open();
  write_facts(json, traces);
  json.close();
  console.out << json.text() << "\n";
  return {};
}

void show_gap(const Beside& beside, const Arguments& arguments, Console& console) {
  if (!arguments.has("--json")) {
    console.out << gap_text(beside, console);
    return;
  }
  JsonWriter json;
  json.open();
  write_gap(json, beside);
  json.close();
  console.out << json.text() << "\n";
}

Expected<void> show_beside_forecast(const Arguments& arguments, Console& console) {
  TRY(const auto request, read_request(arguments));
  TRY(const auto scenario, run::complete(request));
  TRY(const auto measured, read_traces(arguments.values("--trace")));
  TRY(const auto forecast, forecast_traces(scenario));
  TRY(const auto beside, beside_forecast(forecast, measured));
  show_gap(beside, arguments, console);
  return {};
}

Expected<void> show_beside_trace(const Arguments& arguments, Console& console) {
  TRY(const auto expected, read_traces({arguments.words[0]}));
  TRY(const auto measured, read_traces({arguments.words[1]}));
  TRY(const auto beside, beside_trace(expected, measured));
  show_gap(beside, arguments, console);
  return {};
}

/// Without a run, its flags would say nothing.
Expected<void> check_no_run(const Arguments& arguments) {
  for (const auto& [name, value] : arguments.flags)
    if (name != "--json" && name != "--facts")
      return fail(name, "says what a run is, and no trace of it is named", "NETWORK " + name + " ... --trace TRACE");
  return {};
}

}  // namespace

std::span<const Flag> compare_flags() {
  static const std::vector<Flag> flags =
      study_flags({{.name = "--trace",
                       .key = "",
                       .value = "FILE",
                       .group = "Measured",
                       .doc = "a trace of the step that is forecast; once for each rank",
                       .kind = FlagKind::text,
                       .repeats = true},
          {.name = "--facts",
              .key = "",
              .value = "",
              .group = "Measured",
              .doc = "what each trace holds, not what differs",
              .kind = FlagKind::toggle},
          {.name = "--json",
              .key = "",
              .value = "",
              .group = "Output",
              .doc = "one JSON document",
              .kind = FlagKind::toggle}});
  return flags;
}

Expected<void> compare_command(const Arguments& arguments, Console& console) {
  if (arguments.has("--trace")) {
    if (!arguments.has("--facts")) return show_beside_forecast(arguments, console);
    return fail("--facts", "does not go with --trace", "stepcast compare --facts TRACE");
  }
  TRY(check_no_run(arguments));
  if (arguments.words.empty())
    return fail("TRACE", "no trace is named", "stepcast compare TRACE, or stepcast compare NETWORK --trace TRACE");
  if (arguments.words.size() == 2 && !arguments.has("--facts")) return show_beside_trace(arguments, console);
  return show_facts(arguments, console);
}

}  // namespace stepcast::comparison
