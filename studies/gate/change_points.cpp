#include "studies/gate/change_points.h"

#include <algorithm>
#include <cmath>

#include "model/base/percentile.h"
#include "studies/gate/statistics.h"

namespace stepcast::gate {
namespace {

constexpr double bound = 3.5;
// Together more than 3 bound^2: three outliers in a row are not worth two changes. The first is cheaper, so that a new
// level shows early.
constexpr double first_penalty = 20, next_penalty = 26;

std::vector<double> levels_of(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> levels = sorted;
  for (std::size_t i = 1; i < sorted.size(); ++i) levels.push_back((sorted[i - 1] + sorted[i]) / 2);
  return levels;
}

double median_between(std::span<const double> values, std::size_t from, std::size_t to) {
  const auto part = values.subspan(from, to - from);
  return percentile({part.begin(), part.end()}, 0.5);
}

/// A way to go through the checks so far: its cost, and when its last level began.
struct Way {
  double cost = 0;
  std::size_t since = 0;
};

/// First checks of all levels but the first, of the cheapest way to cut.
std::vector<std::size_t> cheapest_cuts(std::span<const double> values, double scale) {
  const std::vector<double> levels = levels_of(values);
  // By the level of the last check: without a change so far, and with one or more. The cheapest of each goes on.
  std::vector<double> flat(levels.size(), 0);
  std::vector<Way> cut(levels.size(), Way{1e300, 0});
  double best_flat = 0;
  Way best_cut{1e300, 0};
  std::vector<std::size_t> before(values.size(), 0);  // of a level that begins at t: when the one before it began
  for (std::size_t t = 0; t < values.size(); ++t) {
    const double first = best_flat + first_penalty, next = best_cut.cost + next_penalty;
    before[t] = first <= next ? 0 : best_cut.since;
    const double fresh = t > 0 ? std::min(first, next) : INFINITY;
    best_flat = best_cut.cost = INFINITY;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      Way& way = cut[i];
      if (fresh < way.cost) way = {fresh, t};
      const double off = (values[t] - levels[i]) / scale, loss = std::min(off * off, bound * bound);
      way.cost += loss;
      flat[i] += loss;
      best_flat = std::min(best_flat, flat[i]);
      if (way.cost < best_cut.cost) best_cut = way;
    }
  }
  std::vector<std::size_t> cuts;
  if (best_flat <= best_cut.cost) return cuts;
  for (std::size_t at = best_cut.since; at > 0; at = before[at]) cuts.push_back(at);
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

/// Noise within levels, were there one change: the least of some places for it. A few outliers in a short history spoil
/// twice as many differences of neighbours.
double parted_scale(std::span<const double> values) {
  constexpr std::size_t least_part = 4, places = 16;
  double least = INFINITY;
  for (std::size_t at = least_part; at + least_part <= values.size();
       at += std::max<std::size_t>(1, values.size() / places))
    least = std::min(least, pooled_scale(values.subspan(0, at), values.subspan(at)));
  return least;
}

/// A level of two checks, the last ones: both beyond what the level so far explains, on one side. An outlier beside the
/// new level hides it from the sum of costs.
void add_fresh_level(std::span<const double> values, double least_scale, std::vector<ChangePoint>& points) {
  constexpr std::size_t fresh = 2, least_level = 10;
  constexpr double beyond = 2.3;
  const std::size_t from = points.empty() ? 0 : points.back().at, until = values.size() - fresh;
  if (until < from + least_level) return;
  const double level = median_between(values, from, until),
               scale = std::max(robust_scale(values.subspan(from, until - from)), least_scale);
  const double a = (values[until] - level) / scale, b = (values[until + 1] - level) / scale;
  if (std::min(a, b) > beyond || std::max(a, b) < -beyond)
    points.push_back({until, median_between(values, until, values.size()) - level});
}

}  // namespace

double neighbour_scale(std::span<const double> values) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < values.size(); ++i) steps.push_back(values[i] - values[i - 1]);
  return robust_scale(steps) / std::sqrt(2.0);
}

std::vector<ChangePoint> change_points(std::span<const double> values) {
  if (values.size() < least_checks) return {};
  constexpr double least_scale = 1e-5;  // of times that are alike to the last digit
  // Few checks may show too little noise by chance, and the best of several places for a change does.
  constexpr double best_of_places = 1.35;
  const double scale = std::max(std::min(neighbour_scale(values) * (1 + 2 / static_cast<double>(values.size())),
                                    best_of_places * parted_scale(values)),
      least_scale);
  std::vector<ChangePoint> points;
  const std::vector<std::size_t> cuts = cheapest_cuts(values, scale);
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const std::size_t from = i == 0 ? 0 : cuts[i - 1], to = i + 1 < cuts.size() ? cuts[i + 1] : values.size();
    points.push_back({cuts[i], median_between(values, cuts[i], to) - median_between(values, from, cuts[i])});
  }
  add_fresh_level(values, least_scale, points);
  return points;
}

}  // namespace stepcast::gate
