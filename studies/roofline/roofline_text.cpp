// The roofline report on a terminal: a plot, the heaviest operators and collectives, where the step goes.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/quantity_text.h"
#include "studies/page/svg_text.h"
#include "studies/report/bars.h"
#include "studies/report/paint.h"
#include "studies/report/table.h"
#include "studies/report/terminal_plot.h"
#include "studies/report/text.h"
#include "studies/roofline/picture_parts.h"
#include "studies/roofline/report.h"

namespace stepcast {
namespace {

constexpr std::size_t listed_operators = 12, listed_collectives = 8, listed_dataflows = 3, listed_facts = 12;
constexpr int fall_bar_columns = 44, plotted_rows = 18;

/// Names come from files: short, and without what moves a cursor.
std::string terminal_name(std::string_view text, std::size_t most) {
  std::string name(text);
  for (char& letter : name)
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F) letter = '?';
  return svg_shortened(name, most);
}

std::string roofline_section(const Paint& paint, const std::string& name) { return "\n" + paint.bold(name) + "\n"; }

std::string roofline_headline(const RooflineReport& report, const Paint& paint) {
  const std::string first = fmt::format("Roofline of {} on {}", terminal_name(report.network, 40), terminal_name(report.machine, 40));
  const std::string interval =
      report.p90 > report.p10 ? fmt::format(" ({} to {})", format_seconds(report.p10), format_seconds(report.p90)) : "";
  return paint.bold(first) + "\n" +
         wrapped({terminal_name(report.split, 80), fmt::format("{}", to_text(report.precision)),
                  fmt::format("step {}{}", format_seconds(report.step_time), interval),
                  fmt::format("MFU {}, HFU {}", format_percent(report.fall.mfu), format_percent(report.fall.hfu))},
                 "; ", "  ", page_columns);
}

/// The fastest roof of one kind; `is_it` says which ones count.
template <typename Roof, typename Test>
const Roof* fastest_roof(const std::vector<Roof>& roofs, Test is_it) {
  const Roof* fastest = nullptr;
  for (const Roof& roof : roofs)
    if (roof.rate.value() > 0 && is_it(roof) && (!fastest || roof.rate > fastest->rate)) fastest = &roof;
  return fastest;
}

/// A slope and the flat roof on it.
struct BentRoof {
  const ComputeRoof* flat = nullptr;
  const MemoryRoof* slope = nullptr;
  [[nodiscard]] bool known() const { return flat != nullptr && slope != nullptr; }
};

BentRoof hbm_roof(const RooflineReport& report, bool measured) {
  BentRoof roof{
      fastest_roof(report.roofs.compute,
                   [&](const ComputeRoof& roof) { return roof.precision == report.precision && is_measured(roof.basis) == measured; }),
      fastest_roof(report.roofs.memory,
                   [&](const MemoryRoof& roof) { return roof.level == MemoryLevel::hbm && is_measured(roof.basis) == measured; })};
  // Where nobody timed device memory, its datasheet says how the measured roof begins.
  if (measured && roof.flat && !roof.slope) roof.slope = hbm_roof(report, false).slope;
  return roof;
}

void add_bent_roof(LogPlot& plot, const BentRoof& roof, int gap, char mark) {
  if (!roof.known()) return;
  const double flat = roof.flat->rate.value(), slope = roof.slope->rate.value(), ridge = flat / slope;
  const double low = plot.frame->x_low, high = plot.frame->x_high;
  PlotLine line{fmt::format("{} {} {} and {} {} {}; ridge {}", to_text(roof.flat->precision), format_flops(roof.flat->rate),
                            to_text(roof.flat->basis), to_text(roof.slope->level), format_rate(roof.slope->rate),
                            to_text(roof.slope->basis), flops_per_byte_text(ridge)),
                {},
                gap,
                mark};
  if (ridge > low) line.points.emplace_back(low, low * slope);
  if (ridge > low && ridge < high) line.points.emplace_back(ridge, flat);
  line.points.emplace_back(ridge > low ? high : low, ridge < high ? flat : high * slope);
  if (ridge <= low) line.points.emplace_back(high, flat);
  plot.lines.push_back(std::move(line));
}

void add_l2_slope(LogPlot& plot, const RooflineReport& report) {
  const MemoryRoof* l2 = fastest_roof(report.roofs.memory, [](const MemoryRoof& roof) { return roof.level == MemoryLevel::l2; });
  const ComputeRoof* flat = fastest_roof(report.roofs.compute, [&](const ComputeRoof& roof) { return roof.precision == report.precision; });
  if (!l2 || !flat) return;
  const double low = plot.frame->x_low, high = std::min(plot.frame->x_high, (flat->rate / l2->rate).value());
  if (high <= low) return;
  plot.lines.push_back({fmt::format("L2 {}, {}", format_rate(l2->rate), to_text(l2->basis)),
                        {{low, low * l2->rate.value()}, {high, high * l2->rate.value()}},
                        5,
                        ','});
}

std::string terminal_flops(double rate) { return format_flops(FlopsPerSecond(rate)); }

/// 'A' for the heaviest; "" beyond those that are listed.
std::string letter_of_point(std::size_t i) { return i < listed_operators ? std::string(1, static_cast<char>('A' + i)) : ""; }

std::string roofline_plot(const RooflineReport& report, const Console& console) {
  LogPlot plot;
  const Frame& frame = report.roofs.frame;
  plot.x_name = "FLOP/B";
  plot.x_text = [](double x) { return grouped_digits(x); };
  plot.y_text = terminal_flops;
  plot.frame =
      PlotFrame{std::pow(10.0, frame.x_low), std::pow(10.0, frame.x_high), std::pow(10.0, frame.y_low), std::pow(10.0, frame.y_high)};
  plot.rows = plotted_rows;
  add_l2_slope(plot, report);
  add_bent_roof(plot, hbm_roof(report, false), 2, '.');
  add_bent_roof(plot, hbm_roof(report, true), 0, '-');
  for (std::size_t i = std::min(listed_operators, report.points.size()); i-- > 0;)  // the heaviest last: over the others
    plot.letters.push_back({report.points[i].intensity(MemoryLevel::hbm), report.points[i].rate.value(), letter_of_point(i).front()});
  return plot_text(plot, console) + "  Letters: operators of the table below; where two meet, the heavier.\n";
}

/// "143", "8,000", "1.25 G".
std::string terminal_intensity(double flops_per_byte) {
  if (!(flops_per_byte > 0)) return "-";
  if (flops_per_byte >= 1e9) return fmt::format("{:.3g} G", flops_per_byte / 1e9);
  if (flops_per_byte >= 1e6) return fmt::format("{:.3g} M", flops_per_byte / 1e6);
  return grouped_digits(flops_per_byte >= 10 ? std::round(flops_per_byte) : flops_per_byte);
}

const char* short_pass(PointPass pass) {
  constexpr const char* names[] = {"fwd", "bwd", "redo", "step"};
  return names[static_cast<int>(pass)];
}

/// "8192x7168x8192".
std::string short_shape(const std::string& shape) {
  std::string text = shape;
  for (std::size_t at = text.find(" x "); at != std::string::npos; at = text.find(" x ", at)) text.replace(at, 3, "x");
  return terminal_name(text, 16);
}

std::string operators_table(const RooflineReport& report) {
  Table table({{""},
               {"operator"},
               {"pass"},
               {"share", Align::right},
               {"shape"},
               {"FLOP/B", Align::right},
               {"rate", Align::right},
               {"roof", Align::right},
               {"bound"},
               {"source"}});
  for (std::size_t i = 0; i < std::min(listed_operators, report.points.size()); ++i) {
    const OperatorPoint& point = report.points[i];
    table.add({letter_of_point(i), terminal_name(point.name, 15), short_pass(point_pass(point.pass)), format_percent(point.share),
               short_shape(point.shape), terminal_intensity(point.intensity(MemoryLevel::hbm)),
               point.flops.value() > 0 ? format_flops(point.rate) : format_rate(point.bandwidth), format_percent(point.share_of_roof),
               terminal_name(point.bound, 8), to_text(point.source)});
  }
  std::string text = table.text("  ");
  if (report.points.size() > listed_operators)
    text += fmt::format("  {} more, lighter, in the JSON and on the page\n", report.points.size() - listed_operators);
  return text;
}

std::string outside_lines(const RooflineReport& report) {
  std::string text;
  for (std::size_t i = 0; i < std::min(listed_operators, report.points.size()); ++i)
    if (!report.points[i].outside.empty())
      text += paragraph(fmt::format("{} is not in the plot: {}", letter_of_point(i), terminal_name(report.points[i].outside, 160)), "  ",
                        "    ", page_columns);
  return text;
}

/// With its pass, for the same moves come back.
std::string collective_name(const LinkPoint& point) {
  const PointPass pass = point_pass(point.pass);
  return terminal_name(point.name, 25) +
         (pass == PointPass::backward || pass == PointPass::recompute ? std::string(" ") + short_pass(pass) : "");
}

std::string collectives_table(const RooflineReport& report, const Paint& paint) {
  const auto& points = report.links.points;
  if (points.empty()) return "  this run sends nothing between GPUs\n";
  Table table({{"collective"},
               {"link"},
               {"received", Align::right},
               {"FLOP/B", Align::right},
               {"reach", Align::right},
               {"of link", Align::right},
               {"time", Align::right},
               {"exposed", Align::right}});
  for (std::size_t i = 0; i < std::min(listed_collectives, points.size()); ++i) {
    const LinkPoint& point = points[i];
    const std::string reach = format_flops(point.rate);
    table.add({collective_name(point), terminal_name(point.link, 10), format_bytes_decimal(point.bytes * point.calls),
               terminal_intensity(point.flops_per_byte), point.limits ? paint.warm(reach) : reach, format_percent(point.share_of_roof),
               format_seconds(point.time), format_percent(point.exposed_share())});
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
      parts.push_back(
          fmt::format("{} {}{}{}", terminal_name(row.outer, 20), format_bytes_decimal(row.bytes),
                      row.time.value() > 0 ? " in " + format_seconds(row.time) : "",
                      row.stationary.empty() || row.stationary == "none" ? "" : " (keeps " + terminal_name(row.stationary, 24) + ")"));
    text += fmt::format("  {}, {}: limited by {}; its multiply-adds take {} at peak\n", terminal_name(one.name, 28), pass_text(one.pass),
                        terminal_name(one.limit, 20), format_seconds(one.compute)) +
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
    const int before = step > 0 ? std::clamp(static_cast<int>(start / step * fall_bar_columns), 0, fall_bar_columns - 1) : 0;
    const std::string shown =
        step > 0 ? std::string(static_cast<std::size_t>(before), ' ') + bar(time / step, fall_bar_columns - before, console.unicode) : "";
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
                        terminal_name(lever.name, 44), terminal_name(lever.from, 16), terminal_name(lever.to, 16),
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
    for (const std::string& note : *notes) text += paragraph("note: " + terminal_name(note, 600), "", "  ", page_columns);
  std::vector<std::string> facts;
  for (const Provenance::Fact& fact : report.provenance.facts)
    if (facts.size() < listed_facts) facts.push_back(terminal_name(fact.name + " " + fact.value, 90));
  if (report.provenance.facts.size() > listed_facts)
    facts.push_back(fmt::format("{} more facts in the JSON and on the page", report.provenance.facts.size() - listed_facts));
  return text.empty() && facts.empty() ? "" : "\n" + text + wrapped(facts, "; ", "", page_columns);
}

}  // namespace

std::string roofline_text(const RooflineReport& report, const Console& console) {
  const Paint paint(console);
  std::string text = roofline_headline(report, paint) + "\n" + roofline_plot(report, console) + roofline_section(paint, "Operators") +
                     operators_table(report) + outside_lines(report) + roofline_section(paint, "Collectives") +
                     collectives_table(report, paint);
  if (!report.boundaries.empty()) text += roofline_section(paint, "Bytes of one call at every boundary") + dataflow_lines(report);
  text += roofline_section(paint, "Where the step goes") + fall_lines(report, console);
  if (const std::string levers = lever_lines(report, paint); !levers.empty())
    text += roofline_section(paint, "What would shorten it most, each alone") + levers;
  return text + note_lines(report, paint);
}

}  // namespace stepcast
