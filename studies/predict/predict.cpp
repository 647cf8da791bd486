// stepcast predict: one training step, forecast.
#include <optional>

#include <fmt/format.h>

#include "studies/launch/asked_run.h"
#include "studies/launch/run_flags.h"
#include "studies/predict/predict.h"
#include "studies/run/forecast.h"
#include "studies/launch/emit/emit_run.h"
#include "studies/mixed/report.h"
#include "studies/cli/output_file.h"
#include "studies/cli/told.h"
#include "studies/predict/explain.h"
#include "studies/predict/json.h"
#include "studies/timeline/step_timeline.h"
#include "studies/predict/text.h"
#include "studies/whatif/around_steps.h"
#include "studies/whatif/uneven.h"
#include "studies/run/request.h"
#include "studies/run/scenario.h"
#include "studies/run/scenario_file.h"
#include "studies/timeline/scene.h"
#include "studies/timeline/schedule_report.h"

namespace stepcast::predict {
namespace {

Expected<Scenario> scenario_of(const Arguments& arguments) {
  TRY(const auto request, read_request(arguments));
  return complete(request);
}

Expected<void> check_output_flags(const Arguments& arguments) {
  const auto both = [&](std::string_view a, std::string_view b) {
    return a != b && arguments.has(a) && arguments.has(b);
  };
  for (const char* alone : {"--print-scenario", "--emit"})
    for (const char* flag : {"--json", "--explain", "--timeline", "--imbalance", "--print-scenario", "--loader-time",
             "--gc-time", "--log-time", "--eval-batches"})
      if (both(flag, alone)) return fail(flag, std::string("does not go with ") + alone, "leave one of them out");
  if (both("--timeline", "--json"))
    return fail("--timeline", "does not go with --json", "--trace FILE or --svg FILE go with it");
  if (arguments.has("--flops") && find_flops_count(arguments.value("--flops")) == nullptr)
    return fail("--flops", fmt::format("'{:.40}' is no way to count", arguments.value("--flops")),
        "nvidia or torchtitan: as their programs print TFLOP/s; our own count stands beside it");
  return {};
}

struct StepFile {
  const char* flag;
  Expected<std::string> (*text)(const Scenario& scenario, const Prediction& prediction);
  IsOwnFile own;
};

/// Without what is inside of actions: stepcast timeline writes that, too.
Expected<std::string> trace_of_actions(const Scenario& scenario, const Prediction& prediction) {
  TRY(const auto scene, step_scene(scenario, prediction));
  constexpr TraceChoice choice{TraceDetail::actions, false};
  TRY(check_trace_size(scene, choice, "--trace"));
  return scene_trace(scene, choice);
}

Expected<std::string> picture_of_actions(const Scenario&, const Prediction& prediction) {
  return timeline_svg(prediction);
}

constexpr StepFile step_files[] = {
    {"--trace", trace_of_actions, is_trace_file}, {"--svg", picture_of_actions, is_pipeline_picture}};

struct OpenStepFile {
  const StepFile* form;
  OutputFile file;
};

/// Before the work, so that a place that cannot be written costs nothing.
Expected<std::vector<OpenStepFile>> open_step_files(const Arguments& arguments) {
  TRY(check_apart(arguments, {"--trace", "--svg"}));
  std::vector<OpenStepFile> open;
  for (const StepFile& form : step_files) {
    if (!arguments.has(form.flag)) continue;
    TRY(auto file, OutputFile::open(output_place(arguments, form.flag, form.own)));
    open.push_back({&form, std::move(file)});
  }
  return open;
}

/// An operator has one price, but as many as there are slices where the sequence is cut.
Expected<void> check_explainable(const Arguments& arguments, const Scenario& scenario) {
  if (!arguments.has("--explain") || scenario.pipeline.slices == 1) return {};
  return fail("--explain", "shows the prices of whole sequences, and this one is cut into slices",
      "leave out --explain or " + scenario.pipeline.slices_where);
}

/// What programs print of such networks is none of these counts.
Expected<void> check_countable(const Arguments& arguments, const Scenario& scenario) {
  const NetworkSpec& network = scenario.network.row;
  if (!arguments.has("--flops") || (network.encoders.empty() && network.features == 0)) return {};
  return fail("--flops",
      fmt::format("{} counts no encoders and no numbers in place of words", arguments.value("--flops")),
      "leave it out: our own count has them");
}

Expected<std::optional<Explained>> explained_if_asked(
    const Arguments& arguments, const Scenario& scenario, const Prediction& prediction) {
  if (!arguments.has("--explain")) return std::nullopt;
  TRY(auto made, explain_prediction(scenario, prediction));
  return made;
}

Expected<std::optional<UnevenForecast>> uneven_if_asked(
    const Arguments& arguments, const Scenario& scenario, const Prediction& prediction) {
  if (!arguments.has("--imbalance") || says_even(arguments.value("--imbalance"))) return std::nullopt;
  TRY(const auto uneven, read_unevenness(arguments.value("--imbalance"), "--imbalance"));
  TRY(auto forecast, uneven_forecast(scenario, prediction, uneven));
  return forecast;
}

std::vector<StepWith> steps_with(
    const std::optional<UnevenForecast>& uneven, const std::vector<AroundPart>& around, Seconds step) {
  std::vector<StepWith> steps;
  if (uneven) steps.push_back({"with uneven work", Seconds(uneven->mean_s), "on average: --imbalance, below"});
  if (!around.empty())
    steps.push_back({"with all around it", step + sum_of(around), "the wait for data and pauses, below"});
  return steps;
}

void print_page(const Arguments& arguments, const Scenario& scenario, const Prediction& prediction,
    const Explained* explained, const std::vector<StepWith>& steps, Console& console) {
  console.out << text_report(scenario, prediction, console, find_flops_count(arguments.value("--flops")), steps);
  if (arguments.has("--timeline")) console.out << timeline_text(prediction, console);
  if (explained != nullptr) console.out << explain_text(*explained, prediction, console);
}

}  // namespace

std::span<const Flag> predict_flags() {
  static const std::vector<Flag> flags = [] {
    std::vector<Flag> all(run_flags().begin(), run_flags().end());
    for (const Flag& flag : around_flags("Around steps")) all.push_back(flag);
    return all;
  }();
  return flags;
}

Expected<void> predict_command(const Arguments& arguments, Console& console) {
  TRY(const bool several, mixed::asks_for_kinds(arguments));
  if (several) return mixed::mixed_command(arguments, console);
  TRY(check_output_flags(arguments));
  TRY(const auto around, around_steps(arguments));
  TRY(const auto scenario, scenario_of(arguments));
  TRY(check_explainable(arguments, scenario));
  TRY(check_countable(arguments, scenario));
  TRY(auto files, open_step_files(arguments));
  TRY(const auto prediction, run::predict(scenario, arguments.has("--explain")));
  for (OpenStepFile& open : files) {
    TRY(const auto text, open.form->text(scenario, prediction));
    open.file.finish(text);
  }
  if (arguments.has("--print-scenario")) {
    console.out << write_scenario(scenario);
    return {};
  }
  if (arguments.has("--emit")) return emit_run(arguments, scenario, console);
  TRY(const auto explained, explained_if_asked(arguments, scenario, prediction));
  const Explained* explanation = explained ? &*explained : nullptr;
  TRY(const auto uneven, uneven_if_asked(arguments, scenario, prediction));
  const Seconds step(uneven ? uneven->mean_s : prediction.step.step_time.value());
  TRY(const auto parts, around_parts(scenario, prediction, around, step, 0));
  if (arguments.has("--json")) {
    console.out << cli::with_told(json_report(scenario, prediction, explanation,
                                      find_flops_count(arguments.value("--flops")), uneven ? &*uneven : nullptr, parts),
        arguments);
  } else {
    print_page(arguments, scenario, prediction, explanation, steps_with(uneven, parts, step), console);
    if (uneven) console.out << uneven_text(*uneven);
    console.out << around_text(parts, step);
  }
  return {};
}

}  // namespace stepcast::predict
