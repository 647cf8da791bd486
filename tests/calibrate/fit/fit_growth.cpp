#include "tests/calibrate/fit/fit_growth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/percentile.h"

namespace stepcast::calibrate {
namespace {

/// One system's curves of one kind at two counts.
struct Pair {
  const MeasuredSystem* system = nullptr;
  const CollectiveCurve *from = nullptr, *to = nullptr;
};

using Step = std::tuple<CollectiveKind, int, int>;

bool pcie(FabricKind fabric) { return fabric == FabricKind::pcie; }

/// All pairs of neighbouring counts within a node, on links of the same make as `fabric`.
std::map<Step, std::vector<Pair>> pairs_of(std::span<const MeasuredSystem> systems, FabricKind fabric) {
  std::map<Step, std::vector<Pair>> out;
  for (const MeasuredSystem& system : systems) {
    std::map<std::pair<CollectiveKind, int>, const CollectiveCurve*> by_count;
    for (const CollectiveCurve& curve : system.curves)
      if (curve.nodes == 1 && pcie(curve.fabric) == pcie(fabric)) by_count[{curve.kind, curve.ranks}] = &curve;
    for (auto it = by_count.begin(); it != by_count.end(); ++it) {
      const auto next = std::next(it);
      if (next == by_count.end() || next->first.first != it->first.first) continue;
      out[{it->first.first, it->first.second, next->first.second}].push_back({&system, it->second, next->second});
    }
  }
  return out;
}

Seconds time_of_buffer(const CollectiveCurve& curve, double buffer) {
  return curve_time(curve, Bytes(buffer) * received_share(curve.kind, curve.ranks));
}

/// 512 B to 512 MiB, where nccl-tests tables of single nodes lie.
constexpr double least_buffer = 512, most_buffer = 512.0 * 1024 * 1024;

std::vector<CollectiveGrowth::Point> median_ratios(const std::vector<Pair>& pairs) {
  std::vector<CollectiveGrowth::Point> points;
  for (double buffer = least_buffer; buffer <= most_buffer; buffer *= 2) {
    std::vector<double> ratios;
    for (const Pair& pair : pairs)
      ratios.push_back(std::log(time_of_buffer(*pair.to, buffer) / time_of_buffer(*pair.from, buffer)));
    points.push_back({Bytes(buffer), std::exp(percentile(ratios, 0.5))});
  }
  return points;
}

/// Those of the same generation, else all.
std::vector<Pair> nearest(const std::vector<Pair>& pairs, const std::string& links) {
  std::vector<Pair> own;
  std::copy_if(
      pairs.begin(), pairs.end(), std::back_inserter(own), [&](const Pair& p) { return p.system->links == links; });
  return own.empty() ? pairs : own;
}

/// Of each system's time at `to` over its forecast by the others.
std::vector<double> forecasts_of_others(const std::vector<Pair>& pairs) {
  std::vector<double> out;
  for (const Pair& held : pairs) {
    std::vector<Pair> others;
    std::copy_if(
        pairs.begin(), pairs.end(), std::back_inserter(others), [&](const Pair& p) { return p.system != held.system; });
    if (others.empty()) continue;
    CollectiveGrowth growth;
    growth.points = median_ratios(nearest(others, held.system->links));
    for (const auto& point : growth.points) {
      const double buffer = point.buffer.value();
      out.push_back(time_of_buffer(*held.to, buffer) / (time_of_buffer(*held.from, buffer) * point.ratio));
    }
  }
  return out;
}

/// Where one system alone knows the step.
constexpr Spread untried{0.75, 1.35};

}  // namespace

std::vector<CollectiveGrowth> fit_growth(
    std::span<const MeasuredSystem> systems, const std::string& links, FabricKind fabric) {
  std::vector<CollectiveGrowth> out;
  for (const auto& [step, pairs] : pairs_of(systems, fabric)) {
    const std::vector<Pair> near = nearest(pairs, links);
    std::set<std::string> names;
    for (const Pair& pair : near) names.insert(pair.system->id);
    CollectiveGrowth growth;
    std::tie(growth.kind, growth.from, growth.to) = step;
    growth.fabric = fabric;
    growth.points = median_ratios(near);
    growth.learned_on = fmt::format("{}", fmt::join(names, ", "));
    const std::vector<double> held_out = forecasts_of_others(pairs);
    growth.spread = held_out.empty() ? untried : Spread{percentile(held_out, 0.1), percentile(held_out, 0.9)};
    out.push_back(std::move(growth));
  }
  return out;
}

}  // namespace stepcast::calibrate
