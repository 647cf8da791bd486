#include "studies/compare/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/trace/trace_file.h"
#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "studies/calibrate/calibrate.h"
#include "studies/cli/named_outputs.h"
#include "studies/compare/draw/compare_page.h"
#include "studies/compare/facts_report.h"
#include "studies/compare/gap_report.h"
#include "studies/compare/measured_profile.h"
#include "studies/compare/traced/table_clocks.h"
#include "studies/launch/asked_run.h"
#include "studies/launch/run_flags.h"
#include "studies/print/page/page.h"

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

/// With the clocks of --clocks, by the GPU's number.
Expected<std::vector<ReadTrace>> read_measured(const Arguments& arguments, const std::vector<std::string>& files) {
  TRY(auto traces, read_traces(files));
  if (!arguments.has("--clocks")) return traces;
  TRY(const auto table, read_clock_table(arguments.value("--clocks")));
  std::vector<RankTrace*> ranks;
  for (ReadTrace& one : traces) ranks.push_back(&one.trace);
  TRY(take_table_clocks(table, ranks));
  return traces;
}

Expected<void> show_facts(const Arguments& arguments, Console& console) {
  TRY(const auto traces, read_measured(arguments, arguments.words));
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

/// What -o writes.
struct CompareForm {
  OutputForm form;
  std::string_view opened;
};
bool is_compare_page(const std::string& name) { return is_page(name, "comparison"); }
constexpr CompareForm compare_forms[] = {
    {{".html", "a page with both timelines", is_compare_page}, "open it in a browser"},
    {{".json", "a profile of what was measured", calibration::is_profile_file}, "--profile FILE forecasts with it"}};
constexpr std::size_t page_form = 0;

Expected<std::vector<NamedOutput>> open_compare_outputs(const Arguments& arguments, bool profiles) {
  std::vector<OutputForm> forms;
  for (const CompareForm& one : compare_forms) forms.push_back(one.form);
  if (!arguments.has("--output")) return std::vector<NamedOutput>{};
  TRY(auto outputs, open_outputs(arguments, "--output", forms));
  for (const NamedOutput& output : outputs)
    if (output.form != page_form && !profiles)
      return fail("--output", fmt::format("{}: only a forecast step of training has a profile to change", output.name),
          "-o FILE.html");
  return outputs;
}

DrawnTrace drawn_step(const ReadTrace& read, const std::string& title) {
  const FoundStep& step = read.steps.steps[static_cast<std::size_t>(read.steps.taken)];
  return drawn_trace(read.trace, step.begin, step.next, title);
}

/// With --json standard output holds one document alone.
void say(const Arguments& arguments, Console& console, const NamedOutput& output, const std::string& more) {
  if (arguments.has("--json")) return;
  const CompareForm& form = compare_forms[output.form];
  console.out << fmt::format("{}: {}{}; {}\n", output.name, form.form.doc, more, form.opened);
}

void write_pages(std::vector<NamedOutput>& outputs, const Beside& beside, const DrawnTrace& expected,
    const DrawnTrace& measured, const Arguments& arguments, Console& console) {
  for (NamedOutput& output : outputs) {
    if (output.form != page_form) continue;
    output.file.finish(compare_page(beside, expected, measured));
    say(arguments, console, output, "");
  }
}

Expected<void> write_profiles(std::vector<NamedOutput>& outputs, const Scenario& scenario, const Beside& beside,
    const Arguments& arguments, Console& console) {
  for (NamedOutput& output : outputs) {
    if (output.form == page_form) continue;
    TRY(const auto made, measured_profile(scenario, beside));
    TRY(const auto text, calibration::profile_text(made.profile));
    output.file.finish(text);
    std::string changed;
    for (const std::string& note : made.notes) changed += ", " + note;
    say(arguments, console, output,
        fmt::format("{}; with it the step is forecast at {}", changed, format_seconds(made.forecast)));
  }
  return {};
}

Expected<void> show_beside_iteration(const Arguments& arguments, Console& console) {
  TRY(auto outputs, open_compare_outputs(arguments, false));
  TRY(const auto forecast, iteration_forecast(arguments));
  TRY(auto measured, read_measured(arguments, arguments.values("--trace")));
  TRY(const auto beside, beside_iteration(forecast, measured));
  show_gap(beside, arguments, console);
  if (outputs.empty()) return {};
  write_pages(outputs, beside, drawn_trace(forecast.trace, forecast.trace.begin, forecast.trace.end, beside.expected),
      drawn_step(measured[beside.measured_at], beside.measured), arguments, console);
  return {};
}

Expected<void> show_beside_forecast(const Arguments& arguments, Console& console) {
  TRY(auto outputs, open_compare_outputs(arguments, true));
  TRY(const auto request, read_request(arguments));
  TRY(const auto scenario, run::complete(request));
  TRY(const auto measured, read_measured(arguments, arguments.values("--trace")));
  TRY(const auto forecast, forecast_traces(scenario));
  TRY(const auto beside, beside_forecast(forecast, measured));
  show_gap(beside, arguments, console);
  if (outputs.empty()) return {};
  const RankTrace& stage = forecast.stages[beside.expected_at];
  write_pages(outputs, beside, drawn_trace(stage, stage.begin, stage.end, beside.expected),
      drawn_step(measured[beside.measured_at], beside.measured), arguments, console);
  return write_profiles(outputs, scenario, beside, arguments, console);
}

Expected<void> show_beside_trace(const Arguments& arguments, Console& console) {
  TRY(auto outputs, open_compare_outputs(arguments, false));
  TRY(const auto expected, read_traces({arguments.words[0]}));
  TRY(const auto measured, read_traces({arguments.words[1]}));
  TRY(const auto beside, beside_trace(expected, measured));
  show_gap(beside, arguments, console);
  if (outputs.empty()) return {};
  write_pages(outputs, beside, drawn_step(expected[beside.expected_at], beside.expected),
      drawn_step(measured[beside.measured_at], beside.measured), arguments, console);
  return {};
}

/// Without a run, its flags would say nothing.
Expected<void> check_no_run(const Arguments& arguments) {
  for (const auto& [name, value] : arguments.flags)
    if (name != "--json" && name != "--facts" && name != "--clocks" && name != "--output" && name != "--force")
      return fail(name, "says what a run is, and no trace of it is named", "NETWORK " + name + " ... --trace TRACE");
  return {};
}

}  // namespace

