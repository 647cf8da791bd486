#include "studies/calibrate/print/runs_report.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "studies/print/table.h"

namespace stepcast::calibration {
namespace {

constexpr std::size_t most_listed = 12;  ///< runs of a pool that get a line each
constexpr std::size_t report_columns = 110;
constexpr double bound_share = 1e-3;  ///< this near the end of a range a search was stopped by it

double mean_miss(const FitPool& pool, const std::vector<MeasuredRun>& runs, const std::vector<double>& seconds) {
  double sum = 0, n = 0;
  for (std::size_t i = 0; i < pool.members.size(); ++i) {
    const MeasuredRun& run = runs[pool.members[i]];
    if (run.witness) sum += std::abs(seconds[i] / run.seconds - 1), ++n;
  }
  return n > 0 ? sum / n : 0;
}

std::string value_text(const StepParameterRow& row, double value) {
  return row.unit.empty() ? fmt::format("{:.3g}", value) : format_seconds(Seconds(value));
}

std::string name_without_unit(const StepParameterRow& row) {
  return std::string(row.unit.empty() ? row.id : row.id.substr(0, row.id.size() - 2));
}

std::string parameter_lines(const FitPool& pool) {
  std::string text;
  for (const StepValue& value : pool.result.values) {
    const StepParameterRow& row = row_of(value.parameter);
    const std::string head = fmt::format("{} {} ({} to {} is plausible)", name_without_unit(row),
        value_text(row, value.value), value_text(row, row.low), value_text(row, row.high));
    text += paragraph(fmt::format("{}: {}", head, row.meaning), "  ", "    ", report_columns);
  }
  return text;
}

/// Values that the search would have pushed on: no such number explains these steps.
std::string bound_lines(const FitPool& pool) {
  std::vector<std::string> ends;
  for (const StepValue& value : pool.result.values) {
    const StepParameterRow& row = row_of(value.parameter);
    const bool lowest = row.low > 0 && value.value <= (1 + bound_share) * row.low;  // 0 is no odd value: nothing of it
    if (lowest || value.value >= (1 - bound_share) * row.high) ends.push_back(name_without_unit(row));
  }
  if (ends.empty()) return {};
  return paragraph(
      fmt::format("{} at the end of the plausible range: the runs differ from their forecasts by more than such "
                  "numbers stand for. "
                  "Look for arguments that were not taken into account, another machine or a slow part of it.",
          fmt::join(ends, ", ")),
      "  ", "    ", report_columns);
}

std::string signed_miss(double forecast, double measured) {
  return fmt::format("{:+.1f} %", 100 * (forecast / measured - 1));
}

std::string run_lines(const FitPool& pool, const std::vector<MeasuredRun>& runs, const std::vector<double>& neutral) {
  if (pool.members.size() > most_listed) return {};
  Table table({{"run", Align::left}, {"measured", Align::right}, {"laws alone", Align::right}, {"fitted", Align::right},
      {"left out", Align::right}});
  for (std::size_t i = 0; i < pool.members.size(); ++i) {
    const MeasuredRun& run = runs[pool.members[i]];
    table.add({run.id + (run.witness ? "" : " (doubtful, not fitted)"), format_seconds(Seconds(run.seconds)),
        signed_miss(neutral[i], run.seconds), signed_miss(pool.result.fitted[i], run.seconds),
        pool.result.held_out.empty() ? "" : signed_miss(pool.result.held_out[i], run.seconds)});
  }
  return table.text("  ");
}

std::string pool_text(const FitPool& pool, const std::vector<MeasuredRun>& runs) {
  const auto neutral = forecast_steps(runs, pool.members, nullptr);
  std::string text = fmt::format("{} {}{}, {}: {} run{}\n", pool.stack, to_text(pool.precision),
      pool.experts ? " with experts" : "", pool.hardware, pool.result.runs, pool.result.runs == 1 ? "" : "s");
  if (pool.result.runs == 0) return text + "  doubtful records only: nothing is fitted\n\n";
  text += fmt::format("  mean error {:.1f} % by the laws alone, {:.1f} % fitted", 100 * mean_miss(pool, runs, neutral),
      100 * pool.result.mape);
  if (pool.result.groups > 0)
    text += fmt::format(", {:.1f} % with the {} left out ({} of them); measured over forecast {:.2f} to {:.2f}",
        100 * pool.result.held_out_mape, to_text(pool.leave), pool.result.groups, pool.result.spread.p10,
        pool.result.spread.p90);
  return text + '\n' + parameter_lines(pool) + bound_lines(pool) + run_lines(pool, runs, neutral) + '\n';
}

void pool_json(JsonWriter& json, const FitPool& pool, const std::vector<MeasuredRun>& runs) {
  json.open();
  json.fields(
      "stack", pool.stack, "precision", to_text(pool.precision), "experts", pool.experts, "hardware", pool.hardware);
  json.open_list("parameters");
  for (const StepValue& value : pool.result.values) {
    const StepParameterRow& row = row_of(value.parameter);
    json.row("name", std::string(row.id), "unit", std::string(row.unit), "value", value.value, "plausible",
        std::vector<double>{row.low, row.high}, "meaning", std::string(row.meaning));
  }
  json.close();
  json.fields("runs", pool.result.runs, "left_out", to_text(pool.leave), "groups", pool.result.groups);
  const auto neutral = forecast_steps(runs, pool.members, nullptr);
  json.fields("unfitted_mape", mean_miss(pool, runs, neutral), "mape", pool.result.mape);
  if (pool.result.groups > 0) json.field("held_out_mape", pool.result.held_out_mape);
  json.field("spread", std::vector<double>{pool.result.spread.p10, pool.result.spread.p90});
  json.open_list("cases");
  for (std::size_t i = 0; i < pool.members.size(); ++i) {
    const MeasuredRun& run = runs[pool.members[i]];
    json.open();
    json.fields("id", run.id, "witness", run.witness, "measured_s", run.seconds, "unfitted_s", neutral[i], "fitted_s",
        pool.result.fitted[i]);
    if (!pool.result.held_out.empty()) json.field("held_out_s", pool.result.held_out[i]);
    json.close();
  }
  json.close();
  json.close();
}

}  // namespace

std::string runs_report(const RunsReport& report) {
  std::string text;
  for (const FitPool& pool : report.pools) text += pool_text(pool, report.runs);
  for (const std::string& note : report.notes) text += paragraph("note: " + note, "", "  ", report_columns);
  text += report.output.empty() ? "Nothing was written: -o PROFILE.json keeps the fit.\n"
                                : fmt::format("Written to {}: forecasts with --profile use it.\n", report.output);
  return text;
}

std::string runs_json(const RunsReport& report) {
  JsonWriter json;
  json.open();
  json.open_list("fits");
  for (const FitPool& pool : report.pools) pool_json(json, pool, report.runs);
  json.close();
  json.field("notes", report.notes);
  json.close();
  return json.text();
}

}  // namespace stepcast::calibration
