#include "studies/roofline/draw/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/base/quantity_text.h"
#include "studies/print/digits.h"
#include "studies/print/terminal_plot.h"
#include "studies/roofline/draw/picture_parts.h"
#include "studies/roofline/figures/roof_checks.h"

namespace stepcast::roofline {
namespace {

constexpr int plotted_rows = 18;

/// The fastest roof of one kind; `is_it` says which ones count.
template <typename Roof, typename Test> const Roof* fastest_roof(const std::vector<Roof>& roofs, Test is_it) {
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
  BentRoof roof{fastest_roof(report.roofs.compute,
                    [&](const ComputeRoof& roof) {
                      return roof.precision == report.precision && is_measured(roof.basis) == measured;
                    }),
      fastest_roof(report.roofs.memory, [&](const MemoryRoof& roof) {
        return roof.level == MemoryLevel::hbm && is_measured(roof.basis) == measured;
      })};
  // Where nobody timed device memory, its datasheet says how the measured roof begins.
  if (measured && roof.flat && !roof.slope) roof.slope = hbm_roof(report, false).slope;
  return roof;
}

void add_bent_roof(LogPlot& plot, const BentRoof& roof, int gap, char mark) {
  if (!roof.known()) return;
  const double flat = roof.flat->rate.value(), slope = roof.slope->rate.value(), ridge = flat / slope;
  const double low = plot.frame->x_low, high = plot.frame->x_high;
  PlotLine line{fmt::format("{} {} {} and {} {} {}; ridge {}", to_text(roof.flat->precision),
                    format_flops(roof.flat->rate), to_text(roof.flat->basis), to_text(roof.slope->level),
                    format_rate(roof.slope->rate), to_text(roof.slope->basis), flops_per_byte_text(ridge)),
      {}, gap, mark};
  if (ridge > low) line.points.emplace_back(low, low * slope);
  if (ridge > low && ridge < high) line.points.emplace_back(ridge, flat);
  line.points.emplace_back(ridge > low ? high : low, ridge < high ? flat : high * slope);
  if (ridge <= low) line.points.emplace_back(high, flat);
  plot.lines.push_back(std::move(line));
}

void add_l2_slope(LogPlot& plot, const RooflineReport& report) {
  const MemoryRoof* l2 =
      fastest_roof(report.roofs.memory, [](const MemoryRoof& roof) { return roof.level == MemoryLevel::l2; });
  const ComputeRoof* flat =
      fastest_roof(report.roofs.compute, [&](const ComputeRoof& roof) { return roof.precision == report.precision; });
  if (!l2 || !flat) return;
  const double low = plot.frame->x_low, high = std::min(plot.frame->x_high, (flat->rate / l2->rate).value());
  if (high <= low) return;
  plot.lines.push_back({fmt::format("L2 {}, {}", format_rate(l2->rate), to_text(l2->basis)),
      {{low, low * l2->rate.value()}, {high, high * l2->rate.value()}}, 5, ','});
}

std::string terminal_flops(double rate) { return format_flops(FlopsPerSecond(rate)); }

}  // namespace

std::string letter_of_point(std::size_t i) {
  return i < listed_operators ? std::string(1, static_cast<char>('A' + i)) : "";
}

std::string roofline_plot(const RooflineReport& report, const Console& console) {
  LogPlot plot;
  const Frame& frame = report.roofs.frame;
  plot.x_name = "FLOP/B";
  plot.x_text = [](double x) { return grouped_digits(x); };
  plot.y_text = terminal_flops;
  plot.frame = PlotFrame{std::pow(10.0, frame.x_low), std::pow(10.0, frame.x_high), std::pow(10.0, frame.y_low),
      std::pow(10.0, frame.y_high)};
  plot.rows = plotted_rows;
  add_l2_slope(plot, report);
  add_bent_roof(plot, hbm_roof(report, false), 2, '.');
  add_bent_roof(plot, hbm_roof(report, true), 0, '-');
  // the heaviest last: over the others
  for (std::size_t i = std::min(listed_operators, report.points.size()); i-- > 0;)
    plot.letters.push_back(
        {report.points[i].intensity(MemoryLevel::hbm), report.points[i].rate.value(), letter_of_point(i).front()});
  return plot_text(plot, console) + "  Letters: operators of the table below; where two meet, the heavier.\n";
}

}  // namespace stepcast::roofline
