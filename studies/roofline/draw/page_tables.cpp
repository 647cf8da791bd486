#include "studies/roofline/draw/page_tables.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/page/html_text.h"
#include "studies/roofline/draw/picture_parts.h"
#include "studies/roofline/figures/roof_checks.h"

namespace stepcast::roofline {
namespace {

const std::string no_figure = "\u2013";  // a dash: there is no such figure

std::string calls_text(double calls) {
  return calls == static_cast<double>(static_cast<std::int64_t>(calls)) ? html_count(calls)
                                                                        : fmt::format("{:.2f}", calls);
}
std::string known_rate(FlopsPerSecond rate) { return rate.value() > 0 ? format_flops(rate) : no_figure; }
std::string known_intensity(double value) { return value > 0 ? table_intensity(value) : no_figure; }

/// "layer mlp.up", but neither "head head" nor "mtp_head mtp.head".
std::string operator_words(const std::string& block, const std::string& name) {
  std::string plain = name + ' ';
  std::replace(plain.begin(), plain.end(), '.', '_');
  return html_escaped(plain.starts_with(block + ' ') ? name : block + ' ' + name);
}

const char* passes_for_people(Pass pass) {
  constexpr const char* names[] = {"forward", "recompute", "backward, input", "backward, weights", "step"};
  return names[static_cast<int>(pass)];
}

/// "0.412 to 0.467 ms" would be two units; an interval is told as percent around the forecast.
std::string interval_text(const Spread& spread) {
  return fmt::format("{:+.0f} to {:+.0f} %", 100 * (spread.p10 - 1), 100 * (spread.p90 - 1));
}

/// "1.02 ms (+4.2 % forecast)": what was timed, and how the forecast lies to it.
std::string timed_text(const OperatorPoint& point) {
  if (!point.measured || point.measured->time.value() <= 0) return no_figure;
  return fmt::format("{} ({} forecast)", format_seconds(point.measured->time),
      html_signed_percent(point.time / point.measured->time - 1));
}

/// A warning or a flag beside the law that the time comes from.
std::string point_source(const OperatorPoint& point) {
  std::string text = fmt::format("{}: {}", to_text(point.source), point.law);
  if (point.extrapolated) text += "; beyond what was measured";
  if (!point.outside.empty()) text += "; " + point.outside;
  text = html_escaped(text);
  return point.warning.empty() ? text : text + " <b class=\"warn\">above a roof</b>";
}

std::vector<std::string> kernel_row(const OperatorPoint& point, bool has_measured) {
  std::vector<std::string> cells = {operator_words(point.block, point.name), html_percent(point.share),
      point_kind_name(point.kind), passes_for_people(point.pass), html_escaped(point.shape), to_text(point.precision),
      known_intensity(point.intensity(MemoryLevel::hbm)), known_intensity(point.intensity(MemoryLevel::l2)),
      known_rate(point.rate), format_rate(point.bandwidth), html_percent(point.share_of_roof),
      html_escaped(point.bound), calls_text(point.calls), format_seconds(point.time), interval_text(point.spread),
      format_seconds(point.total())};
  if (has_measured) cells.push_back(timed_text(point));
  cells.push_back(point_source(point));
  return cells;
}

bool any_measured(const RooflineReport& report) {
  for (const OperatorPoint& point : report.points)
    if (point.measured) return true;
  return false;
}

std::string move_source(const LinkPoint& point) {
  std::string text = fmt::format("{}: {}", to_text(point.source), point.law);
  for (const std::string* more : {&point.because, &point.outside})
    if (!more->empty()) text += "; " + *more;
  text = html_escaped(text);
  return point.warning.empty() ? text : text + " <b class=\"warn\">above its roof</b>";
}

std::vector<std::string> network_row(const LinkPoint& point) {
  return {html_escaped(point.name), format_seconds(point.time), html_percent(point.exposed_share()),
      html_escaped(point.axis), html_escaped(point.link), html_count(static_cast<double>(point.group_size)),
      passes_for_people(point.pass), calls_text(point.calls), format_bytes_decimal(point.bytes),
      format_seconds(point.latency), known_intensity(point.flops_per_byte), known_rate(point.rate),
      format_rate(point.bus), html_percent(point.share_of_roof), html_escaped(point.bound), move_source(point)};
}

std::string limit_words(const BoundaryRow& row) { return row.limits ? "<b>limits</b>" : ""; }

std::vector<std::string> boundary_cells(const OperatorBoundaries& one, const BoundaryRow& row) {
  const bool is_rated = row.rate.value() > 0;
  return {operator_words(one.block, one.name), passes_for_people(one.pass),
      html_escaped(row.outer + " to " + row.inner), format_bytes_decimal(row.bytes),
      known_intensity(row.flops_per_byte), is_rated ? table_intensity(row.ridge) : no_figure,
      is_rated ? format_rate(row.rate) : no_figure, is_rated ? to_text(row.basis) : no_figure,
      row.time.value() > 0 ? format_seconds(row.time) : no_figure, format_seconds(one.compute), limit_words(row),
      html_escaped(row.stationary), html_escaped(row.text)};
}

}  // namespace

std::string table_intensity(double value) {
  if (value >= 999.5e3) return large_intensity(value);
  if (value >= 999.5) return html_count(value);
  return fmt::format("{:.{}f}", value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.9995 ? 2 : 3);
}

std::string kernel_table(const RooflineReport& report) {
  const bool has_measured = any_measured(report);
  std::vector<HtmlColumn> columns = {{"operator", CellKind::word},
      {"share", CellKind::number, "of the step: calls x time over the step time, on a rank of the slowest stage"},
      {"kind", CellKind::word}, {"pass", CellKind::word}, {"shape", CellKind::word},
      {"type", CellKind::word, "the number type whose peak limits it"},
      {"FLOP/B, HBM", CellKind::number, "FLOPs over bytes between HBM and L2"},
      {"FLOP/B, L2", CellKind::number, "FLOPs over bytes between L2 and the multiprocessors"}, {"rate"}, {"HBM rate"},
      {"of its roof", CellKind::number,
          "rate over the datasheet's roof at its HBM intensity; without FLOPs bandwidth over the datasheet's"},
      {"bound", CellKind::word}, {"calls", CellKind::number, "per step"}, {"one call"},
      {"10th to 90th", CellKind::number, "percentiles of one call's time, around the forecast"}, {"in the step"}};
  if (has_measured)
    columns.push_back(
        {"measured", CellKind::number, "median of the timed calls, and how far the forecast lies from it"});
  columns.push_back({"time from", CellKind::text});
  HtmlTable table("Operators of the step", columns);
  for (const OperatorPoint& point : report.points) table.row(kernel_row(point, has_measured));
  return table.empty() ? "" : table.text();
}

std::string loose_table(const RooflineReport& report) {
  HtmlTable table("Timed kernels that are no operator of this run",
      {{"kernel", CellKind::word}, {"shape", CellKind::word}, {"type", CellKind::word}, {"FLOP/B, HBM"}, {"rate"},
          {"of its roof"}, {"time"}, {"source", CellKind::text}});
  for (const LoosePoint& point : report.loose)
    table.row({html_escaped(point.kind), html_escaped(point.shape), to_text(point.precision),
        known_intensity(point.flops_per_byte), known_rate(point.rate), html_percent(point.share_of_roof),
        format_seconds(point.time),
        html_escaped(point.source) + (point.warning.empty() ? "" : " <b class=\"warn\">above a roof</b>")});
  return table.empty() ? "" : table.text();
}

std::string roof_table(const RooflineReport& report) {
  HtmlTable table("Roofs", {{"roof", CellKind::word}, {"basis", CellKind::word}, {"rate"}, {"from", CellKind::text}});
  for (const ComputeRoof& roof : report.roofs.compute)
    table.row({to_text(roof.precision), basis_text(roof), format_flops(roof.rate), html_escaped(roof.from)});
  for (const MemoryRoof& roof : report.roofs.memory)
    table.row({to_text(roof.level), to_text(roof.basis), format_rate(roof.rate), html_escaped(roof.from)});
  for (const LinkRoof& roof : report.links.roofs)
    table.row({html_escaped(roof.name), to_text(roof.basis), format_rate(roof.rate), html_escaped(roof.from)});
  return table.empty() ? "" : table.text();
}

std::string network_table(const RooflineReport& report) {
  HtmlTable table("Collectives and sends of the step",
      {{"move", CellKind::word}, {"in the step"}, {"exposed", CellKind::number, "of it, not hidden behind compute"},
          {"axis", CellKind::word}, {"link", CellKind::word}, {"GPUs"}, {"pass", CellKind::word},
          {"calls", CellKind::number, "per step"}, {"one call receives"},
          {"latency", CellKind::number, "of one call of almost no bytes"},
          {"FLOP/B", CellKind::number,
              "FLOPs of the rank per byte that this move brings over its link: a ring enters a node of several members "
              "once for all"},
          {"reachable", CellKind::number, "FLOP/s if this move were the only limit"},
          {"rate", CellKind::number, "bytes over the link, per GPU, over time"},
          {"of its roof", CellKind::number, "of the link's datasheet rate"}, {"bound", CellKind::word},
          {"why", CellKind::text}});
  for (const LinkPoint& point : report.links.points) table.row(network_row(point));
  return table.empty() ? "" : table.text();
}

std::string boundaries_table(const RooflineReport& report) {
  HtmlTable table("Operators at every boundary that their data cross",
      {{"operator", CellKind::word}, {"pass", CellKind::word}, {"boundary", CellKind::word},
          {"bytes", CellKind::number, "that cross in one call"}, {"FLOP/B"},
          {"ridge", CellKind::number, "FLOP/B from which on this boundary does not limit"}, {"rate"},
          {"basis", CellKind::word}, {"time"}, {"compute", CellKind::number, "its FLOPs at the datasheet's peak"},
          {"", CellKind::word}, {"stationary", CellKind::word, "tensors that stay inside"}, {"how", CellKind::text}});
  for (const OperatorBoundaries& one : report.boundaries)
    for (const BoundaryRow& row : one.rows) table.row(boundary_cells(one, row));
  return table.empty() ? "" : table.text();
}

std::string waterfall_table(const RooflineReport& report) {
  HtmlTable table(
      "Where the step goes", {{"part", CellKind::word}, {"time"}, {"of the step"}, {"what it is", CellKind::text}});
  const double step = report.fall.step_time.value();
  for (const WaterfallBar& bar : report.fall.bars)
    table.row({html_escaped(bar.name), format_seconds(bar.time),
        step > 0 ? html_percent(bar.time.value() / step) : no_figure, html_escaped(bar.about)});
  return table.empty() ? "" : table.text();
}

std::string lever_table(const RooflineReport& report) {
  HtmlTable table("The biggest levers", {{"change", CellKind::word}, {"gain", CellKind::number, "of the step time"},
                                            {"from", CellKind::word}, {"to", CellKind::word}, {"step before"},
                                            {"step after"}, {"of", CellKind::word}, {"changes most", CellKind::word}});
  for (const Lever& lever : report.fall.levers)
    table.row({html_escaped(lever.name) + (lever.fits ? "" : " <b class=\"warn\">does not fit</b>"),
        html_percent(lever.gain), html_escaped(lever.from), html_escaped(lever.to), format_seconds(lever.before),
        format_seconds(lever.after), lever.of_machine ? "machine" : "plan", html_escaped(lever.phase)});
  return table.empty() ? "" : table.text();
}

}  // namespace stepcast::roofline
