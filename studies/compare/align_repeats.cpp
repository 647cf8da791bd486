#include "studies/compare/align_repeats.h"

#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepcast::comparison {
namespace {

/// Layers of `period` products each, from `begin` on.
struct Repeats {
  std::size_t begin = 0, period = 0, layers = 0;
  [[nodiscard]] std::size_t end() const { return begin + period * layers; }
};

constexpr std::size_t least_layers = 4;

/// The longest stretch in which all names return after `period`.
Repeats stretch_of(const std::vector<SplitProduct>& products, std::size_t period) {
  Repeats best;
  for (std::size_t from = 0; from + period < products.size();) {
    std::size_t to = from;
    while (to + period < products.size() && products[to].name == products[to + period].name) ++to;
    const std::size_t layers = (to - from) / period + 1;
    if (to > from && layers > best.layers) best = {from, period, layers};
    from = to + 1;
  }
  return best;
}

/// Of what is expected: the shortest period that most products have.
Repeats expected_repeats(const std::vector<SplitProduct>& products) {
  for (std::size_t period = 1; period * least_layers <= products.size(); ++period) {
    const Repeats found = stretch_of(products, period);
    if (found.layers >= least_layers && 5 * period * found.layers >= 4 * products.size()) return found;
  }
  return {};
}

/// So many layers in other products: where nine of ten names return, best.
Repeats measured_repeats(const std::vector<SplitProduct>& products, std::size_t layers) {
  Repeats best;
  const std::size_t period = products.size() / layers;
  if (period == 0) return best;
  std::size_t most = 0;
  const std::size_t pairs = period * (layers - 1);
  for (std::size_t begin = 0; begin + period * layers <= products.size(); ++begin) {
    std::size_t same = 0;
    for (std::size_t i = begin; i < begin + pairs; ++i) same += products[i].name == products[i + period].name ? 1 : 0;
    if (10 * same >= 9 * pairs && same > most) most = same, best = {begin, period, layers};
  }
  return best;
}

/// The mean layer: seconds by the place in it.
std::vector<double> mean_layer(const std::vector<SplitProduct>& products, const Repeats& repeats) {
  std::vector<double> seconds(repeats.period);
  for (std::size_t i = repeats.begin; i < repeats.end(); ++i)
    seconds[(i - repeats.begin) % repeats.period] += products[i].seconds / static_cast<double>(repeats.layers);
  return seconds;
}

/// How many of the measured kernels each operator has; empty: durations contradict.
std::vector<std::size_t> groups_of(const std::vector<double>& operators, const std::vector<double>& kernels) {
  const std::size_t n = operators.size(), m = kernels.size();
  double expects = 0, is = 0;
  for (const double seconds : operators) expects += seconds;
  for (const double seconds : kernels) is += seconds;
  if (n == 0 || n > m || expects <= 0 || is <= 0) return {};
  // cost[k][j]: of the first k operators with the first j kernels.
  std::vector<std::vector<double>> cost(n + 1, std::vector<double>(m + 1, INFINITY));
  std::vector<std::vector<std::size_t>> from(n + 1, std::vector<std::size_t>(m + 1, 0));
  cost[0][0] = 0;
  const double most = std::log(2.0);
  for (std::size_t k = 1; k <= n; ++k)
    for (std::size_t j = k; j <= m; ++j) {
      double sum = 0;
      for (std::size_t i = j; i-- > k - 1;) {
        sum += kernels[i];
        const double off = std::log(sum / operators[k - 1] * expects / is);
        if (off > most) break;  // more kernels take longer still
        const double all = off < -most ? INFINITY : cost[k - 1][i] + off * off;
        if (all < cost[k][j]) cost[k][j] = all, from[k][j] = i;
      }
    }
  if (!std::isfinite(cost[n][m])) return {};
  std::vector<std::size_t> groups(n);
  for (std::size_t k = n, j = m; k > 0; j = from[k][j], --k) groups[k - 1] = j - from[k][j];
  return groups;
}

}  // namespace

std::optional<Alignment> align_repeats(
    const std::vector<SplitProduct>& expected, const std::vector<SplitProduct>& measured) {
  const Repeats expects = expected_repeats(expected);
  if (expects.layers == 0) return std::nullopt;
  const Repeats is = measured_repeats(measured, expects.layers);
  if (is.layers == 0) return std::nullopt;
  const auto groups = groups_of(mean_layer(expected, expects), mean_layer(measured, is));
  if (groups.empty()) return std::nullopt;
  std::map<std::string, AlignedProducts> parts;
  const auto add = [&](const std::string& name, const SplitProduct& one, bool of_expected) {
    AlignedProducts& part = parts[name];
    part.name = name;
    (of_expected ? part.expected : part.measured) += one.seconds;
    ++(of_expected ? part.expected_calls : part.measured_calls);
  };
  std::set<std::string> outside;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (i < expects.begin || i >= expects.end()) outside.insert(expected[i].name);
  const std::string around = outside.empty() ? "others" : fmt::format("{}", fmt::join(outside, ", "));
  std::vector<std::string> names;  // of each kernel of a layer
  for (std::size_t k = 0; k < groups.size(); ++k)
    names.insert(names.end(), groups[k], expected[expects.begin + k].name);
  for (std::size_t i = 0; i < expected.size(); ++i)
    add(i < expects.begin || i >= expects.end() ? around : expected[i].name, expected[i], true);
  for (std::size_t i = 0; i < measured.size(); ++i)
    add(i < is.begin || i >= is.end() ? around : names[(i - is.begin) % is.period], measured[i], false);
  Alignment made{{}, fmt::format("products are told apart by their order in {} layers: {} kernels of each for {}",
                         is.layers, is.period, expects.period)};
  for (auto& [name, part] : parts) made.products.push_back(std::move(part));
  return made;
}

}  // namespace stepcast::comparison
