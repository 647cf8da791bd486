#include "studies/calibrate/print/measure_report.h"

#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "studies/calibrate/print/calibrate_report.h"
#include "studies/calibrate/print/measured_roofs.h"
#include "studies/print/paint.h"
#include "studies/calibrate/print/profile_laws.h"
#include "studies/print/table.h"
#include "studies/print/json_fields.h"

namespace stepcast::calibration {
namespace {

std::vector<MeasuredRoof> roofs_with_places(const Verdict& verdict, const Gpu& gpu) {
  std::vector<Roof> roofs;
  for (const RoofVerdict& row : verdict.roofs) roofs.push_back(row.roof);
  std::vector<MeasuredRoof> out = measured_roofs(roofs, &gpu);
  for (MeasuredRoof& roof : out)
    for (const RoofVerdict& row : verdict.roofs)
      if (row.roof.of == roof.of && (roof.at.empty() || row.roof.regime == "burst")) roof.at = row.seen_at;
  return out;
}

bool counts_bytes(const KernelShare& kernel) {
  return kernel.roof.starts_with("hbm ") || !kernel.kernel.starts_with("attention ");
}

std::string kernel_rate(const KernelShare& kernel) {
  return counts_bytes(kernel) ? format_rate(BytesPerSecond(kernel.rate)) : format_flops(FlopsPerSecond(kernel.rate));
}

/// Narrower terminals are not told at which sizes; --json is.
constexpr std::size_t columns_for_places = 100;

std::string kernels_text(const std::vector<KernelShare>& kernels, bool places) {
  std::vector<Table::Column> columns{{""}, {"rate", Align::right}, {"share", Align::right}, {"of"}};
  if (places) columns.push_back({"at"});
  Table table(std::move(columns));
  for (const KernelShare& kernel : kernels) {
    std::vector<std::string> cells{kernel.kernel, kernel_rate(kernel),
        kernel.share > 0 ? fmt::format("{:.0f} %", 100 * kernel.share) : "-", kernel.roof.empty() ? "-" : kernel.roof};
    if (places) cells.push_back(kernel.at);
    table.add(std::move(cells));
  }
  return table.text("  ");
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string behaviour_text(const Verdict& verdict, std::size_t columns) {
  std::string text;
  for (const SlowdownVerdict& slowdown : verdict.slowdowns) {
    text += fmt::format("  {}: {:.3f} times as long ({})", slowdown.what, slowdown.factor,
        counted(static_cast<std::size_t>(slowdown.samples), "sample"));
    const bool sustained = slowdown.what == sustained_law_name;
    if (sustained && verdict.time_constant.value() > 0)
      text += fmt::format(", 63 % of it after {}", format_seconds(verdict.time_constant));
    text += "\n";
  }
  if (verdict.repeats > 0)
    text += fmt::format("  drift: {} in the median of {} timed early and late\n", format_percent(verdict.drift),
        counted(static_cast<std::size_t>(verdict.repeats), "work"));
  if (const std::string host = host_costs_text(verdict.host); !host.empty())
    text += paragraph(host, "  starting work: ", std::string(17, ' '), columns);
  return text;
}

std::string distrust_text(const Verdict& verdict, const Paint& paint, std::size_t columns) {
  if (verdict.distrust.empty()) return paint.good("  nothing: no figure stands out") + "\n";
  std::string text;
  for (const std::string& line : verdict.distrust) text += paragraph(line, "  - ", "    ", columns);
  return text;
}

std::string head_text(const MeasureReport& report, const Paint& paint, std::size_t columns) {
  const Verdict& verdict = report.verdict;
  std::string text = fmt::format("{}: {} measurements", paint.bold(report.gpu.name), verdict.rows);
  if (verdict.resumed > 0) text += fmt::format(", {} of an earlier campaign", counted(verdict.resumed, "work"));
  if (!verdict.throttled.empty()) text += fmt::format(", {} throttled", verdict.throttled.size());
  if (!verdict.skipped.empty()) text += fmt::format(", {} not measured", counted(verdict.skipped.size(), "work"));
  return paragraph(text, "", "", columns);
}

void write_kernel(JsonWriter& json, const KernelShare& kernel) {
  json.open();
  json.fields("kernel", kernel.kernel, counts_bytes(kernel) ? "rate_bytes_per_s" : "rate_flops_per_s", kernel.rate);
  if (kernel.share > 0) json.field("share", kernel.share);
  if (kernel.share > 0) json.field("roof", kernel.roof);
  json.field("at", kernel.at);
  json.close();
}

void write_fit(JsonWriter& json, const LawFit& fit) {
  json.open();
  json.fields("law", fit.law, "software", fit.software, "samples", fit.samples, "bias", fit.bias);
  write_held_out(json, "held_out", fit.held_out);
  if (fit.training.samples > 0) write_held_out(json, "held_out_training_size", fit.training);
  write_layouts(json, fit);
  json.close();
}

void write_slowdowns(JsonWriter& json, const Verdict& verdict) {
  json.open_list("slowdowns");
  for (const SlowdownVerdict& slowdown : verdict.slowdowns)
    json.row("what", slowdown.what, "factor", slowdown.factor, "samples", slowdown.samples);
  json.close();
  if (verdict.sustained_slowdown > 0) json.field("sustained_slowdown", verdict.sustained_slowdown);
  if (verdict.time_constant.value() > 0) json.base_field("sustained_time_constant_s", verdict.time_constant);
  if (verdict.repeats > 0) json.field("drift", verdict.drift);
  json.field("repeats", verdict.repeats);
}

}  // namespace

std::string measure_report(const MeasureReport& report, const Console& console) {
  const Paint paint(console);
  const auto columns = static_cast<std::size_t>(console.columns);
  const Verdict& verdict = report.verdict;
  const auto heading = [&](const char* name) { return fmt::format("\n{}\n\n", paint.bold(name)); };
  std::string text = head_text(report, paint, columns);
  const bool places = columns >= columns_for_places;
  if (std::vector<MeasuredRoof> roofs = roofs_with_places(verdict, report.gpu); !roofs.empty()) {
    if (!places)
      for (MeasuredRoof& roof : roofs) roof.at.clear();
    text += heading("Roofs") + measured_roofs_table(roofs).text("  ");
  }
  if (!verdict.kernels.empty())
    text += heading("Kernels, each at its best size") + kernels_text(verdict.kernels, places);
  if (!verdict.laws.empty())
    text += heading("Laws, by what they forecast of shapes held out") + error_table(verdict.laws).text("  ");
  if (const std::string behaviour = behaviour_text(verdict, columns); !behaviour.empty())
    text += heading("Under load") + behaviour;
  text += heading("What to distrust") + distrust_text(verdict, paint, columns);
  text += fmt::format("\n  measurements are in {}\n", report.output);
  if (!report.profile.empty())
    text += fmt::format("  the profile {} is in {}\n", report.fitted.profile.id, report.profile);
  return text;
}

std::string measure_json(const MeasureReport& report) {
  const Verdict& verdict = report.verdict;
  JsonWriter json;
  json.open();
  json.fields("gpu", report.gpu.id, "output", report.output, "profile",
      report.profile.empty() ? "" : report.fitted.profile.id, "profile_file", report.profile, "measurements",
      verdict.rows, "resumed", verdict.resumed, "finished", report.result.finished, "ended_by", report.result.ended_by);
  write_measured_roofs(json, roofs_with_places(verdict, report.gpu));
  json_list(json, "kernels", verdict.kernels, write_kernel);
  json_list(json, "laws", verdict.laws, write_fit);
  write_slowdowns(json, verdict);
  write_host_costs(json, verdict.host);
  json.field("throttled", verdict.throttled);
  json.open_list("not_measured");
  for (const NotMeasured& skipped : verdict.skipped) json.row("work", skipped.work, "why", skipped.why);
  json.close();
  json.fields("distrust", verdict.distrust, "notes", report.fitted.notes);
  json.close();
  return json.text();
}

}  // namespace stepcast::calibration
