#include "model/base/quantity_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"
#include "model/base/try.h"

namespace stepcast {
namespace {

enum class Dimension { time, memory, bandwidth, work, compute_rate, frequency };

/// base = number * multiply / divide. Small units divide by an exact power of ten, so that "30 us" is the double 3e-5.
struct Unit {
  const char* name;
  Dimension dimension;
  double multiply = 1, divide = 1;
  bool written = true;  ///< exact_text may choose it
};

constexpr double KiB = 1024, MiB = KiB * KiB, GiB = MiB * KiB, TiB = GiB * KiB;

// clang-format off
constexpr Unit units[] = {
    {"s", Dimension::time}, {"ms", Dimension::time, 1, 1e3}, {"us", Dimension::time, 1, 1e6},
    {"\u00b5s", Dimension::time, 1, 1e6, false}, {"ns", Dimension::time, 1, 1e9},
    {"min", Dimension::time, 60, 1, false}, {"h", Dimension::time, 3600, 1, false},
    {"d", Dimension::time, 86400, 1, false},
    {"B", Dimension::memory}, {"kB", Dimension::memory, 1e3}, {"KB", Dimension::memory, 1e3, 1, false},
    {"MB", Dimension::memory, 1e6}, {"GB", Dimension::memory, 1e9}, {"TB", Dimension::memory, 1e12},
    {"PB", Dimension::memory, 1e15}, {"KiB", Dimension::memory, KiB}, {"MiB", Dimension::memory, MiB},
    {"GiB", Dimension::memory, GiB}, {"TiB", Dimension::memory, TiB},
    {"B/s", Dimension::bandwidth}, {"kB/s", Dimension::bandwidth, 1e3}, {"MB/s", Dimension::bandwidth, 1e6},
    {"GB/s", Dimension::bandwidth, 1e9}, {"TB/s", Dimension::bandwidth, 1e12},
    {"MiB/s", Dimension::bandwidth, MiB, 1, false}, {"GiB/s", Dimension::bandwidth, GiB, 1, false},
    {"Mb/s", Dimension::bandwidth, 1e6, 8, false}, {"Gb/s", Dimension::bandwidth, 1e9, 8, false},
    {"Gbit/s", Dimension::bandwidth, 1e9, 8, false}, {"Gbps", Dimension::bandwidth, 1e9, 8, false},
    {"Tb/s", Dimension::bandwidth, 1e12, 8, false},
    {"FLOP", Dimension::work}, {"MFLOP", Dimension::work, 1e6}, {"GFLOP", Dimension::work, 1e9},
    {"TFLOP", Dimension::work, 1e12}, {"PFLOP", Dimension::work, 1e15}, {"EFLOP", Dimension::work, 1e18},
    {"ZFLOP", Dimension::work, 1e21}, {"YFLOP", Dimension::work, 1e24},
    {"FLOP/s", Dimension::compute_rate}, {"MFLOP/s", Dimension::compute_rate, 1e6},
    {"GFLOP/s", Dimension::compute_rate, 1e9}, {"TFLOP/s", Dimension::compute_rate, 1e12},
    {"PFLOP/s", Dimension::compute_rate, 1e15}, {"EFLOP/s", Dimension::compute_rate, 1e18},
    {"GFLOPS", Dimension::compute_rate, 1e9, 1, false}, {"TFLOPS", Dimension::compute_rate, 1e12, 1, false},
    {"PFLOPS", Dimension::compute_rate, 1e15, 1, false},
    {"Hz", Dimension::frequency}, {"kHz", Dimension::frequency, 1e3}, {"MHz", Dimension::frequency, 1e6},
    {"GHz", Dimension::frequency, 1e9},
};
// clang-format on

/// What each dimension is called, the least and the largest value above zero that anybody can mean (base units), an
/// example, its key ending. Times and sizes may be rounding's rest of nothing; one divides by rates.
struct Kind {
  const char* name;
  double lowest, highest;
  const char* example;
  const char* suffix;
};
constexpr std::array<Kind, 6> dimension_kinds = {{
    {"time", 0, 1e9, "30 us", "_s"},                           // 30 years
    {"memory size", 0, 1e18, "80 GiB", "_bytes"},              // an exabyte
    {"bandwidth", 1, 1e16, "400 GB/s", "_bytes_per_s"},        // a thousand times today's HBM
    {"amount of work", 0, 1e30, "1.2 PFLOP", "_flops"},        // a thousand times the largest training runs
    {"compute rate", 1, 1e19, "312 TFLOP/s", "_flops_per_s"},  // a thousand times today's chips
    {"frequency", 1e-3, 1e12, "1.83 GHz", "_hz"},
}};
const Kind& kind_of(Dimension dimension) { return dimension_kinds[static_cast<std::size_t>(dimension)]; }

template <typename Q> constexpr Dimension dimension_of();
template <> constexpr Dimension dimension_of<Seconds>() { return Dimension::time; }
template <> constexpr Dimension dimension_of<Bytes>() { return Dimension::memory; }
template <> constexpr Dimension dimension_of<BytesPerSecond>() { return Dimension::bandwidth; }
template <> constexpr Dimension dimension_of<Flops>() { return Dimension::work; }
template <> constexpr Dimension dimension_of<FlopsPerSecond>() { return Dimension::compute_rate; }
template <> constexpr Dimension dimension_of<Hertz>() { return Dimension::frequency; }

std::string shown(std::string_view text) {  // a hostile megabyte is not echoed
  constexpr std::size_t longest = 60;
  return text.size() <= longest ? std::string(text) : fmt::format("{}...", text.substr(0, longest));
}

struct NumberAndUnit {
  double number = 0;
  std::string_view unit;
};

/// Splits "400 GB/s". Only digits, a point and an exponent make a number: no "inf", "nan", hex.
Expected<NumberAndUnit> split_number(std::string_view text, const std::string& where, const std::string& example) {
  text = stripped(text);
  const std::string hint = fmt::format("write it like \"{}\"", example);
  if (text.starts_with('-')) return fail(where, fmt::format("'{}' is negative", shown(text)), hint);
  const bool digit = !text.empty() && ((text[0] >= '0' && text[0] <= '9') || text[0] == '.');
  if (!digit) return fail(where, fmt::format("'{}' does not begin with a number", shown(text)), hint);
  NumberAndUnit result;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), result.number);
  if (status == std::errc::result_out_of_range)
    return fail(where, fmt::format("'{}' is beyond any real value", shown(text)), hint);
  if (status != std::errc()) return fail(where, fmt::format("'{}' is not a number", shown(text)), hint);
  result.unit = stripped(text.substr(static_cast<std::size_t>(end - text.data())));
  return result;
}

