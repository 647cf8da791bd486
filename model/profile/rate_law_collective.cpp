// Collective time within one fabric: size curves, and their transfer to rank counts and kinds that nobody measured.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <span>

#include "model/profile/collective_law.h"

namespace stepcast {
namespace {

/// The saturating law without its latency: x/bandwidth * (1 + (half/x)^p).
double saturating_time(const CollectiveCurve& curve, double x) {
  const double line = x / curve.bandwidth.value(), half = curve.half.value();
  if (x <= 0 || half <= 0) return line;
  if (curve.p == 1) return line + half / curve.bandwidth.value();
  return line * (1 + std::pow(half / x, curve.p));
}

double interpolated_time(const std::vector<CollectiveCurve::Point>& points, Bytes received) {
  const auto above = std::lower_bound(
      points.begin() + 1, points.end() - 1, received, [](const auto& point, Bytes x) { return point.received < x; });
  const auto below = above - 1;
  const double share = std::log(received / below->received) / std::log(above->received / below->received);
  return below->time.value() * std::pow(above->time / below->time, share);
}

/// Latency of a ring-like kind grows linearly in ranks. With two fitted counts the line goes through both; with one it
/// rises by 0.1 of the two-rank latency per rank, which A100 to B200 all_gather tables show (1 KiB to 4 KiB, 2 to 8
/// ranks: 0.10 to 0.18, ai-dynamo/aiconfigurator 095f58a).
double latency_growth(const Profile& profile, const CollectiveCurve& near, int ranks) {
  if (near.kind == CollectiveKind::all_to_all || near.kind == CollectiveKind::send_recv) return 1;
  const CollectiveCurve* other = nullptr;
  for (const CollectiveCurve& curve : profile.collectives) {
    if (curve.kind != near.kind || curve.fabric != near.fabric || curve.ranks == near.ranks || curve.nodes > 1)
      continue;
    if (!other || std::abs(curve.ranks - ranks) < std::abs(other->ranks - ranks)) other = &curve;
  }
  const double at_near = near.latency.value();
  double slope = 0.1 * at_near / (0.8 + 0.1 * near.ranks);
  if (other) slope = std::max(0.0, (other->latency.value() - at_near) / (other->ranks - near.ranks));
  if (at_near <= 0) return 1;
  return std::max(0.25, 1 + slope * (ranks - near.ranks) / at_near);
}

RatedTime transferred(RatedTime rated) {
  // A guess stays a guess; a measurement at another count or of another kind becomes a transfer.
  if (rated.source == Source::measured || rated.source == Source::fitted) rated.source = Source::transferred;
  return rated;
}

/// Held out one rank count, nearest-count transfer is off by 8-15 % a doubling away: widen by 12 % either way.
Spread widened(Spread spread) { return {spread.p10 / 1.12, spread.p90 * 1.12}; }

bool same_links(FabricKind a, FabricKind b) {
  const auto nvlink = [](FabricKind f) { return f == FabricKind::nvswitch || f == FabricKind::nvlink_mesh; };
  return a == b || (nvlink(a) && nvlink(b));
}

/// What is known of the step from the curve's count to `ranks`.
const CollectiveGrowth* find_growth(const Profile& profile, const CollectiveCurve& curve, int ranks) {
  for (const CollectiveGrowth& growth : profile.growth)
    if (growth.kind == curve.kind && growth.from == curve.ranks && growth.to == ranks &&
        same_links(growth.fabric, curve.fabric))
      return &growth;
  return nullptr;
}

/// Below tables that begin small, all sizes take the latency that the first one shows.
bool outside_points(const CollectiveCurve& curve, Bytes received) {
  constexpr Bytes small(65536);
  const auto& points = curve.points;
  if (points.size() < 2) return false;
  return received > points.back().received || (received < points.front().received && points.front().received > small);
}

RatedTime time_at(const Profile& profile, const CollectiveCurve& curve, int ranks, Bytes received) {
  if (curve.ranks == ranks)
    return {curve_time(curve, received), curve.source, curve_spread(curve, received), &curve,
        outside_points(curve, received)};
  // Same buffer on both counts: the bandwidth term scales with the bytes that one rank receives.
  const double scale = received_share(curve.kind, ranks) / received_share(curve.kind, curve.ranks);
  const Seconds near = curve_time(curve, received / scale);
  const bool outside = outside_points(curve, received / scale);
  if (const CollectiveGrowth* growth = find_growth(profile, curve, ranks)) {
    const Bytes buffer = received / received_share(curve.kind, ranks);
    return transferred({near * growth_at(*growth, buffer), curve.source, growth->spread, &curve, outside});
  }
  const Seconds latency = std::min(curve.latency, near);
  const Seconds time = latency * latency_growth(profile, curve, ranks) + (near - latency) * scale;
  return transferred({time, curve.source, widened(curve_spread(curve, received / scale)), &curve, outside});
}

struct Relative {
  CollectiveKind kind;
  double share, repeats;
};

/// Where to look when a kind was not measured: the same bytes received, over a related pattern.
std::span<const Relative> relatives(CollectiveKind kind) {
  using enum CollectiveKind;
  static constexpr Relative gathers[] = {{reduce_scatter, 1, 1}, {all_reduce, 1, 1}, {all_to_all, 1, 1}};
  static constexpr Relative scatters[] = {{all_gather, 1, 1}, {all_reduce, 1, 1}, {all_to_all, 1, 1}};
  static constexpr Relative reduces[] = {{all_gather, 0.5, 2}, {reduce_scatter, 0.5, 2}};  // scatter, then gather
  static constexpr Relative exchanges[] = {{all_gather, 1, 1}, {reduce_scatter, 1, 1}, {all_reduce, 1, 1}};
  static constexpr Relative sends[] = {
      {all_gather, 1, 1}, {all_to_all, 1, 1}, {all_reduce, 1, 1}};  // two ranks swap halves
  switch (kind) {
    case all_gather: return gathers;
    case reduce_scatter: return scatters;
    case all_reduce: return reduces;
    case all_to_all: return exchanges;
    case send_recv: return sends;
    case broadcast: return sends;
    case reduce: return sends;
  }
  std::abort();
}

}  // namespace

Seconds curve_time(const CollectiveCurve& curve, Bytes received) {
  assert(curve.bandwidth.value() > 0);
  const auto law = [&](Bytes x) { return curve.latency + Seconds(saturating_time(curve, x.value())); };
  const auto& points = curve.points;
  if (points.size() < 2) return law(received);
  // Outside the measured range the law, joined to the end points, so that time never falls or jumps with size.
  const auto &first = points.front(), &last = points.back();
  if (received < first.received) return first.time * (law(received) / law(first.received));
  if (received > last.received) return last.time + law(received) - law(last.received);
  return Seconds(interpolated_time(points, received));
}

Spread curve_spread(const CollectiveCurve& curve, Bytes received) {
  const auto& widths = curve.widths;
  if (widths.empty()) return curve.spread;
  if (received <= widths.front().received) return widths.front().spread;
  if (received >= widths.back().received) return widths.back().spread;
  const auto above =
      std::upper_bound(widths.begin(), widths.end(), received, [](Bytes x, const auto& w) { return x < w.received; });
  const auto& [x0, low] = *(above - 1);
  const auto& [x1, high] = *above;
  const double share = std::log(received / x0) / std::log(x1 / x0);
  return {low.p10 + share * (high.p10 - low.p10), low.p90 + share * (high.p90 - low.p90)};
}

double growth_at(const CollectiveGrowth& growth, Bytes buffer) {
  const auto& points = growth.points;
  assert(!points.empty());
  if (buffer <= points.front().buffer) return points.front().ratio;
  if (buffer >= points.back().buffer) return points.back().ratio;
  const auto above =
      std::upper_bound(points.begin(), points.end(), buffer, [](Bytes x, const auto& p) { return x < p.buffer; });
  const auto below = above - 1;
  const double share = std::log(buffer / below->buffer) / std::log(above->buffer / below->buffer);
  return below->ratio * std::pow(above->ratio / below->ratio, share);
}

const CollectiveCurve* find_curve(const Profile& profile, CollectiveKind kind, FabricKind fabric, int ranks) {
  const CollectiveCurve* best = nullptr;
  double best_ratio = 0;
  for (const CollectiveCurve& curve : profile.collectives) {
    if (curve.nodes > 1 || curve.kind != kind || !same_links(curve.fabric, fabric)) continue;
    if (curve.ranks == ranks) return &curve;
    const double ratio = static_cast<double>(std::max(curve.ranks, ranks)) / std::min(curve.ranks, ranks);
    if (!best || ratio < best_ratio || (ratio == best_ratio && curve.ranks > best->ranks))
      best = &curve, best_ratio = ratio;
  }
  return best;
}

std::optional<RatedTime> collective_time(
    const Profile& profile, CollectiveKind kind, FabricKind fabric, int ranks, Bytes received) {
  assert(ranks >= 1);
  if (ranks == 1) return RatedTime{Seconds(0), Source::measured, {}, nullptr};
  const int wanted = kind == CollectiveKind::send_recv ? 2 : ranks;
  if (const CollectiveCurve* curve = find_curve(profile, kind, fabric, wanted))
    return time_at(profile, *curve, wanted, received);
  for (const Relative& relative : relatives(kind)) {
    const CollectiveCurve* curve = find_curve(profile, relative.kind, fabric, wanted);
    if (!curve) continue;
    RatedTime rated = time_at(profile, *curve, wanted, received * relative.share);
    rated.time = rated.time * relative.repeats;
    rated.spread = widened(rated.spread);
    return transferred(rated);
  }
  return std::nullopt;
}

Seconds all_reduce_time(const EngineAllReduce& law, Bytes buffer) {
  const auto& points = law.points;
  if (buffer <= points.front().buffer) return points.front().time;
  if (buffer >= points.back().buffer) return points.back().time * (buffer / points.back().buffer);
  const auto above = std::ranges::upper_bound(points, buffer, {}, &EngineAllReduce::Point::buffer), below = above - 1;
  const double share = std::log(buffer / below->buffer) / std::log(above->buffer / below->buffer);
  return below->time * std::pow(above->time / below->time, share);
}

const EngineAllReduce* find_all_reduce(const Profile& profile, std::string_view software, bool captured, int ranks) {
  for (const EngineAllReduce& law : profile.engine_all_reduces)
    if (law.captured == captured && law.ranks == ranks && law.software.starts_with(software)) return &law;
  return nullptr;
}

}  // namespace stepcast
