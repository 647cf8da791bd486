#include "studies/compare/gap.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "studies/compare/align.h"

namespace stepcast::comparison {
namespace {

// clang-format off
/// What a forecast calls by one name has several among libraries, whose borders are a matter of taste. Kinds of one
/// group are bound by one thing; those that are in none are memory-bound.
struct GapGroup { WorkKind kind; const char* name; };
constexpr GapGroup gap_groups[] = {
    {WorkKind::gemm, "matrix products"}, {WorkKind::grouped_gemm, "matrix products"}, {WorkKind::conv, "convolutions"},
    {WorkKind::attention, "attention"}, {WorkKind::scan, "scans"}, {WorkKind::optimizer, "optimizer"},
    {WorkKind::unplaced, "unplaced kernels"}};

/// A forecast's kernels bear their operators' names; those that are not here run over elements.
struct OperatorPart { std::string_view label; WorkKind kind; };
constexpr OperatorPart operator_parts[] = {{"norm", WorkKind::norm}, {"loss", WorkKind::norm},
    {"softmax", WorkKind::norm}, {"embedding", WorkKind::embedding}, {"router", WorkKind::routing},
    {"dispatch", WorkKind::routing}, {"combine", WorkKind::routing}};
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
  if (row.family == SplitFamily::compute) into.bound = bound_by(row.kind);
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

/// What kernels of other names are told apart by: attention by its pass, memory-bound kernels by what they do. Products
/// have parts of their own.
std::string part_of(const SplitRow& row, bool forecast) {
  if (row.kind == WorkKind::attention) return is_backward_attention(row.name) ? "backward" : "forward";
  if (!is_memory_bound(row.kind) || row.kind == WorkKind::optimizer || row.kind == WorkKind::scan) return "";
  if (!forecast) return to_text(row.kind);
  const std::string_view label = std::string_view(row.name).substr(0, row.name.find(' '));
  for (const OperatorPart& part : operator_parts)
    if (part.label == label) return to_text(part.kind);
  return to_text(WorkKind::elementwise);
}

/// Parts of the row of matrix products.
void add_products(const TimeSplit& expected, const TimeSplit& measured, const ExpectedPrices& prices, Gap& gap,
    std::map<std::string, GapRow>& parts) {
  std::vector<SplitProduct> products = expected.products;
  for (SplitProduct& product : products)
    if (product.flops == 0) product.flops = prices.flops_of(product);
  const Alignment aligned = align_products(products, measured.products);
  gap.aligned = aligned.how;
  for (const AlignedProducts& one : aligned.products) {
    GapRow& part = parts[one.name];
    part.family = SplitFamily::compute, part.bound = BoundBy::cores, part.name = one.name;
    part.expected = one.expected, part.measured = one.measured;
    part.expected_calls = one.expected_calls, part.measured_calls = one.measured_calls;
  }
}

void sort_by_difference(std::vector<GapRow>& rows) {
  std::ranges::stable_sort(
      rows, [](const GapRow& a, const GapRow& b) { return std::abs(a.difference()) > std::abs(b.difference()); });
}

}  // namespace

double ExpectedPrices::flops_of(const SplitProduct& product) const {
  const auto at = products.find(product.name);
  if (at == products.end()) return 0;
  double nearest = INFINITY, flops = 0;
  for (const Product& size : at->second)
    if (const double off = std::abs(std::log(size.seconds / product.seconds)); off < nearest)
      nearest = off, flops = size.flops;
  return flops;
}

double GapRow::pace() const {
  if (expected_calls == 0 || measured_calls == 0 || expected_flight <= 0) return 1;
  return measured_flight / static_cast<double>(measured_calls) /
         (expected_flight / static_cast<double>(expected_calls));
}

Gap gap_between(const TimeSplit& expected, const TimeSplit& measured, const ExpectedPrices& prices) {
  Gap gap;
  gap.expected = expected.seconds, gap.measured = measured.seconds;
  gap.same_names = names_alike(expected, measured);
  const bool fabrics = has_fabrics(expected) && has_fabrics(measured);
  std::map<std::string, GapRow> rows;
  std::map<std::string, std::map<std::string, GapRow>> parts;
  for (const bool is_expected : {true, false}) {
    for (const SplitRow& row : (is_expected ? expected : measured).rows) {
      const std::string name = group_name(row, fabrics);
      add_side(rows[name], row, is_expected, prices.spreads);
      rows[name].name = name;
      if (fabrics) rows[name].fabric = row.fabric;
      if (row.family == SplitFamily::exposed) continue;
      const bool own_name = row.family != SplitFamily::compute || gap.same_names;
      const std::string part_name = own_name ? row.name : part_of(row, is_expected && !prices.spreads.empty());
      if (part_name.empty()) continue;
      GapRow& part = parts[name][part_name];
      part.name = part_name;
      add_side(part, row, is_expected, prices.spreads);
    }
  }
  if (!gap.same_names && !prices.spreads.empty())
    add_products(expected, measured, prices, gap, parts["matrix products"]);
  for (auto& [name, row] : rows) {
    for (auto& [part_name, part] : parts[name]) row.parts.push_back(std::move(part));
    sort_by_difference(row.parts);
    gap.rows.push_back(std::move(row));
  }
  sort_by_difference(gap.rows);
  return gap;
}

}  // namespace stepcast::comparison
