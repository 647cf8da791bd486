#include "studies/compare/align.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "studies/compare/align_repeats.h"

namespace stepcast::comparison {
namespace {

/// Pearson's, of logarithms.
double correlation_of(const std::vector<SplitProduct>& expected, const std::vector<SplitProduct>& measured) {
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  const auto count = static_cast<double>(expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double a = std::log(std::max(expected[i].seconds, 1e-9));
    const double b = std::log(std::max(measured[i].seconds, 1e-9));
    x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
  }
  const double spread = std::sqrt((xx - x * x / count) * (yy - y * y / count));
  return spread > 0 ? (xy - x * y / count) / spread : 0;
}

bool all_have_flops(const std::vector<SplitProduct>& products) {
  return std::ranges::all_of(products, [](const SplitProduct& one) { return one.flops > 0; });
}

/// Those without a size add up what the one before them left: split products.
std::vector<SplitProduct> with_their_sums(const std::vector<SplitProduct>& products) {
  std::vector<SplitProduct> joined;
  for (const SplitProduct& one : products)
    if (one.flops == 0 && !joined.empty()) joined.back().seconds += one.seconds;
    else joined.push_back(one);
  return joined;
}

/// Products between two places at which both sides have multiplied as much.
class ProductBlocks {
 public:
  ProductBlocks(const std::vector<SplitProduct>& expected, const std::vector<SplitProduct>& measured)
      : expected_(expected), measured_(measured) {}

  /// False where the two sides drift apart. What is left of either at the end stands by itself: a head that did not
  /// run.
  bool align() {
    std::size_t i = 0, j = 0;
    while (i < expected_.size() && j < measured_.size()) {
      const std::size_t first_i = i, first_j = j;
      double a = expected_[i++].flops, b = measured_[j++].flops;
      while (std::abs(a - b) > same_flops * std::max(a, b)) {
        if (i - first_i > most_in_block || j - first_j > most_in_block) return false;
        if (a < b) {
          if (i == expected_.size()) return false;
          a += expected_[i++].flops;
        } else {
          if (j == measured_.size()) return false;
          b += measured_[j++].flops;
        }
      }
      add(first_i, i, first_j, j);
    }
    const bool most =
        20 * (expected_.size() - i) <= expected_.size() && 20 * (measured_.size() - j) <= measured_.size();
    for (; i < expected_.size(); ++i) add(i, i + 1, j, j);
    add(i, i, j, measured_.size());
    return most;
  }

  /// Measured products that are of no operator.
  void add_others(const std::vector<SplitProduct>& others) {
    for (const SplitProduct& one : others) {
      AlignedProducts& block = blocks_[other_products];
      block.name = other_products, block.measured += one.seconds, ++block.measured_calls;
    }
  }

  [[nodiscard]] std::vector<AlignedProducts> products() const {
    std::vector<AlignedProducts> all;
    for (const auto& [name, one] : blocks_) all.push_back(one);
    return all;
  }

 private:
  static constexpr const char* other_products = "others";
  static constexpr double same_flops = 0.01;
  static constexpr std::size_t most_in_block = 12;

  void add(std::size_t i, std::size_t to_i, std::size_t j, std::size_t to_j) {
    if (i == to_i && j == to_j) return;
    std::set<std::string> names;
    for (std::size_t at = i; at < to_i; ++at) names.insert(expected_[at].name);
    const std::string name = names.empty() ? other_products : fmt::format("{}", fmt::join(names, ", "));
    AlignedProducts& block = blocks_[name];
    block.name = name;
    for (; i < to_i; ++i) block.expected += expected_[i].seconds, ++block.expected_calls;
    for (; j < to_j; ++j) block.measured += measured_[j].seconds, ++block.measured_calls;
  }

  const std::vector<SplitProduct>& expected_;
  const std::vector<SplitProduct>& measured_;
  std::map<std::string, AlignedProducts> blocks_;
};

Alignment by_order(const std::vector<SplitProduct>& expected, const std::vector<SplitProduct>& measured) {
  constexpr double least_correlation = 0.8;
  const std::size_t expects = expected.size(), is = measured.size();
  if (expects != is) {
    if (auto repeats = align_repeats(expected, measured)) return *std::move(repeats);
    return {{}, fmt::format("operators of products are not told apart: {} run, {} are expected", is, expects)};
  }
  const double correlation = correlation_of(expected, measured);
  if (correlation < least_correlation)
    return {{}, fmt::format("products are not told apart by their order: {} of both, durations correlate by {:.2f}", is,
                    correlation)};
  std::map<std::string, AlignedProducts> parts;
  for (std::size_t i = 0; i < is; ++i) {
    AlignedProducts& part = parts[expected[i].name];
    part.name = expected[i].name;
    part.expected += expected[i].seconds, part.measured += measured[i].seconds;
    ++part.expected_calls, ++part.measured_calls;
  }
  Alignment made{{}, fmt::format("products are told apart by their order: {} of both, durations correlate by {:.2f}",
                         is, correlation)};
  for (auto& [name, part] : parts) made.products.push_back(std::move(part));
  return made;
}

}  // namespace

Alignment align_products(const std::vector<SplitProduct>& expected, const std::vector<SplitProduct>& measured) {
  if (expected.empty() || measured.empty()) return {};
  auto recorded = with_their_sums(measured);
  if (all_have_flops(expected) && all_have_flops(recorded)) {
    // Those that multiply next to nothing are of no operator: angles of positions, scales.
    constexpr double next_to_nothing = 0.01;
    const double least = next_to_nothing * std::ranges::min(expected, {}, &SplitProduct::flops).flops;
    const auto small = std::ranges::stable_partition(recorded, [&](const auto& one) { return one.flops >= least; });
    const std::vector<SplitProduct> others(small.begin(), small.end());
    recorded.erase(small.begin(), small.end());
    ProductBlocks blocks(expected, recorded);
    const bool aligned = blocks.align();
    blocks.add_others(others);
    if (aligned)
      return {blocks.products(), fmt::format("products are told apart by their shapes: {} run, {} are expected",
                                     measured.size(), expected.size())};
  }
  return by_order(expected, measured);
}

}  // namespace stepcast::comparison
