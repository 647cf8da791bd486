#include "studies/gate/expected.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/catalog.h"
#include "studies/ask/rates.h"
#include "studies/cli/arguments.h"
#include "studies/infer/infer.h"
#include "studies/launch/run_flags.h"
#include "studies/predict/predict.h"
#include "studies/roofline/roofline_flags.h"

namespace stepcast::gate {
namespace {

using Json = nlohmann::json;

void read_predicted(const Json& json, CaseForecast& out) {
  const Json& run = json.at("run");
  out.seconds = json.at("step_time_s");
  out.tokens_per_s_per_gpu = json.at("tokens_per_s_per_gpu");
  out.mfu = json.at("mfu").get<double>();
  out.work.gpus = run.at("gpus");
  out.work.samples = run.at("global_batch");
  out.work.tokens = out.work.samples * run.at("sequence").get<double>();
}

/// The bars of the waterfall that stand for kernels at the datasheet's roofs.
void read_roofs(const Json& json, CaseForecast& out) {
  out.seconds = json.at("step_time_s");
  out.work.gpus = json.at("gpus");
  double roof = 0;
  for (const Json& bar : json.at("waterfall").at("bars"))
    for (const char* key : {"useful_compute", "repeated_compute", "hbm", "l2"})
      if (bar.at("key") == key) roof += bar.at("time_s").get<double>();
  out.roof_seconds = roof;
}

void read_iteration(const Json& json, CaseForecast& out) {
  out.seconds = json.at("time_s");
  out.tokens_per_s_per_gpu = json.at("tokens_per_s_per_gpu");
  out.work.gpus = json.at("gpus");
}

/// A product's roof: FLOPs at the peak of its type, or bytes at the memory's bandwidth, whichever takes longer.
void read_kernel(const Json& json, CaseForecast& out) {
  out.seconds = json.at("time_s");
  out.work.gpus = 1;
  const auto found = std::find_if(
      built_in().gpus.begin(), built_in().gpus.end(), [&](const Gpu& gpu) { return gpu.id == json.value("gpu", ""); });
  const auto precision = parse_precision(json.value("dtype", ""), "dtype");
  if (found == built_in().gpus.end() || !precision || !json.contains("flops") || !json.contains("bytes")) return;
  const FlopsPerSecond peak = found->peak[static_cast<std::size_t>(*precision)];
  if (!(peak.value() > 0)) return;
  out.roof_seconds = std::max(
      json.at("flops").get<double>() / peak.value(), json.at("bytes").get<double>() / found->memory_bandwidth.value());
}

void read_collective(const Json& json, CaseForecast& out) { out.seconds = json.at("time_s"); }

/// A command that forecasts one time, and what its JSON says.
struct ForecastRow {
  const char* name;
  std::size_t words;  ///< at least
  std::span<const Flag> (*flags)();
  Expected<void> (*run)(const Arguments&, Console&);
  void (*read)(const Json&, CaseForecast&);
};
constexpr ForecastRow forecast_rows[] = {{"predict", 0, launch::run_flags, predict::predict_command, read_predicted},
    {"roofline", 0, roofline::roofline_flags, roofline::roofline_command, read_roofs},
    {"infer", 1, infer::infer_flags, infer::infer_command, read_iteration},
    {"kernel", 1, ask::kernel_flags, ask::kernel_command, read_kernel},
    {"collective", 1, ask::collective_flags, ask::collective_command, read_collective}};

Expected<const ForecastRow*> row_of_command(const std::string& name, const std::string& where) {
  for (const ForecastRow& row : forecast_rows)
    if (name == row.name) return &row;
  return fail(where, fmt::format("'{:.40}' is no command that forecasts one time", name),
      name_hint(name, names_of(forecast_rows, &ForecastRow::name)));
}

}  // namespace

Expected<CaseForecast> forecast_case(const std::vector<std::string>& words, const std::string& where) {
  TRY(const auto row, row_of_command(words.front(), where));
  std::vector<std::string> typed(words.begin() + 1, words.end());
  if (std::find(typed.begin(), typed.end(), "--json") == typed.end()) typed.insert(typed.begin(), "--json");
  const auto told = [&](const Error& error) {
    return fail(where, fmt::format("stepcast {}: {}: {}", row->name, error.where, error.what), error.hint);
  };
  const auto arguments =
      parse_arguments(row->flags(), row->words, 1, fmt::format("stepcast {} --help", row->name), typed);
  if (!arguments) return told(arguments.error());
  for (const char* flag :
      {"--output", "--trace", "--svg", "--html", "--emit", "--print-scenario", "--csv", "--what-if", "--roofline"})
    if (arguments->has(flag)) return fail(where, fmt::format("{} writes something else than a forecast", flag), "");
  std::ostringstream out, err;
  Console console{out, err, false, false};
  const auto done = row->run(*arguments, console);
  if (!done) return told(done.error());
  const Json json = Json::parse(out.str(), nullptr, false);
  if (json.is_discarded()) return fail(where, fmt::format("stepcast {} printed no forecast", row->name), "");
  if (json.contains("fits") && !json.at("fits").get<bool>())
    return fail(where, "the forecast's run does not fit in memory, so that it has no time", "another split");
  CaseForecast forecast;
  row->read(json, forecast);
  return forecast;
}

}  // namespace stepcast::gate