std::vector<std::string> unit_names(Dimension dimension) {
  std::vector<std::string> names;
  for (const Unit& unit : units)
    if (unit.dimension == dimension) names.emplace_back(unit.name);
  return names;
}

const Unit* find_unit(std::string_view name) {
  for (const Unit& unit : units)
    if (name == unit.name) return &unit;
  return nullptr;
}

Expected<const Unit*> unit_named(
    std::string_view name, Dimension dimension, std::string_view text, const std::string& where) {
  const Unit* unit = find_unit(name);
  if (unit != nullptr && unit->dimension == dimension) return unit;
  const std::vector<std::string> names = unit_names(dimension);
  const std::string allowed = fmt::format("units of {}: {}", kind_of(dimension).name, fmt::join(names, ", "));
  if (name.empty()) return fail(where, fmt::format("'{}' has no unit", shown(text)), allowed);
  if (unit != nullptr)
    return fail(where,
        fmt::format("'{}' is a {}, not a {}", shown(text), kind_of(unit->dimension).name, kind_of(dimension).name),
        allowed);
  const std::string near = nearest_name(name, names);
  return fail(where, fmt::format("unknown unit '{}' in '{}'", shown(name), shown(text)),
      near.empty() ? allowed : fmt::format("did you mean '{}'? {}", near, allowed));
}

