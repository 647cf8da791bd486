#include "studies/sweep/where/where_unit.h"

#include <charconv>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/quantity_text.h"

namespace stepcast::sweep {
namespace {

constexpr std::array<const char*, 4> where_bases = {"seconds", "bytes", "dollars", "joules"};

// clang-format off
/// Those that model/base/quantity_text.h does not know.
struct OwnWhereUnit { std::string_view name; double multiply, divide; FigureUnit unit; };
constexpr OwnWhereUnit own_where_units[] = {
    {"J", 1, 1, FigureUnit::joules},     {"kJ", 1e3, 1, FigureUnit::joules}, {"MJ", 1e6, 1, FigureUnit::joules},
    {"GJ", 1e9, 1, FigureUnit::joules}, {"USD", 1, 1, FigureUnit::dollars}, {"%", 1, 100, FigureUnit::share},
};
// clang-format on

/// To suggest, not to check.
const std::vector<std::string>& suggested_units() {
  static const std::vector<std::string> names = {"s", "ms", "us", "min", "h", "B", "MB", "GB", "TB", "KiB", "MiB",
      "GiB", "TiB", "%", "J", "kJ", "MJ", "GJ", "USD"};
  return names;
}

template <typename Q> bool is_unit_of(std::string_view unit) {
  return parse_quantity<Q>(fmt::format("1 {}", unit), "").has_value();
}

template <typename Q>
Expected<WhereNumber> quantity_of(
    std::string_view digits, std::string_view unit, const std::string& where, FigureUnit kind) {
  return parse_quantity<Q>(fmt::format("{} {}", digits, unit), where, Zero::allowed).map([&](Q value) {
    return WhereNumber{value.value(), WhereUnit::of(kind)};
  });
}

Expected<double> plain_number(std::string_view digits, const std::string& where) {
  double value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status == std::errc() && end == digits.data() + digits.size()) return value;
  const char* what =
      status == std::errc::result_out_of_range ? "'{}' is beyond any real value" : "'{}' is not a number";
  return fail(where, fmt::format(fmt::runtime(what), digits.substr(0, 60)), "write it like 8, 0.45 or 1e9");
}

WhereUnit combined(const WhereUnit& a, const WhereUnit& b, int sign) {
  WhereUnit result;
  for (std::size_t i = 0; i < result.powers.size(); ++i) result.powers[i] = a.powers[i] + sign * b.powers[i];
  result.bare = a.bare && b.bare;
  return result;
}

}  // namespace

WhereUnit WhereUnit::of(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::seconds: return {.powers = {1, 0, 0, 0}};
    case FigureUnit::bytes: return {.powers = {0, 1, 0, 0}};
    case FigureUnit::dollars: return {.powers = {0, 0, 1, 0}};
    case FigureUnit::joules: return {.powers = {0, 0, 0, 1}};
    case FigureUnit::rate: return {.powers = {-1, 0, 0, 0}};
    case FigureUnit::share: return {.pure = Pure::share};
    case FigureUnit::count: break;
  }
  return {.pure = Pure::count};
}

bool WhereUnit::fits(const WhereUnit& other) const {
  if (bare || other.bare) return true;
  return powers == other.powers && (pure == other.pure || pure == Pure::ratio || other.pure == Pure::ratio);
}

std::string WhereUnit::text() const {
  if (bare) return "a bare number";
  std::vector<std::string> above, below;
  for (std::size_t i = 0; i < powers.size(); ++i) {
    const int power = std::abs(powers[i]);
    if (power == 0) continue;
    (powers[i] > 0 ? above : below)
        .push_back(power == 1 ? where_bases[i] : fmt::format("{}^{}", where_bases[i], power));
  }
  if (above.empty() && below.empty())
    return pure == Pure::count ? "a count" : pure == Pure::share ? "a share" : "a ratio";
  if (below.empty()) return fmt::format("in {}", fmt::join(above, " x "));
  return fmt::format(
      "in {} / {}", above.empty() ? "1" : fmt::to_string(fmt::join(above, " x ")), fmt::join(below, " / "));
}

WhereUnit sum_unit(const WhereUnit& a, const WhereUnit& b) {
  return a.bare || (!b.bare && a.pure == WhereUnit::Pure::ratio) ? b : a;
}

/// "2 * tp" and "tp * pp" are counts still; a share of something is just a number.
WhereUnit product_unit(const WhereUnit& a, const WhereUnit& b) {
  WhereUnit result = combined(a, b, 1);
  if (a.bare || b.bare) result.pure = a.bare ? b.pure : a.pure;
  else if (a.pure == b.pure) result.pure = a.pure;
  return result;
}

WhereUnit quotient_unit(const WhereUnit& a, const WhereUnit& b) {
  WhereUnit result = combined(a, b, -1);
  if (b.bare) result.pure = a.pure;
  return result;
}

Expected<WhereNumber> where_number(std::string_view digits, std::string_view unit, const std::string& where) {
  TRY(const auto value, plain_number(digits, where));
  if (unit.empty()) return WhereNumber{value, {.bare = true}};
  for (const OwnWhereUnit& own : own_where_units) {
    if (unit == own.name) return WhereNumber{value * own.multiply / own.divide, WhereUnit::of(own.unit)};
  }
  if (is_unit_of<Seconds>(unit)) return quantity_of<Seconds>(digits, unit, where, FigureUnit::seconds);
  if (is_unit_of<Bytes>(unit)) return quantity_of<Bytes>(digits, unit, where, FigureUnit::bytes);
  return fail(where, fmt::format("unknown unit '{}'", unit.substr(0, 60)), name_hint(unit, suggested_units()));
}

}  // namespace stepcast::sweep
