#include "studies/calibrate/print/profile_figures.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/profile/kernel_law.h"
#include "model/base/quantity_text.h"
#include "studies/print/terminal_plot.h"

namespace stepcast::calibration {
namespace {

constexpr double plotted_width = 4096, largest_m = 32768;

std::string rate_tick(double value) { return format_flops(FlopsPerSecond(value)); }
std::string m_tick(double value) { return fmt::format("{:.0f}", value); }

double roof_at(const GemmQuery& query, double compute, double memory) {
  return std::min(compute, memory * flops_of(query).value() / bytes_of(query).value());
}

}  // namespace

std::vector<LawRoof> roofs_of(const Profile& profile, const Gpu* gpu) {
  std::vector<LawRoof> roofs;
  for (const RooflineLaw& law : profile.gemm)
    roofs.push_back(
        {fmt::format("{}{}", to_text(law.precision), law.block_scaled ? " block-scaled" : ""), "flops_per_s",
            gpu != nullptr ? gpu->peak[static_cast<int>(law.precision)].value() : 0, law.compute.value(), law.source});
  roofs.push_back({"device memory", "bytes_per_s", gpu != nullptr ? gpu->memory_bandwidth.value() : 0,
      profile.memory.memory.value(), profile.memory.source});
  return roofs;
}

std::vector<BusRow> bus_rows(const Profile& profile) {
  std::vector<BusRow> rows;
  for (const CollectiveCurve& curve : profile.collectives) {
    BusRow row{&curve, {}};
    for (const double size : bus_sizes) {
      const Bytes received = Bytes(size) * received_share(curve.kind, curve.ranks);
      row.bus.push_back(received / curve_time(curve, received));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

RateCurve rate_curve(const Profile& profile, const Gpu* gpu) {
  RateCurve curve;
  const RooflineLaw* law = find_gemm(profile, Precision::bf16);
  if (law == nullptr) law = find_gemm(profile, Precision::fp16);
  if (law == nullptr) return curve;
  curve.precision = to_text(law->precision);
  const double peak = gpu != nullptr ? gpu->peak[static_cast<int>(law->precision)].value() : 0;
  for (double m = 1; m <= largest_m; m *= 2) {
    const GemmQuery query{.m = m, .n = plotted_width, .k = plotted_width, .precision = law->precision};
    curve.rate.emplace_back(m, (flops_of(query) / gemm_time(*law, profile.units, query).time).value());
    curve.fitted_roof.emplace_back(m, roof_at(query, law->compute.value(), law->memory.value()));
    if (peak > 0) curve.datasheet_roof.emplace_back(m, roof_at(query, peak, gpu->memory_bandwidth.value()));
  }
  return curve;
}

std::string rate_plot(const RateCurve& curve, const Console& console) {
  LogPlot plot;
  plot.x_name = "m";
  plot.x_text = m_tick;
  plot.y_text = rate_tick;
  if (!curve.datasheet_roof.empty()) plot.lines.push_back({"roof of the datasheet", curve.datasheet_roof, 3, '.'});
  plot.lines.push_back({"roof as fitted", curve.fitted_roof, 1, '-'});
  plot.lines.push_back(
      {fmt::format("{} products, n = k = {:.0f}", curve.precision, plotted_width), curve.rate, 0, '*'});
  return plot_text(plot, console);
}

}  // namespace stepcast::calibration