Expected<double> checked(
    double value, std::string_view text, Dimension dimension, const std::string& where, Zero zero) {
  const Kind& kind = kind_of(dimension);
  const std::string hint = fmt::format("a {} like \"{}\"", kind.name, kind.example);
  if (std::isnan(value) || value < 0) return fail(where, fmt::format("'{}' is not positive", shown(text)), hint);
  if (value == 0 && zero == Zero::refused) return fail(where, fmt::format("'{}' is zero", shown(text)), hint);
  if (value > 0 && value < kind.lowest)
    return fail(where, fmt::format("'{}' is less than any real {}", shown(text), kind.name), hint);
  if (value > kind.highest) return fail(where, fmt::format("'{}' is beyond any real {}", shown(text), kind.name), hint);
  return value;
}

Expected<double> parse_as(std::string_view text, Dimension dimension, const std::string& where, Zero zero) {
  TRY(const auto split, split_number(text, where, kind_of(dimension).example));
  TRY(const auto unit, unit_named(split.unit, dimension, stripped(text), where));
  return checked(split.number * unit->multiply / unit->divide, stripped(text), dimension, where, zero);
}

/// The fewest digits of value in `unit` that parse back to it; "" when 17 do not.
std::string shortest_number(double value, const Unit& unit) {
  for (int digits = 1; digits <= 17; ++digits) {
    const std::string text = fmt::format("{:.{}g}", value / unit.multiply * unit.divide, digits);
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    if (number * unit.multiply / unit.divide == value) return fmt::format("{}", number);
  }
  return {};
}

std::string exact_as(double value, Dimension dimension) {
  std::string best, best_number;
  for (const Unit& unit : units) {
    if (unit.dimension != dimension || !unit.written) continue;
    const std::string number = shortest_number(value, unit);
    const bool exponent = number.find('e') != std::string::npos;
    if (number.empty() || (exponent && !best.empty())) continue;
    const bool shorter =
        best.empty() || best_number.find('e') != std::string::npos || number.size() < best_number.size();
    if (!shorter) continue;
    best_number = number;
    best = fmt::format("{} {}", number, unit.name);
  }
  return best;
}

}  // namespace

template <typename Q> Expected<Q> parse_quantity(std::string_view text, const std::string& where, Zero zero) {
  return parse_as(text, dimension_of<Q>(), where, zero).map([](double value) { return Q(value); });
}

template <typename Q> Expected<Q> check_quantity(double value, const std::string& where, Zero zero) {
  return checked(value, fmt::format("{}", value), dimension_of<Q>(), where, zero).map([](double v) { return Q(v); });
}

template <typename Q> std::string exact_text(Q quantity) { return exact_as(quantity.value(), dimension_of<Q>()); }

template <typename Q> std::string_view key_suffix() { return kind_of(dimension_of<Q>()).suffix; }

template <typename Q> std::string_view quantity_example() { return kind_of(dimension_of<Q>()).example; }

#define STEPCAST_QUANTITY_TEXT(Q)                                                     \
  template Expected<Q> parse_quantity<Q>(std::string_view, const std::string&, Zero); \
  template Expected<Q> check_quantity<Q>(double, const std::string&, Zero);           \
  template std::string exact_text<Q>(Q);                                              \
  template std::string_view key_suffix<Q>();                                          \
  template std::string_view quantity_example<Q>();
STEPCAST_QUANTITY_TEXT(Seconds)
STEPCAST_QUANTITY_TEXT(Bytes)
STEPCAST_QUANTITY_TEXT(BytesPerSecond)
STEPCAST_QUANTITY_TEXT(Flops)
STEPCAST_QUANTITY_TEXT(FlopsPerSecond)
STEPCAST_QUANTITY_TEXT(Hertz)
#undef STEPCAST_QUANTITY_TEXT

Expected<double> parse_fraction(std::string_view text, const std::string& where, double highest) {
  TRY(const auto split, split_number(text, where, "19 %\" or \"0.19"));
  if (!split.unit.empty() && split.unit != "%")
    return fail(where, fmt::format("unknown unit '{}' in '{}'", shown(split.unit), shown(text)),
        "a fraction takes % or nothing");
  const double value = split.unit == "%" ? split.number / 100 : split.number;
  if (value > highest) {  // in the unit of the one who asks
    const std::string most = split.unit == "%" ? format_percent(highest) : fmt::format("{:g}", highest);
    return fail(where, fmt::format("'{}' is above {}", shown(text), most), fmt::format("0 to {}", most));
  }
  return value;
}

}  // namespace stepcast