std::span<const Flag> compare_flags() {
  static const std::vector<Flag> flags = [] {
    std::vector<Flag> all = study_flags({{.name = "--trace",
                                             .key = "",
                                             .value = "FILE",
                                             .group = "Measured",
                                             .doc = "a trace of the step that is forecast; once for each rank",
                                             .kind = FlagKind::text,
                                             .repeats = true},
        {.name = "--clocks",
            .key = "",
            .value = "FILE",
            .group = "Measured",
            .doc = "clocks sampled meanwhile: nvidia-smi --query-gpu=index,clocks.sm,utilization.gpu --format=csv -lms "
                   "100",
            .kind = FlagKind::text},
        {.name = "--facts",
            .key = "",
            .value = "",
            .group = "Measured",
            .doc = "what each trace holds, not what differs",
            .kind = FlagKind::toggle},
        {.name = "--output",
            .key = "",
            .value = "FILE",
            .group = "Output",
            .doc = "by its ending .html (page with both timelines) or .json (profile of what was measured); may be "
                   "given several times",
            .kind = FlagKind::text,
            .alias = "-o",
            .repeats = true},
        force_flag,
        {.name = "--json",
            .key = "",
            .value = "",
            .group = "Output",
            .doc = "one JSON document",
            .kind = FlagKind::toggle}});
    for (const Flag& flag : iteration_flags()) all.push_back(flag);
    return all;
  }();
  return flags;
}

Expected<void> compare_command(const Arguments& arguments, Console& console) {
  if (arguments.has("--trace")) {
    if (!arguments.has("--facts"))
      return asks_for_iteration(arguments) ? show_beside_iteration(arguments, console)
                                           : show_beside_forecast(arguments, console);
    return fail("--facts", "does not go with --trace", "stepcast compare --facts TRACE");
  }
  TRY(check_no_run(arguments));
  if (arguments.words.empty())
    return fail("TRACE", "no trace is named", "stepcast compare TRACE, or stepcast compare NETWORK --trace TRACE");
  const bool pair = arguments.words.size() == 2 && !arguments.has("--facts");
  if (pair && arguments.has("--clocks"))
    return fail("--clocks", "is of one of both traces, and does not say which", "--facts, or a run and its --trace");
  if (pair) return show_beside_trace(arguments, console);
  if (arguments.has("--output"))
    return fail("--output", "writes what differs, and nothing is held beside these traces", "two traces, or a run");
  return show_facts(arguments, console);
}

}  // namespace stepcast::comparison
