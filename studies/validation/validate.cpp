// stepcast validate: measured runs against their forecasts.
#include <optional>

#include "calibrate/import/timings_file.h"
#include "model/base/json_reader.h"
#include "model/catalog.h"
#include "studies/cli/output_file.h"
#include "studies/infer/fit_engine.h"
#include "studies/infer/records/records.h"
#include "studies/print/csv.h"
#include "studies/records/built_in_runs.h"
#include "studies/validation/html_page.h"
#include "studies/validation/report.h"
#include "studies/validation/validate.h"

namespace stepcast::validation {
namespace {

Expected<std::vector<Run>> runs_of(const Arguments& arguments) {
  if (arguments.words.empty()) return built_in_runs();
  TRY(const auto text, read_text_file(arguments.words.front()));
  auto runs = read_runs(text, arguments.words.front());
  if (runs && runs->empty()) return fail(arguments.words.front(), "holds no runs", "a list of at least one record");
  return runs;
}

bool is_validation_page(const std::string& name) {
  return file_holds(name, "<title>stepcast ") && file_holds(name, " against measured runs</title>");
}

/// Before the forecasts, so that a place that cannot be written costs nothing.
Expected<std::optional<OutputFile>> open_page(const Arguments& arguments) {
  if (!arguments.has("--html")) return std::nullopt;
  TRY(auto file, OutputFile::open(output_place(arguments, "--html", is_validation_page)));
  return std::optional<OutputFile>(std::move(file));
}

/// Phases and static batches of serving engines.
Expected<void> validate_inference(const std::string& text, const Arguments& arguments, Console& console) {
  TRY(const auto records, read_inference(text, arguments.words.front()));
  for (const char* flag : {"--html", "--csv", "--unfitted", "--force"})
    if (arguments.has(flag)) return fail(flag, "says nothing of records of inference", "--json, --cases, --hold-out");
  if (arguments.has("--hold-out") && arguments.has("--profile"))
    return fail(
        "--profile", "fits without a record's network take the default profile of each GPU", "without --hold-out");
  std::optional<run::Chosen<Profile>> profile;
  if (arguments.has("--profile")) {
    TRY(profile, run::choose_kernel_profile(arguments.value("--profile"), "--profile"));
  }
  InferenceJudgement judgement = judge(records, {nullptr, profile ? &profile->row : nullptr, false});
  if (profile && judgement.cases.empty() && !judgement.skipped.empty())
    return fail("--profile", fmt::format("no record is forecast: {}", judgement.skipped.front().why),
        "a profile of the records' GPU");
  if (arguments.has("--hold-out"))
    hold_out(judgement, fit_tunings(records, std::vector(built_in().engines.begin(), built_in().engines.end())));
  console.out << (arguments.has("--json") ? judgement_json(judgement)
                                          : judgement_text(judgement, arguments.has("--cases")));
  return {};
}

}  // namespace

Expected<void> validate_command(const Arguments& arguments, Console& console) {
  if (!arguments.words.empty()) {
    TRY(const auto file, calibrate::TimingsFile::open(arguments.words.front()));  // plain or packed
    if (looks_like_inference(file.head())) return validate_inference(file.head(), arguments, console);
  }
  if (arguments.has("--profile"))
    return fail("--profile", "measured steps are forecast by the default profile of each GPU",
        "predict --profile forecasts one of them; records of inference take --profile");
  TRY(const auto runs, runs_of(arguments));
  TRY(auto page, open_page(arguments));
  Validation validation = validate_runs(runs, arguments.has("--unfitted") ? Fits::ignored : Fits::used);
  std::vector<JudgedRow> judged;
  std::optional<HeldOutFigures> held_out;
  if (arguments.has("--hold-out")) {
    const std::vector<MeasuredRun> ready = runs_of_cases(validation, runs);
    judged = judged_rows_held_out(validation, ready);
    held_out = {judged_sweeps(runs, ready), newcomer_rows(validation, ready, runs)};
  } else {
    judged = judged_rows(validation);
  }
  if (page) (page)->finish(validation_html(validation, judged, runs));
  if (arguments.has("--csv")) console.out << csv_of(validation_json(validation, judged, held_out), {"cases"});
  else
    console.out << (arguments.has("--json") ? validation_json(validation, judged, held_out)
                                            : validation_text(validation, judged, held_out, arguments.has("--cases")));
  return {};
}

}  // namespace stepcast::validation
