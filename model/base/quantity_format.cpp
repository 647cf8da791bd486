// Quantities as reports print them. Reading is in quantity_text.cpp.
#include <span>

#include <fmt/format.h>

#include "model/base/quantity_text.h"

namespace stepcast {
namespace {

std::string three_digits(double value) {
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}", value, decimals);
}

struct Prefix {
  double factor;
  const char* unit;
};

/// The largest unit in which the rounded number is at least 1; the smallest when none is.
std::string scaled(double value, std::span<const Prefix> ascending) {
  if (value < 0) return "-" + scaled(-value, ascending);
  if (value == 0) return fmt::format("0 {}", ascending.front().unit);
  const Prefix* chosen = &ascending.front();
  for (const Prefix& prefix : ascending)
    if (value >= 0.9995 * prefix.factor) chosen = &prefix;
  return fmt::format("{} {}", three_digits(value / chosen->factor), chosen->unit);
}

}  // namespace

std::string format_seconds(Seconds time) {
  static constexpr Prefix prefixes[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
  constexpr double hour = 3600, day = 24 * hour, year = 365.25 * day;
  if (time.value() >= 1000 * day) return fmt::format("{} years", three_digits(time.value() / year));
  if (time.value() >= 1000 * hour) return fmt::format("{} d", three_digits(time.value() / day));
  if (time.value() >= 2 * hour) return fmt::format("{} h", three_digits(time.value() / hour));
  return scaled(time.value(), prefixes);
}

std::string format_bytes(Bytes bytes) {
  static constexpr Prefix prefixes[] = {{1, "B"}, {0x1p10, "KiB"}, {0x1p20, "MiB"}, {0x1p30, "GiB"}, {0x1p40, "TiB"}};
  return scaled(bytes.value(), prefixes);
}

std::string format_bytes_decimal(Bytes bytes) {
  static constexpr Prefix prefixes[] = {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"}};
  return scaled(bytes.value(), prefixes);
}

std::string format_rate(BytesPerSecond rate) {
  static constexpr Prefix prefixes[] = {{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}};
  return scaled(rate.value(), prefixes);
}

std::string format_flops(Flops flops) {
  static constexpr Prefix prefixes[] = {{1, "FLOP"}, {1e6, "MFLOP"}, {1e9, "GFLOP"}, {1e12, "TFLOP"}, {1e15, "PFLOP"},
      {1e18, "EFLOP"}, {1e21, "ZFLOP"}, {1e24, "YFLOP"}};
  return scaled(flops.value(), prefixes);
}

std::string format_flops(FlopsPerSecond rate) {
  static constexpr Prefix prefixes[] = {
      {1, "FLOP/s"}, {1e6, "MFLOP/s"}, {1e9, "GFLOP/s"}, {1e12, "TFLOP/s"}, {1e15, "PFLOP/s"}, {1e18, "EFLOP/s"}};
  return scaled(rate.value(), prefixes);
}

std::string format_percent(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }

}  // namespace stepcast
