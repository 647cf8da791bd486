// stepcast predict: one training step, forecast.
#include "studies/commands.h"
#include "studies/forecast.h"
#include "studies/report/explain.h"
#include "studies/report/json.h"
#include "studies/report/text.h"
#include "studies/request.h"
#include "studies/scenario.h"
#include "studies/scenario_file.h"

namespace stepcast {
namespace {

Expected<Scenario> scenario_of(const Arguments& arguments) {
  const auto request = read_request(arguments.words.at(0), arguments);
  if (!request) return tl::unexpected(request.error());
  return resolve(*request);
}

Expected<void> check_output_flags(const Arguments& arguments) {
  if (!arguments.has("--print-scenario")) return {};
  for (const char* other : {"--json", "--explain"})
    if (arguments.has(other)) return fail(other, "does not go with --print-scenario", "leave one of them out");
  return {};
}

}  // namespace

Expected<void> predict_command(const Arguments& arguments, Console& console) {
  if (auto good = check_output_flags(arguments); !good) return good;
  const auto scenario = scenario_of(arguments);
  if (!scenario) return tl::unexpected(scenario.error());
  const auto prediction = predict(*scenario, arguments.has("--explain"));
  if (!prediction) return tl::unexpected(prediction.error());
  if (arguments.has("--print-scenario")) {
    console.out << write_scenario(*scenario);
    return {};
  }
  std::optional<Explained> explained;
  if (arguments.has("--explain")) {
    auto made = explain_prediction(*scenario, *prediction);
    if (!made) return tl::unexpected(made.error());
    explained = std::move(*made);
  }
  if (arguments.has("--json")) {
    console.out << json_report(*scenario, *prediction, explained ? &*explained : nullptr);
    return {};
  }
  console.out << text_report(*scenario, *prediction, console);
  if (explained) console.out << explain_text(*explained, *prediction, console);
  return {};
}

}  // namespace stepcast
