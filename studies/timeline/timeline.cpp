// stepcast timeline: one step in time, as a trace, a page or a picture.
#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "model/version.h"
#include "studies/cli/named_outputs.h"
#include "studies/cli/output_file.h"
#include "studies/launch/asked_run.h"
#include "studies/print/digits.h"
#include "studies/print/page/page.h"
#include "studies/run/forecast.h"
#include "studies/timeline/schedule_report.h"
#include "studies/timeline/step_timeline.h"
#include "studies/run/request.h"
#include "studies/launch/run_flags.h"
#include "studies/timeline/scene.h"
#include "studies/timeline/timeline_flags.h"

namespace stepcast::timeline {
namespace {

const char* const timeline_output = "--output";

/// What a file is made of, and what makes it.
struct TimelineWork {
  const Prediction& prediction;
  const StepScene& scene;
  TraceChoice choice;
};

std::string timeline_trace_of(const TimelineWork& work) { return scene_trace(work.scene, work.choice); }
std::string timeline_page_of(const TimelineWork& work) { return timeline_page(work.scene); }
std::string timeline_picture_of(const TimelineWork& work) { return timeline_svg(work.prediction); }

bool is_timeline_page(const std::string& name) { return is_page(name, "timeline"); }

struct TimelineForm {
  OutputForm form;
  std::string (*text)(const TimelineWork& work);
  std::string_view opened;  ///< how
};
constexpr TimelineForm timeline_forms[] = {{{".json", "a trace of events", is_trace_file}, timeline_trace_of,
                                               "open it at https://ui.perfetto.dev or chrome://tracing"},
    {{".html", "a page that stands alone", is_timeline_page}, timeline_page_of, "open it in a browser"},
    {{".svg", "a picture of the pipeline", is_pipeline_picture}, timeline_picture_of, "open it in a browser"}};
constexpr std::size_t trace_form = 0;

std::vector<OutputForm> timeline_endings() {
  std::vector<OutputForm> forms;
  for (const TimelineForm& one : timeline_forms) forms.push_back(one.form);
  return forms;
}

struct DetailWord {
  std::string_view word;
  TraceDetail detail;
};
constexpr DetailWord detail_words[] = {{"actions", TraceDetail::actions}, {"kernels", TraceDetail::kernels}};
struct RanksWord {
  std::string_view word;
  bool all;
};
constexpr RanksWord ranks_words[] = {{"stages", false}, {"all", true}};

/// The row of the word given with `flag`; `otherwise` where none was given.
template <typename Row, std::size_t count>
Expected<Row> timeline_word(
    const Arguments& arguments, const char* flag, const Row (&rows)[count], const Row& otherwise) {
  if (!arguments.has(flag)) return otherwise;
  std::string known;
  for (const Row& row : rows) {
    if (row.word == arguments.value(flag)) return row;
    known += fmt::format("{}{}", known.empty() ? "" : " or ", row.word);
  }
  return fail(flag, fmt::format("'{:.100}' is none of its values", arguments.value(flag)), known);
}

Expected<TraceChoice> trace_choice(const Arguments& arguments) {
  TRY(const auto detail, timeline_word(arguments, "--detail", detail_words, detail_words[1]));
  TRY(const auto ranks, timeline_word(arguments, "--ranks", ranks_words, ranks_words[0]));
  return TraceChoice{detail.detail, ranks.all};
}

std::string timeline_json(const TimelineWork& work) {
  JsonWriter json;
  json.open();
  json.object("stepcast_timeline", "version", version(), "title", work.scene.title);
  json.field("fits", work.prediction.step.memory.fits);
  json.base_field("step_time_s", work.prediction.step.step_time);
  write_pipeline(json, work.prediction);
  json.object("trace_events", "actions", trace_events(work.scene, {TraceDetail::actions, work.choice.all_ranks}),
      "kernels", trace_events(work.scene, {TraceDetail::kernels, work.choice.all_ranks}));
  std::vector<std::string> streams;
  for (const SceneStream& stream : work.scene.streams) streams.push_back(stream.name);
  json.field("streams", streams);
  json.close();
  return json.text();
}

std::string timeline_written_line(const NamedOutput& output, const TimelineWork& work) {
  const TimelineForm& form = timeline_forms[output.form];
  const std::string size =
      output.form == trace_form
          ? fmt::format(", {} events", grouped_digits(static_cast<double>(trace_events(work.scene, work.choice))))
          : "";
  return fmt::format("{}: {}{}; {}\n", output.name, form.form.doc, size, form.opened);
}

/// Said of a trace where there is none, they would go unheard.
Expected<void> check_trace_flags(const Arguments& arguments, const std::vector<NamedOutput>& outputs) {
  if (arguments.has("--json")) return {};
  for (const NamedOutput& output : outputs)
    if (output.form == trace_form) return {};
  for (const char* flag : {"--detail", "--ranks"})
    if (arguments.has(flag)) return fail(flag, "says what a trace holds, and none is written", "-o FILE.json");
  return {};
}

Expected<void> check_trace_sizes(const std::vector<NamedOutput>& outputs, const TimelineWork& work) {
  for (const NamedOutput& output : outputs) {
    if (output.form != trace_form) continue;
    TRY(check_trace_size(work.scene, work.choice, timeline_output));
  }
  return {};
}

}  // namespace

std::span<const Flag> timeline_flags() {
  // clang-format off
  static const std::vector<Flag> flags = study_flags(
      {{.name = "--output", .key = "", .value = "FILE", .group = "Output",
        .doc = "by its ending .json (trace), .html (page) or .svg (picture); may be given several times",
        .kind = FlagKind::text, .alias = "-o", .repeats = true},
       {.name = "--detail", .key = "", .value = "WHAT", .group = "Output",
        .doc = "the trace has actions alone, or kernels and collectives too (default kernels; at most 4,000,000 "
               "events)",
        .kind = FlagKind::text},
       {.name = "--ranks", .key = "", .value = "WHICH", .group = "Output",
        .doc = "the trace has one rank per stage, or all GPUs: stages or all (default stages)", .kind = FlagKind::text},
       force_flag,
       {.name = "--json", .key = "", .value = "", .group = "Output",
        .doc = "the pipeline and the events that a trace would have, as one JSON document", .kind = FlagKind::toggle}});
  // clang-format on
  return flags;
}

Expected<void> timeline_command(const Arguments& arguments, Console& console) {
  TRY(const auto choice, trace_choice(arguments));
  TRY(const auto request, read_request(arguments));
  TRY(const auto scenario, complete(request));
  TRY(auto outputs, open_outputs(arguments, timeline_output, timeline_endings()));
  TRY(check_trace_flags(arguments, outputs));
  TRY(const auto prediction, run::predict(scenario));
  TRY(const auto scene, step_scene(scenario, prediction));
  const TimelineWork work{prediction, scene, choice};
  TRY(check_trace_sizes(outputs, work));
  for (NamedOutput& output : outputs) output.file.finish(timeline_forms[output.form].text(work));
  if (arguments.has("--json")) console.out << timeline_json(work);
  else if (outputs.empty()) console.out << timeline_text(prediction, console);
  else
    for (const NamedOutput& output : outputs) console.out << timeline_written_line(output, work);
  return {};
}

}  // namespace stepcast::timeline
