#include "calibrate/fit/fit_collective.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "calibrate/fit/numeric/holdout.h"
#include "calibrate/fit/numeric/robust_fit.h"
#include "calibrate/fit/numeric/smooth_curve.h"
#include "model/base/percentile.h"

namespace stepcast::calibrate {
namespace {

using Point = CollectiveCurve::Point;

constexpr std::size_t folds = 5;
/// Widths of smoothing that are tried, in units of log(size): a doubling is 0.7.
constexpr std::array smoothings{0.0, 0.25, 0.4, 0.6};

/// Saturating bandwidth x/B (1 + (half/x)^p) beside a latency: 5-6 % over 276 published series, where latency plus
/// x/B alone is off by 12-14 %.
void fit_outer_law(CollectiveCurve& curve, const std::vector<Point>& points) {
  std::vector<double> times;
  double best_rate = 0;
  for (const Point& point : points) {
    times.push_back(point.time.value());
    best_rate = std::max(best_rate, point.received.value() / point.time.value());
  }
  const auto set = [](CollectiveCurve& law, std::span<const double> p) {
    law.latency = Seconds(p[0]);
    law.bandwidth = BytesPerSecond(p[1]);
    law.half = Bytes(p[2]);
    law.p = p[3];
  };
  CollectiveCurve law;  // without points: curve_time evaluates the law alone
  const auto model = [&](std::span<const double> p, std::span<double> predicted) {
    set(law, p);
    for (std::size_t i = 0; i < points.size(); ++i) predicted[i] = curve_time(law, points[i].received).value();
  };
  const double fastest = *std::min_element(times.begin(), times.end());
  // Beyond 512 MiB rates still climb by 3 to 20 % (nccl-tests tables to 16 GiB on H100 and B200); a free asymptote runs
  // off.
  constexpr double climb = 1.2;
  const std::array<FitParameter, 4> parameters{{{fastest, 0.05 * fastest, 2 * fastest},
      {1.1 * best_rate, 0.9 * best_rate, climb * best_rate}, {1e6, 1e2, 1e9}, {0.6, 0.25, 1}}};
  set(curve, fit_log_error(model, times, parameters).parameters);
}

/// Curves by all smoothings, from one set of calls; the law outside is common to them.
std::vector<CollectiveCurve> curves_of(const CollectiveCurve& about, std::span<const Point> calls) {
  const std::vector<SizeMedian> medians = medians_by_size(calls);
  std::vector<CollectiveCurve> curves;
  for (const double width : smoothings) {
    CollectiveCurve curve = about;
    curve.points = smoothed(medians, width);
    if (curves.empty()) {
      fit_outer_law(curve, curve.points);
    } else {
      const CollectiveCurve& first = curves.front();
      std::tie(curve.latency, curve.bandwidth, curve.half, curve.p) =
          std::tuple(first.latency, first.bandwidth, first.half, first.p);
    }
    // Tables in steps of 2 stay whole; linear sweeps of a thousand sizes do not need all of them.
    curve.points = thinned(curve.points, 1.3);
    curves.push_back(std::move(curve));
  }
  return curves;
}

/// Forecasts of every call by the calls of other folds, per smoothing. Calls in order of size, so that neighbours fall
/// into different folds. Empty where a fold leaves fewer than 2 sizes.
std::vector<std::vector<double>> held_out_forecasts(const CollectiveCurve& about, const std::vector<Point>& calls) {
  std::vector<std::vector<double>> out(smoothings.size(), std::vector<double>(calls.size()));
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<Point> kept;
    std::vector<std::size_t> held;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (fold_of(i, folds) == fold) held.push_back(i);
      else kept.push_back(calls[i]);
    }
    if (held.empty()) continue;
    if (medians_by_size(kept).size() < 2) return {};
    const std::vector<CollectiveCurve> curves = curves_of(about, kept);
    for (std::size_t s = 0; s < curves.size(); ++s)
      for (const std::size_t i : held) out[s][i] = curve_time(curves[s], calls[i].received).value();
  }
  return out;
}

/// Mean of |log error|, single errors counted up to 0.5 so that one disturbed call does not choose.
double loss(const std::vector<Point>& calls, const std::vector<double>& predicted) {
  double sum = 0;
  for (std::size_t i = 0; i < calls.size(); ++i)
    sum += std::min(0.5, std::abs(std::log(calls[i].time.value() / predicted[i])));
  return sum / static_cast<double>(calls.size());
}

struct Residual {
  double size, ratio;
  std::size_t fold;
};  // of measured / predicted

/// The 10th and 90th percentile, further out where few residuals speak: the next one falls below the q-th of n with
/// probability q n/(n + 1) (order statistics).
Spread spread_of_few(const std::vector<double>& ratios) {
  const double n = static_cast<double>(ratios.size()), q = std::min(1.0, 0.9 * (n + 1) / n);
  return {percentile(ratios, 1 - q), percentile(ratios, q)};
}

