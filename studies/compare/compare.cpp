#include "studies/compare/compare.h"

#include <set>

#include <fmt/format.h>

#include "calibrate/trace/trace_file.h"
#include "model/base/json_writer.h"
#include "studies/compare/facts_report.h"
#include "studies/launch/run_flags.h"

namespace stepcast::compare {
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
  if (arguments.words.empty()) return fail("compare", "no trace", "stepcast compare TRACE, or NETWORK --trace TRACE");
  return show_facts(arguments, console);
}

}  // namespace stepcast::compare
