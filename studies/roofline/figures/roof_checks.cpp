#include "studies/roofline/figures/roof_checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/page/html_text.h"

namespace stepcast::roofline {

std::string large_intensity(double flops_per_byte) {
  const char* letter = "kMGTPE";
  double value = flops_per_byte / 1e3;
  for (; value >= 999.5 && letter[1] != 0; value /= 1e3) ++letter;
  return fmt::format("{:.3g} {}", value, *letter);
}

std::string flops_per_byte_text(double flops_per_byte) {
  if (flops_per_byte < 99.95) return fmt::format("{:.3g} FLOP/B", flops_per_byte);
  const double step = std::pow(10.0, std::floor(std::log10(flops_per_byte)) - 2);
  return html_count(std::round(flops_per_byte / step) * step) + " FLOP/B";
}
namespace {

constexpr double above_tolerance = 1.01;

/// Peak and bandwidth of one basis; 0 = not known.
struct RoofPair {
  double peak = 0, bandwidth = 0;
};

RoofPair roof_pair(const Roofs& roofs, RoofBasis basis, Precision precision) {
  RoofPair pair;
  for (const ComputeRoof& roof : roofs.compute)
    if (roof.basis == basis && roof.precision == precision) pair.peak = std::max(pair.peak, roof.rate.value());
  for (const MemoryRoof& roof : roofs.memory)
    if (roof.basis == basis && roof.level == MemoryLevel::hbm)
      pair.bandwidth = std::max(pair.bandwidth, roof.rate.value());
  return pair;
}

/// The point over the lower of the roofs that are known, and that roof in words.
struct OverRoof {
  double ratio = 0;
  std::string roof;
};

OverRoof over_roof(const RoofPair& pair, const RoofPoint& point) {
  if (!(point.rate.value() > 0)) {
    if (!(pair.bandwidth > 0)) return {};
    return {point.bandwidth.value() / pair.bandwidth, format_rate(BytesPerSecond(pair.bandwidth))};
  }
  double roof = std::numeric_limits<double>::infinity();
  if (pair.peak > 0) roof = pair.peak;
  if (pair.bandwidth > 0) roof = std::min(roof, pair.bandwidth * point.flops_per_byte);
  if (!std::isfinite(roof) || !(roof > 0)) return {};
  return {point.rate.value() / roof,
      fmt::format("{} at {}", format_flops(FlopsPerSecond(roof)), flops_per_byte_text(point.flops_per_byte))};
}

void add_check_part(std::string& text, const std::string& part, const char* between) {
  text += (text.empty() ? "" : between) + part;
}

void add_above_part(std::string& text, const OverRoof& over, const char* name) {
  if (over.ratio > above_tolerance)
    add_check_part(
        text, fmt::format("{:.3g} % above the {} roof of {}", 100 * (over.ratio - 1), name, over.roof), ", ");
}

}  // namespace

double share_of_roof(const Roofs& roofs, const RoofPoint& point) {
  return over_roof(roof_pair(roofs, RoofBasis::datasheet, point.precision), point).ratio;
}

std::string outside_frame(const Frame& frame, double flops_per_byte, FlopsPerSecond rate) {
  if (!(rate.value() > 0) || !(flops_per_byte > 0)) return "no FLOPs counted";
  const double x = std::log10(flops_per_byte), y = std::log10(rate.value());
  std::string text;
  if (x < frame.x_low || x > frame.x_high)
    add_check_part(text,
        fmt::format("{:.3g} FLOP/B lies {} of the frame", flops_per_byte, x < frame.x_low ? "left" : "right"), ", ");
  if (y < frame.y_low || y > frame.y_high)
    add_check_part(
        text, fmt::format("{} lies {} the frame", format_flops(rate), y < frame.y_low ? "below" : "above"), ", ");
  return text;
}

std::string above_roof(const Roofs& roofs, const RoofPoint& point) {
  std::string text;
  add_above_part(text, over_roof(roof_pair(roofs, RoofBasis::datasheet, point.precision), point), "datasheet");
  add_above_part(text, over_roof(roof_pair(roofs, RoofBasis::burst, point.precision), point), "measured burst");
  if (text.empty()) return text;
  const bool counted = point.rate.value() > 0;
  return fmt::format("{}: check units (GB or GiB{}), {}clocks (boost above the datasheet's), bytes found in L2", text,
      counted ? ", dense or sparse peak" : "", counted ? "how FLOPs are counted (causal attention in full), " : "");
}

}  // namespace stepcast::roofline
