#include "studies/compare/gap.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace stepcast::comparison {
namespace {

// clang-format off
/// What a forecast calls by one name has several among libraries, whose borders are a matter of taste.
struct GapGroup { WorkKind kind; const char* name; };
constexpr GapGroup gap_groups[] = {
    {WorkKind::gemm, "matrix products"}, {WorkKind::grouped_gemm, "matrix products"}, {WorkKind::conv, "convolutions"},
    {WorkKind::attention, "attention"}, {WorkKind::scan, "scans"}, {WorkKind::optimizer, "optimizer"},
    {WorkKind::unplaced, "unplaced kernels"}};
// clang-format on

std::string group_name(const SplitRow& row, bool fabrics) {
  if (row.family == SplitFamily::exposed) return row.name + (fabrics && !row.fabric.empty() ? ", " + row.fabric : "");
  if (row.family == SplitFamily::copies) return "copies and fills";
  if (row.family != SplitFamily::compute) return "idle";
  for (const GapGroup& group : gap_groups)
    if (group.kind == row.kind) return group.name;
  return "memory-bound kernels";
}

void add_side(GapRow& into, const SplitRow& row, bool expected, const std::map<std::string, Spread>& spreads) {
  into.family = row.family == SplitFamily::host ? SplitFamily::idle : row.family;
  (expected ? into.expected : into.measured) += row.seconds;
  (expected ? into.expected_flight : into.measured_flight) += row.flight;
  (expected ? into.expected_calls : into.measured_calls) += row.calls;
  if (!expected) return;
  const auto at = spreads.find(row.name);
  const Spread spread = at == spreads.end() ? Spread{} : at->second;
  // A collective that takes longer shows all of what it takes longer, beside what it shows anyway.
  const double moves = row.family == SplitFamily::exposed ? row.flight : row.seconds;
  into.low += std::max(0.0, row.seconds + moves * (spread.p10 - 1));
  into.high += row.seconds + moves * (spread.p90 - 1);
}

/// Half of the expected kernels' names, at least, are those of the measured ones.
bool names_alike(const TimeSplit& expected, const TimeSplit& measured) {
  std::set<std::string_view> names;
  for (const SplitRow& row : measured.rows)
    if (row.family == SplitFamily::compute) names.insert(row.name);
  std::size_t all = 0, found = 0;
  for (const SplitRow& row : expected.rows) {
    if (row.family != SplitFamily::compute) continue;
    ++all;
    found += names.contains(row.name) ? 1 : 0;
  }
  return all > 0 && 2 * found >= all;
}

bool has_fabrics(const TimeSplit& split) {
  bool any = false;
  for (const SplitRow& row : split.rows)
    if (row.family == SplitFamily::exposed) {
      any = true;
      if (row.fabric.empty()) return false;
    }
  return any;
}

void sort_by_difference(std::vector<GapRow>& rows) {
  std::ranges::stable_sort(
      rows, [](const GapRow& a, const GapRow& b) { return std::abs(a.difference()) > std::abs(b.difference()); });
}

/// Pearson's, of logarithms.
double correlation_of(const TimeSplit& expected, const TimeSplit& measured) {
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  const auto count = static_cast<double>(expected.products.size());
  for (std::size_t i = 0; i < expected.products.size(); ++i) {
    const double a = std::log(std::max(expected.products[i].second, 1e-9));
    const double b = std::log(std::max(measured.products[i].second, 1e-9));
    x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
  }
  const double spread = std::sqrt((xx - x * x / count) * (yy - y * y / count));
  return spread > 0 ? (xy - x * y / count) / spread : 0;
}

/// Libraries do not say of which operator a product is. Where there are as many as are expected, and long ones stand
/// where long ones are expected, the n-th of one side is the n-th of the other.
void align_products(
    const TimeSplit& expected, const TimeSplit& measured, Gap& gap, std::map<std::string, GapRow>& parts) {
  constexpr double least_correlation = 0.8;
  const std::size_t expects = expected.products.size(), is = measured.products.size();
  if (expects == 0 || is == 0) return;
  if (expects != is) {
    gap.aligned = fmt::format("operators of products are not told apart: {} run, {} are expected", is, expects);
    return;
  }
  const double correlation = correlation_of(expected, measured);
  gap.aligned = fmt::format("products are {} by their order: {} of both, durations correlate by {:.2f}",
      correlation >= least_correlation ? "told apart" : "not told apart", is, correlation);
  if (correlation < least_correlation) return;
  for (std::size_t i = 0; i < is; ++i) {
    GapRow& part = parts[expected.products[i].first];
    part.family = SplitFamily::compute, part.name = expected.products[i].first;
    part.expected += expected.products[i].second, part.measured += measured.products[i].second;
    ++part.expected_calls, ++part.measured_calls;
  }
}

}  // namespace

double GapRow::pace() const {
  if (expected_calls == 0 || measured_calls == 0 || expected_flight <= 0) return 1;
  return measured_flight / static_cast<double>(measured_calls) /
         (expected_flight / static_cast<double>(expected_calls));
}

Gap gap_between(const TimeSplit& expected, const TimeSplit& measured, const std::map<std::string, Spread>& spreads) {
  Gap gap;
  gap.expected = expected.seconds, gap.measured = measured.seconds;
  gap.same_names = names_alike(expected, measured);
  const bool fabrics = has_fabrics(expected) && has_fabrics(measured);
  std::map<std::string, GapRow> rows;
  std::map<std::string, std::map<std::string, GapRow>> parts;
  for (const bool is_expected : {true, false}) {
    for (const SplitRow& row : (is_expected ? expected : measured).rows) {
      const std::string name = group_name(row, fabrics);
      add_side(rows[name], row, is_expected, spreads);
      rows[name].name = name;
      if (fabrics) rows[name].fabric = row.fabric;
      if (row.family == SplitFamily::exposed || (row.family == SplitFamily::compute && !gap.same_names)) continue;
      GapRow& part = parts[name][row.name];
      part.name = row.name;
      add_side(part, row, is_expected, spreads);
    }
  }
  if (!gap.same_names && !spreads.empty()) align_products(expected, measured, gap, parts["matrix products"]);
  for (auto& [name, row] : rows) {
    for (auto& [part_name, part] : parts[name]) row.parts.push_back(std::move(part));
    sort_by_difference(row.parts);
    gap.rows.push_back(std::move(row));
  }
  sort_by_difference(gap.rows);
  return gap;
}

}  // namespace stepcast::comparison
