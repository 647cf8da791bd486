#include "studies/calibrate/print/measured_roofs.h"

#include <algorithm>

#include <fmt/format.h>

#include "calibrate/measure/roofs.h"
#include "model/profile/profile_names.h"
#include "model/base/quantity_text.h"
#include "studies/calibrate/print/profile_laws.h"

namespace stepcast::calibration {
namespace {

std::string rate_or_dash(const MeasuredRoof& roof, double rate) {
  return rate > 0 ? parameter_text("_" + roof.key, rate) : "-";
}

std::string share_or_dash(const MeasuredRoof& roof) {
  const double measured = roof.burst > 0 ? roof.burst : roof.sustained;
  return roof.datasheet > 0 ? fmt::format("{:.0f} %", 100 * measured / roof.datasheet) : "-";
}

}  // namespace

std::vector<MeasuredRoof> measured_roofs(const std::vector<Roof>& roofs, const Gpu* gpu) {
  std::vector<MeasuredRoof> rows;
  for (const Roof& roof : roofs) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const MeasuredRoof& other) { return other.of == roof.of; });
    if (row == rows.end()) {
      const char* key = unit_of(roof) == RoofUnit::flops ? "flops_per_s" : "bytes_per_s";
      row = rows.insert(rows.end(), {roof.of, key, 0, 0, gpu != nullptr ? datasheet_rate(roof, *gpu) : 0, ""});
    }
    (roof.regime == "sustained" ? row->sustained : row->burst) = roof.rate;
  }
  return rows;
}

Table measured_roofs_table(const std::vector<MeasuredRoof>& roofs) {
  const bool places =
      std::any_of(roofs.begin(), roofs.end(), [](const MeasuredRoof& roof) { return !roof.at.empty(); });
  std::vector<Table::Column> columns{
      {""}, {"burst", Align::right}, {"sustained", Align::right}, {"datasheet", Align::right}, {"share", Align::right}};
  if (places) columns.push_back({"at"});
  Table table(std::move(columns));
  for (const MeasuredRoof& roof : roofs) {
    std::vector<std::string> cells{roof.of, rate_or_dash(roof, roof.burst), rate_or_dash(roof, roof.sustained),
        rate_or_dash(roof, roof.datasheet), share_or_dash(roof)};
    if (places) cells.push_back(roof.at);
    table.add(std::move(cells));
  }
  return table;
}

void write_measured_roofs(JsonWriter& json, const std::vector<MeasuredRoof>& roofs) {
  json.open_list("measured_roofs");
  for (const MeasuredRoof& roof : roofs) {
    json.open();
    json.field("of", roof.of);
    for (const auto& [name, rate] :
        {std::pair{"burst_", roof.burst}, {"sustained_", roof.sustained}, {"datasheet_", roof.datasheet}})
      if (rate > 0) json.field(name + roof.key, rate);
    if (!roof.at.empty()) json.field("at", roof.at);
    json.close();
  }
  json.close();
}

std::vector<HostCostRow> host_cost_rows(const HostCosts& host) {
  std::vector<HostCostRow> rows{{"stream_kernel_s", "a kernel into a stream", host.stream_kernel},
      {"graph_kernel_s", "a kernel of a graph", host.graph_kernel}, {"graph_s", "a graph of one kernel", host.graph},
      {"event_s", "an event", host.event}};
  std::erase_if(rows, [](const HostCostRow& row) { return !(row.time.value() > 0); });
  return rows;
}

std::string host_costs_text(const HostCosts& host) {
  std::string text;
  for (const HostCostRow& row : host_cost_rows(host))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", row.what, format_seconds(row.time));
  return text;
}

void write_host_costs(JsonWriter& json, const HostCosts& host) {
  json.open("host");
  for (const HostCostRow& row : host_cost_rows(host)) json.base_field(row.key, row.time);
  json.close();
}

}  // namespace stepcast::calibration
