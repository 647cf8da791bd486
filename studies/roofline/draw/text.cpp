// The roofline report on a terminal: a plot, the heaviest operators and collectives, where the step goes.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/digits.h"
#include "studies/print/page/svg_text.h"
#include "studies/print/bars.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"
#include "studies/roofline/draw/picture_parts.h"
#include "studies/roofline/draw/plot.h"
#include "studies/roofline/figures/roof_checks.h"
#include "studies/roofline/report.h"

namespace stepcast::roofline {
namespace {

constexpr std::size_t listed_collectives = 8, listed_dataflows = 3, listed_facts = 12;
constexpr int fall_bar_columns = 44;

/// Names come from files: short, and without what moves a cursor.
std::string terminal_name(std::string_view text, std::size_t most) {
  std::string name(text);
  for (char& letter : name)
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F) letter = '?';
  return svg_shortened(name, most);
}

std::string roofline_section(const Paint& paint, const std::string& name) { return "\n" + paint.bold(name) + "\n"; }

std::string roofline_headline(const RooflineReport& report, const Paint& paint) {
  const std::string first =
      fmt::format("Roofline of {} on {}", terminal_name(report.network, 40), terminal_name(report.machine, 40));
  const std::string interval =
      report.p90 > report.p10 ? fmt::format(" ({} to {})", format_seconds(report.p10), format_seconds(report.p90)) : "";
  const std::string verdict = report.too_much.empty() ? "" : "  " + paint.bad(report.too_much) + "\n";
  return paint.bold(first) + "\n" + verdict +
         wrapped({terminal_name(report.split, 80), fmt::format("{}", to_text(report.precision)),
                     fmt::format("step {}{}", format_seconds(report.step_time), interval),
                     fmt::format("MFU {}, HFU {}", format_percent(report.fall.mfu), format_percent(report.fall.hfu)),
                     attention_words(report.fall)},
             "; ", "  ", page_columns);
}

/// "143", "8,000", "1.25 G".
std::string terminal_intensity(double flops_per_byte) {
  if (!(flops_per_byte > 0)) return "-";
  if (flops_per_byte >= 999.5e3) return large_intensity(flops_per_byte);
  return grouped_digits(flops_per_byte);
}

const char* short_pass(PointPass pass) {
  constexpr const char* names[] = {"fwd", "bwd", "redo", "step"};
  return names[static_cast<int>(pass)];
}

/// "8192x7168x8192".
std::string short_shape(const std::string& shape) {
  std::string text = shape;
  for (std::size_t at = text.find(" x "); at != std::string::npos; at = text.find(" x ", at)) text.replace(at, 3, "x");
  return terminal_name(text, 20);
}

bool was_timed(const OperatorPoint& point) { return point.measured.has_value(); }

/// As rate, of what was timed of the same shape.
std::string measured_rate(const OperatorPoint& point) {
  if (!point.measured) return "-";
  if (point.flops.value() > 0) return format_flops(point.measured->rate);
  return point.measured->time.value() > 0 ? format_rate(point.hbm / point.measured->time) : "-";
}

/// What --measured brought: operators of this run, and kernels that are none.
std::string timed_lines(const RooflineReport& report) {
  const auto timed = std::count_if(report.points.begin(), report.points.end(), was_timed);
  if (timed == 0 && report.loose.empty()) return "";
  return paragraph(fmt::format("measured: {} of {} operators; {} timed shapes are no operator of this run", timed,
                       report.points.size(), report.loose.size()),
      "  ", "    ", page_columns);
}

/// The source makes room for what was timed, where anything was.
std::string operators_table(const RooflineReport& report) {
  const bool timed = std::any_of(report.points.begin(), report.points.end(), was_timed);
  Table table({{""}, {"operator"}, {"pass"}, {"share", Align::right}, {"shape"}, {"FLOP/B", Align::right},
      {"rate", Align::right}, {"roof", Align::right}, {"bound"},
      timed ? Table::Column{"measured", Align::right} : Table::Column{"source"}});
  for (std::size_t i = 0; i < std::min(listed_operators, report.points.size()); ++i) {
    const OperatorPoint& point = report.points[i];
    table.add({letter_of_point(i), terminal_name(point.name, timed ? 13 : 14), short_pass(point_pass(point.pass)),
        format_percent(point.share), short_shape(point.shape), terminal_intensity(point.intensity(MemoryLevel::hbm)),
        point.flops.value() > 0 ? format_flops(point.rate) : format_rate(point.bandwidth),
        format_percent(point.share_of_roof), terminal_name(point.bound, 8),
        timed ? measured_rate(point) : terminal_name(to_text(point.source), 9)});
  }
  std::string text = table.text("  ");
  if (report.points.size() > listed_operators)
    text += fmt::format("  {} more, lighter, in the JSON and on the page\n", report.points.size() - listed_operators);
  return text + timed_lines(report);
}

std::string outside_lines(const RooflineReport& report) {
  std::string text;
  for (std::size_t i = 0; i < std::min(listed_operators, report.points.size()); ++i)
    if (!report.points[i].outside.empty())
      text += paragraph(
          fmt::format("{} is not in the plot: {}", letter_of_point(i), terminal_name(report.points[i].outside, 160)),
          "  ", "    ", page_columns);
  return text;
}

/// With its pass, for the same moves come back.
std::string collective_name(const LinkPoint& point) {
  const PointPass pass = point_pass(point.pass);
  return terminal_name(point.name, 25) +
         (pass == PointPass::backward || pass == PointPass::recompute ? std::string(" ") + short_pass(pass) : "");
}

std::string terminal_collectives(const RooflineReport& report, const Paint& paint) {
  const auto& points = report.links.points;
  if (points.empty()) return "  this run sends nothing between GPUs\n";
  Table table({{"collective"}, {"link"}, {"received", Align::right}, {"FLOP/B", Align::right}, {"reach", Align::right},
      {"of link", Align::right}, {"time", Align::right}, {"exposed", Align::right}});
  for (std::size_t i = 0; i < std::min(listed_collectives, points.size()); ++i) {
    const LinkPoint& point = points[i];
    const std::string reach = format_flops(point.rate);
    table.add({collective_name(point), terminal_name(point.link, 10), format_bytes_decimal(point.bytes * point.calls),
        terminal_intensity(point.flops_per_byte), point.limits ? paint.warm(reach) : reach,
        format_percent(point.share_of_roof), format_seconds(point.time), format_percent(point.exposed_share())});
  }
  std::string text = table.text("  ");
  if (points.size() > listed_collectives)
    text += fmt::format("  {} more, shorter, in the JSON and on the page\n", points.size() - listed_collectives);
  for (const LinkRoof& roof : report.links.roofs)
    text += fmt::format("  {}: {}, {}\n", terminal_name(roof.name, 40), format_rate(roof.rate), to_text(roof.basis));
  return text + fmt::format("  compute reaches {} (datasheet); what reaches less stops the step unless it is hidden\n",
                    format_flops(report.links.peak));
}

std::string dataflow_lines(const RooflineReport& report) {
  std::string text;
  for (std::size_t i = 0; i < std::min(listed_dataflows, report.boundaries.size()); ++i) {
    const OperatorBoundaries& one = report.boundaries[i];
    std::vector<std::string> parts;
    for (const BoundaryRow& row : one.rows)
      parts.push_back(fmt::format("{} {}{}{}{}", terminal_name(row.outer, 20), format_bytes_decimal(row.bytes),
          row.time.value() > 0 ? " in " + format_seconds(row.time) : "",
          row.time.value() > 0 && row.basis == RoofBasis::assumed ? " (assumed)" : "",
          row.stationary.empty() || row.stationary == "none" ? ""
                                                             : " (keeps " + terminal_name(row.stationary, 24) + ")"));
    text += fmt::format("  {}, {}: limited by {}; its multiply-adds take {} at peak\n", terminal_name(one.name, 28),
                pass_text(one.pass), terminal_name(one.limit, 20), format_seconds(one.compute)) +
            wrapped(parts, "; ", "    ", page_columns);
  }
  return text;
}

std::string fall_lines(const RooflineReport& report, const Console& console) {
  const double step = report.fall.step_time.value();
  Table table({{""}, {""}, {"", Align::right}, {"", Align::right}});
  double start = 0;
  for (const WaterfallBar& one : report.fall.bars) {
    const double time = one.time.value() > 1e-12 ? one.time.value() : 0;  // less is the rounding of a difference
    const int before =
        step > 0 ? std::clamp(static_cast<int>(start / step * fall_bar_columns), 0, fall_bar_columns - 1) : 0;
    const std::string shown = step > 0 ? std::string(static_cast<std::size_t>(before), ' ') +
                                             bar(time / step, fall_bar_columns - before, console.unicode)
                                       : "";
    table.add({terminal_name(one.name, 32), time > 0 ? shown : "", time > 0 ? format_seconds(one.time) : "0 s",
        step > 0 ? format_percent(time / step) : ""});
    start += time;
  }
  return table.text("  ");
}

std::string lever_lines(const RooflineReport& report, const Paint& paint) {
  std::string text;
  for (const Lever& lever : report.fall.levers)
    text += fmt::format("  {}  {}: {} to {}; the step takes {}{}\n", paint.good("-" + format_percent(lever.gain)),
        terminal_name(lever.name, 44), terminal_name(lever.from, 24), terminal_name(lever.to, 24),
        format_seconds(lever.after), lever.fits ? "" : ", does not fit in memory");
  if (report.fall.levers.empty() && !report.fall.levers_missing.empty())
    text = paragraph("none: " + terminal_name(report.fall.levers_missing, 300), "  ", "  ", page_columns);
  return text;
}

std::string note_lines(const RooflineReport& report, const Paint& paint) {
  std::string text;
  for (const std::string& warning : report.warnings)
    text += paint.warm("warning: ") + paragraph(terminal_name(warning, 600), "", "  ", page_columns - 9);
  for (const std::vector<std::string>* notes : {&report.roofs.notes, &report.links.notes})
    for (const std::string& note : *notes)
      text += paragraph("note: " + terminal_name(note, 600), "", "  ", page_columns);
  std::vector<std::string> facts;
  for (const Provenance::Fact& fact : report.provenance.facts)
    if (facts.size() < listed_facts) facts.push_back(terminal_name(fact.name + " " + fact.value, 90));
  if (report.provenance.facts.size() > listed_facts)
    facts.push_back(
        fmt::format("{} more facts in the JSON and on the page", report.provenance.facts.size() - listed_facts));
  return text.empty() && facts.empty() ? "" : "\n" + text + wrapped(facts, "; ", "", page_columns);
}

}  // namespace

std::string roofline_text(const RooflineReport& report, const Console& console) {
  const Paint paint(console);
  std::string text = roofline_headline(report, paint) + "\n" + roofline_plot(report, console) +
                     roofline_section(paint, "Operators") + operators_table(report) + outside_lines(report) +
                     roofline_section(paint, "Collectives") + terminal_collectives(report, paint);
  if (!report.boundaries.empty())
    text += roofline_section(paint, "Bytes of one call at every boundary") + dataflow_lines(report);
  text += roofline_section(paint, "Where the step goes") + fall_lines(report, console);
  if (const std::string levers = lever_lines(report, paint); !levers.empty())
    text += roofline_section(paint, "What would shorten it most, each alone") + levers;
  return text + note_lines(report, paint);
}

}  // namespace stepcast::roofline
