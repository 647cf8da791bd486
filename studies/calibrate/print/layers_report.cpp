#include "studies/calibrate/print/layers_report.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "studies/print/table.h"

namespace stepcast::calibration {
namespace {

const char* launched_text(const TimedLayer& layer) { return layer.in_graph ? "in a graph" : "eager"; }

std::string mean_error(const std::vector<HeldLayer>& rows, bool in_graph) {
  double sum = 0, worst = 0;
  int count = 0;
  for (const HeldLayer& row : rows) {
    if (row.layer.in_graph != in_graph || !row.forecast.missing.empty()) continue;
    sum += std::abs(row.error());
    worst = std::max(worst, std::abs(row.error()));
    ++count;
  }
  if (count == 0) return "";
  return fmt::format("  {}: off by {:.1f} % in the mean, {:.1f} % at most, {} {}\n", in_graph ? "in a graph" : "eager",
      100 * sum / count, 100 * worst, count, count == 1 ? "layer" : "layers");
}

std::string forecast_text(const LayersReport& report, std::size_t columns) {
  std::string text = fmt::format("\nForecast by {} ({})\n", report.profile->name, report.profile->id);
  for (const bool in_graph : {true, false}) text += mean_error(report.rows, in_graph);
  std::set<std::string> missing;
  for (const HeldLayer& row : report.rows)
    if (!row.forecast.missing.empty())
      missing.insert(fmt::format("the profile has no law for {} of {}", row.forecast.missing, row.layer.attention));
  for (const std::string& line : missing) text += paragraph(line, "  ", "    ", columns);
  return text;
}

void write_row(JsonWriter& json, const HeldLayer& row, bool forecast) {
  const TimedLayer& layer = row.layer;
  json.fields("network", layer.network, "sequence", layer.sequence, "micro_batch", layer.micro_batch, "attention",
      layer.attention, "in_graph", layer.in_graph, "kernels", layer.calls);
  json.base_fields("time_s", layer.time, "sustained_s", layer.sustained);
  if (!forecast) return;
  if (!row.forecast.missing.empty()) return json.field("missing", row.forecast.missing);
  json.base_fields("forecast_s", row.forecast.of(layer.in_graph), "kernels_s", row.forecast.time, "launches_s",
      row.forecast.launching);
  json.field("error", row.error());
}

}  // namespace

std::string layers_report(const LayersReport& report, const Console& console) {
  Table table({{"layer"}, {"sequences", Align::right}, {"attention"}, {"launched"}, {"kernels", Align::right},
      {"measured", Align::right}, {"sustained", Align::right}, {"forecast", Align::right}, {"off", Align::right}});
  for (const HeldLayer& row : report.rows) {
    const TimedLayer& layer = row.layer;
    const bool known = report.profile != nullptr && row.forecast.missing.empty();
    table.add({layer.network, fmt::format("{} x {}", layer.micro_batch, layer.sequence), layer.attention,
        launched_text(layer), fmt::format("{}", layer.calls), format_seconds(layer.time),
        layer.sustained.value() > 0 ? format_seconds(layer.sustained) : "-",
        known ? format_seconds(row.forecast.of(layer.in_graph)) : "-",
        known ? fmt::format("{:+.1f} %", 100 * row.error()) : "-"});
  }
  const auto columns = static_cast<std::size_t>(console.columns);
  std::string text =
      fmt::format("Layers forward and backward on {}\n\n{}", report.file.context.device, table.text("  "));
  if (report.profile != nullptr) text += forecast_text(report, columns);
  for (const std::string& note : report.file.notes) text += paragraph(note, "  note: ", "    ", columns);
  return text;
}

std::string layers_json(const LayersReport& report) {
  JsonWriter json;
  json.open();
  json.field("device", report.file.context.device);
  if (report.profile != nullptr) json.field("profile", report.profile->id);
  json.list("layers", report.rows, [&](const HeldLayer& row) { write_row(json, row, report.profile != nullptr); });
  json.field("notes", report.file.notes);
  json.close();
  return json.text();
}

}  // namespace stepcast::calibration
