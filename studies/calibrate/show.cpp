// stepcast calibrate show: a profile's roofs, laws, errors and tables, and where they come from.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "model/catalog.h"
#include "model/profile/profile_names.h"
#include "model/base/quantity_text.h"
#include "studies/calibrate/calibrate.h"
#include "studies/run/nouns.h"
#include "studies/calibrate/print/measured_roofs.h"
#include "studies/print/paint.h"
#include "studies/calibrate/print/profile_figures.h"
#include "studies/calibrate/print/profile_laws.h"
#include "studies/calibrate/print/step_fits.h"
#include "studies/print/table.h"
#include "studies/print/json_fields.h"

namespace stepcast::calibration {
namespace {

std::string sources_text(const Profile& profile, const Paint& paint, std::size_t columns) {
  std::string text;
  if (!profile.context.empty()) text += paragraph(profile.context, "  ", "  ", columns);
  Table table({{""}, {""}});
  for (const auto& [name, value] : condition_rows(profile))
    if (!value.empty()) table.add({paint.dim(name), value});
  text += table.text("  ");
  for (const std::string& source : profile.conditions.sources)
    text += paragraph(source, "  source: ", "          ", columns);
  return text;
}

std::string roofs_text(const std::vector<LawRoof>& roofs) {
  Table table({{""}, {"datasheet", Align::right}, {"fitted", Align::right}, {"share", Align::right}, {"source"}});
  for (const LawRoof& roof : roofs)
    table.add({roof.name, roof.datasheet > 0 ? parameter_text("_" + roof.key, roof.datasheet) : "-",
        parameter_text("_" + roof.key, roof.fitted),
        roof.datasheet > 0 ? fmt::format("{:.0f} %", 100 * roof.fitted / roof.datasheet) : "-", to_text(roof.source)});
  return table.text("  ");
}

bool of_a_kernel(const LawRow& row) {
  return row.parameters.front().first != "bus_bytes_per_s" && row.parameters.front().first != "efficiency";
}

std::string laws_text(const std::vector<LawRow>& rows, std::size_t columns) {
  Table errors({{"law"}, {"source"}, {"samples", Align::right}, {"MAPE", Align::right}, {"median", Align::right},
      {"p95", Align::right}, {"in 80 %", Align::right}, {"80 %: from", Align::right}, {"to", Align::right},
      {"alone", Align::right}, {"corrected"}});
  std::string parameters;
  for (const LawRow& row : rows) {
    if (!of_a_kernel(row)) continue;
    std::vector<std::string> cells{
        row.law, to_text(row.source), row.held_out.samples > 0 ? fmt::format("{}", row.held_out.samples) : "-"};
    for (std::string& cell : held_out_cells(row.held_out)) cells.push_back(std::move(cell));
    cells.insert(cells.end(), {fmt::format("{:.2f}", row.spread.p10), fmt::format("{:.2f}", row.spread.p90),
                                  row.alone.samples > 0 ? fmt::format("{:.1f} %", 100 * row.alone.mape) : "-",
                                  row.use == CorrectionUse::none ? "no" : to_text(row.use)});
    errors.add(std::move(cells));
    const std::string whose = row.software.empty() ? "" : fmt::format(" ({})", row.software);
    parameters +=
        paragraph(parameters_text(row) + whose, fmt::format("  {:<22} ", row.law), std::string(25, ' '), columns);
  }
  return errors.text("  ") + "\n" + parameters;
}

std::string collectives_text(const std::vector<BusRow>& rows) {
  Table table({{"collective"}, {"fabric"}, {"ranks", Align::right}, {"nodes", Align::right}, {"1 MiB", Align::right},
      {"64 MiB", Align::right}, {"1 GiB", Align::right}, {"latency", Align::right}, {"source"}});
  for (const BusRow& row : rows) {
    std::vector<std::string> cells{to_text(row.curve->kind), name_of<FabricKind>(fabric_names, row.curve->fabric),
        fmt::format("{}", row.curve->ranks), fmt::format("{}", row.curve->nodes)};
    for (const BytesPerSecond bus : row.bus) cells.push_back(format_rate(bus));
    cells.insert(cells.end(), {format_seconds(row.curve->latency), to_text(row.curve->source)});
    table.add(std::move(cells));
  }
  return table.text("  ");
}

std::string across_nodes_text(const std::vector<LawRow>& rows) {
  std::string text;
  for (const LawRow& row : rows)
    if (row.parameters.front().first == "efficiency")
      text += fmt::format("  {}: {} ({})\n", row.law, parameters_text(row), to_text(row.source));
  return text;
}

/// Roofs that were reached, as opposed to those of the laws, and what the host pays; nothing where nobody measured
/// them.
std::string measured_text(const Profile& profile, const Gpu* gpu, const Paint& paint, std::size_t columns) {
  std::string text;
  if (!profile.roofs.empty())
    text += fmt::format("\n{}\n\n", paint.bold("Measured roofs")) +
            measured_roofs_table(measured_roofs(profile.roofs, gpu)).text("  ");
  if (const std::string host = host_costs_text(profile.host); !host.empty())
    text += fmt::format("\n{}\n\n", paint.bold("What starting work costs")) + paragraph(host, "  ", "  ", columns);
  return text;
}

std::string profile_text(const Profile& profile, const Gpu* gpu, const Console& console) {
  const Paint paint(console);
  const auto columns = static_cast<std::size_t>(console.columns);
  const std::vector<LawRow> rows = law_rows(profile);
  const auto heading = [&](const char* name) { return fmt::format("\n{}\n\n", paint.bold(name)); };
  std::string text = fmt::format("{}: {}\n\n", paint.bold(profile.id), profile.name);
  text += sources_text(profile, paint, columns);
  text += heading("Roofs") + roofs_text(roofs_of(profile, gpu));
  text += measured_text(profile, gpu, paint, columns);
  const RateCurve curve = rate_curve(profile, gpu);
  if (!curve.rate.empty()) text += "\n" + rate_plot(curve, console);
  text += heading("Laws") + laws_text(rows, columns);
  if (!profile.collectives.empty())
    text += heading("Bus bandwidth by size of the buffer") + collectives_text(bus_rows(profile));
  if (!profile.scale_out.empty()) text += heading("Across nodes") + across_nodes_text(rows);
  if (const std::string fits = step_fits_text(profile); !fits.empty()) text += heading("Measured steps") + fits;
  return text;
}

void write_points(JsonWriter& json, const char* key, const std::vector<std::pair<double, double>>& points) {
  json.open_list(key);
  for (const auto& [m, rate] : points) json.item(std::vector<double>{m, rate});
  json.close();
}

void write_bus(JsonWriter& json, const BusRow& row) {
  json.open();
  json.fields("kind", to_text(row.curve->kind), "fabric", name_of<FabricKind>(fabric_names, row.curve->fabric), "ranks",
      row.curve->ranks, "nodes", row.curve->nodes, "buffer_bytes",
      std::vector<double>(std::begin(bus_sizes), std::end(bus_sizes)));
  std::vector<double> bus;
  for (const BytesPerSecond rate : row.bus) bus.push_back(rate.value());
  json.field("bus_bytes_per_s", bus);
  json.base_field("latency_s", row.curve->latency);
  json.field("source", to_text(row.curve->source));
  json.close();
}

std::string profile_json(const Profile& profile, const Gpu* gpu) {
  JsonWriter json;
  json.open();
  json.fields("profile", profile.id, "name", profile.name, "gpu", profile.gpu, "regime", profile.regime, "context",
      profile.context);
  json.open("conditions");
  for (const auto& [name, value] : condition_rows(profile)) {
    std::string key = name;
    std::replace(key.begin(), key.end(), ' ', '_');
    if (!value.empty()) json.field(key, value);
  }
  json.field("sources", profile.conditions.sources);
  json.close();
  json.open_list("roofs");
  for (const LawRoof& roof : roofs_of(profile, gpu)) {
    json.open();
    json.field("name", roof.name);
    if (roof.datasheet > 0) json.field("datasheet_" + roof.key, roof.datasheet);
    json.fields("fitted_" + roof.key, roof.fitted, "source", to_text(roof.source));
    json.close();
  }
  json.close();
  if (!profile.roofs.empty()) write_measured_roofs(json, measured_roofs(profile.roofs, gpu));
  if (!host_cost_rows(profile.host).empty()) write_host_costs(json, profile.host);
  json.open_list("laws");
  for (const LawRow& row : law_rows(profile)) {
    json.open();
    write_law(json, row);
    write_held_out(json, "held_out", row.held_out);
    json.close();
  }
  json.close();
  json_list(json, "collectives", bus_rows(profile), write_bus);
  write_step_fits(json, profile);
  const RateCurve curve = rate_curve(profile, gpu);
  json.open("products_over_m");
  json.field("precision", curve.precision);
  write_points(json, "rate_flops_per_s", curve.rate);
  write_points(json, "fitted_roof_flops_per_s", curve.fitted_roof);
  write_points(json, "datasheet_roof_flops_per_s", curve.datasheet_roof);
  json.close();
  json.close();
  return json.text();
}

}  // namespace

Expected<void> calibrate_show(const Arguments& arguments, Console& console) {
  TRY(const auto chosen, choose_kernel_profile(arguments.words.at(0), "PROFILE"));
  // A file may be of a GPU that the catalogue lacks: then there is no datasheet to hold it against.
  const auto gpu = find_row(built_in().gpus, chosen.row.gpu, "gpu");
  const Gpu* known = gpu ? *gpu : nullptr;
  console.out << (arguments.has("--json") ? profile_json(chosen.row, known) : profile_text(chosen.row, known, console));
  return {};
}

}  // namespace stepcast::calibration