/// Three thirds of the sizes, each with half of its neighbours: latency-bound, between, bandwidth-bound.
std::vector<CollectiveCurve::Width> widths_of(const std::vector<Residual>& residuals) {
  constexpr std::size_t enough = 60;
  if (residuals.size() < enough) return {};
  std::vector<CollectiveCurve::Width> out;
  const auto n = static_cast<std::ptrdiff_t>(residuals.size());
  for (const double centre : {0.15, 0.5, 0.85}) {
    const auto at = static_cast<std::ptrdiff_t>(centre * static_cast<double>(n));
    const auto first = std::max<std::ptrdiff_t>(0, at - n / 4), last = std::min(n, at + n / 4);
    std::vector<double> ratios;
    for (auto i = first; i < last; ++i) ratios.push_back(residuals[static_cast<std::size_t>(i)].ratio);
    const double size = residuals[static_cast<std::size_t>(at)].size;
    if (!out.empty() && size <= out.back().received.value()) continue;
    out.push_back({Bytes(size), spread_of_few(ratios)});
  }
  return out;
}

void set_spreads(CollectiveCurve& curve, const std::vector<Residual>& residuals) {
  std::vector<double> ratios;
  for (const Residual& r : residuals) ratios.push_back(r.ratio);
  curve.spread = spread_of_few(ratios);
  curve.widths = widths_of(residuals);
}

/// Share of calls inside the interval that the other folds' residuals give.
double coverage_of(const std::vector<Residual>& residuals) {
  double inside = 0;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<Residual> others;
    for (const Residual& r : residuals)
      if (r.fold != fold) others.push_back(r);
    if (others.size() == residuals.size() || others.empty()) continue;
    CollectiveCurve curve;
    set_spreads(curve, others);
    for (const Residual& r : residuals) {
      if (r.fold != fold) continue;
      const Spread spread = curve_spread(curve, Bytes(r.size));
      inside += r.ratio >= spread.p10 && r.ratio <= spread.p90;
    }
  }
  return inside / static_cast<double>(residuals.size());
}

/// A curve that nobody could hold against anything.
constexpr Spread untested{0.8, 1.25};

void add_held_out(FittedCurve& fitted, const std::vector<Point>& calls, const std::vector<double>& predicted) {
  std::vector<Residual> residuals;
  std::vector<double> errors;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    residuals.push_back({calls[i].received.value(), calls[i].time.value() / predicted[i], fold_of(i, folds)});
    errors.push_back(std::abs(predicted[i] / calls[i].time.value() - 1));
  }
  set_spreads(fitted.law, residuals);
  std::vector<double> ratios;
  for (const Residual& r : residuals) ratios.push_back(r.ratio);
  fitted.bias = percentile(ratios, 0.5);
  const double mean = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
  fitted.law.held_out = {
      mean, percentile(errors, 0.5), percentile(errors, 0.95), coverage_of(residuals), static_cast<int>(errors.size())};
}

bool nvlink(FabricKind fabric) { return fabric == FabricKind::nvswitch || fabric == FabricKind::nvlink_mesh; }

}  // namespace

Expected<FittedCurve> fit_curve(
    std::span<const Sample<CollectiveQuery>> samples, FabricKind fabric, const std::string& network) {
  // In order of size; forecasts go back to the samples' own order.
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(
      order.begin(), order.end(), [&](auto a, auto b) { return samples[a].query.bytes < samples[b].query.bytes; });
  std::vector<Point> calls;
  std::erase_if(order, [&](auto i) { return samples[i].query.bytes.value() <= 0; });
  for (const std::size_t i : order) calls.push_back({received_of(samples[i].query), samples[i].time});
  const std::size_t sizes = medians_by_size(calls).size();
  if (sizes < 2) return fail("collective calls", fmt::format("{} sizes", sizes), "at least 2");

  FittedCurve fitted;
  const CollectiveQuery& query = samples[order.front()].query;
  fitted.law.kind = query.kind;
  fitted.law.fabric = fabric;
  fitted.law.ranks = static_cast<int>(query.ranks);
  fitted.law.nodes = nvlink(fabric) ? 1 : static_cast<int>(query.nodes);
  if (fitted.law.nodes > 1) fitted.law.network = network;
  fitted.law.source = Source::measured;
  fitted.law.spread = untested;
  fitted.samples = static_cast<int>(calls.size());

  std::size_t best = 0;
  const auto forecasts = held_out_forecasts(fitted.law, calls);
  for (std::size_t s = 1; s < forecasts.size(); ++s)
    if (loss(calls, forecasts[s]) < loss(calls, forecasts[best])) best = s;
  fitted.law = curves_of(fitted.law, calls)[best];
  fitted.smoothing = smoothings[best];
  fitted.predicted.assign(samples.size(), 0);
  if (forecasts.empty()) return fitted;
  add_held_out(fitted, calls, forecasts[best]);
  for (std::size_t i = 0; i < order.size(); ++i) fitted.predicted[order[i]] = forecasts[best][i];
  return fitted;
}

std::vector<FittedCurve> fit_curves(
    std::span<const Sample<CollectiveQuery>> samples, FabricKind fabric, const std::string& network) {
  std::map<std::tuple<CollectiveKind, std::int64_t, std::int64_t>, std::vector<Sample<CollectiveQuery>>> series;
  for (const auto& sample : samples) {
    const CollectiveQuery& query = sample.query;
    series[{query.kind, query.ranks, nvlink(fabric) ? 1 : query.nodes}].push_back(sample);
  }
  std::vector<FittedCurve> curves;
  for (const auto& [key, of_one] : series)
    if (auto curve = fit_curve(of_one, fabric, network)) curves.push_back(std::move(*curve));
  return curves;
}

}  // namespace stepcast::calibrate
