#include "calibrate/fit/numeric/smooth_curve.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "model/base/percentile.h"

namespace stepcast::calibrate {
namespace {

using Point = CollectiveCurve::Point;

struct Line {
  double value = 0, slope = 0;
};

/// Weighted least squares of y over x - `at`.
Line line_through(std::span<const double> x, std::span<const double> y, std::span<const double> weight, double at) {
  double s = 0, sx = 0, sxx = 0, sy = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double w = weight[i], d = x[i] - at;
    s += w, sx += w * d, sxx += w * d * d, sy += w * y[i], sxy += w * d * y[i];
  }
  const double determinant = s * sxx - sx * sx;
  if (determinant <= 1e-9 * s * s) return {sy / s, 0};
  return {(sxx * sy - sx * sxy) / determinant, (s * sxy - sx * sy) / determinant};
}

/// Residuals beyond this count ever less: twice the noise of sound tables (repeats of one size: 1 to 5 %).
constexpr double knee = 0.1;
constexpr int passes = 3;
/// Bells end here.
constexpr double reach = 4;

double smoothed_at(
    std::span<const double> x, std::span<const double> y, std::span<const double> count, std::size_t at, double width) {
  const auto in_reach = [&](double there) { return std::abs(there - x[at]) <= reach * width; };
  std::size_t first = at, last = at;
  while (first > 0 && in_reach(x[first - 1])) --first;
  while (last + 1 < x.size() && in_reach(x[last + 1])) ++last;
  const auto part = [&](std::span<const double> of) { return of.subspan(first, last - first + 1); };
  std::vector<double> bell, weight;
  for (std::size_t i = first; i <= last; ++i) {
    const double d = (x[i] - x[at]) / width;
    bell.push_back(std::sqrt(count[i]) * std::exp(-0.5 * d * d));
  }
  weight = bell;
  Line line;
  for (int pass = 0; pass < passes; ++pass) {
    line = line_through(part(x), part(y), weight, x[at]);
    for (std::size_t i = first; i <= last; ++i) {
      const double residual = std::abs(y[i] - line.value - line.slope * (x[i] - x[at]));
      weight[i - first] = bell[i - first] * std::min(1.0, knee / std::max(residual, 1e-12));
    }
  }
  return line.value;
}

/// The rising sequence of least weighted squares (pool adjacent violators).
void make_rise(std::vector<double>& y, std::span<const double> weight) {
  struct Block {
    double mean, weight;
    std::size_t size;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < y.size(); ++i) {
    blocks.push_back({y[i], weight[i], 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean > blocks.back().mean) {
      const Block last = blocks.back();
      blocks.pop_back();
      Block& before = blocks.back();
      before.mean = (before.mean * before.weight + last.mean * last.weight) / (before.weight + last.weight);
      before.weight += last.weight;
      before.size += last.size;
    }
  }
  std::size_t i = 0;
  for (const Block& block : blocks)
    for (std::size_t k = 0; k < block.size; ++k) y[i++] = block.mean;
}

}  // namespace

std::vector<SizeMedian> medians_by_size(std::span<const Point> calls) {
  std::map<double, std::vector<double>> by_size;
  for (const Point& call : calls)
    if (call.received.value() > 0) by_size[call.received.value()].push_back(call.time.value());
  std::vector<SizeMedian> out;
  for (const auto& [size, times] : by_size)
    out.push_back({size, percentile(times, 0.5), static_cast<int>(times.size())});
  return out;
}

std::vector<Point> smoothed(std::span<const SizeMedian> medians, double width) {
  std::vector<double> x, y, count, smooth;
  for (const SizeMedian& m : medians) {
    x.push_back(std::log(m.size));
    y.push_back(std::log(m.time));
    count.push_back(m.count);
  }
  for (std::size_t i = 0; i < x.size(); ++i) smooth.push_back(width > 0 ? smoothed_at(x, y, count, i, width) : y[i]);
  make_rise(smooth, count);
  std::vector<Point> out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back({Bytes(medians[i].size), Seconds(std::exp(smooth[i]))});
  return out;
}

std::vector<Point> thinned(const std::vector<Point>& points, double apart) {
  std::vector<Point> kept;
  for (const Point& point : points)
    if (kept.empty() || point.received / kept.back().received >= apart) kept.push_back(point);
  if (!kept.empty() && kept.back().received < points.back().received) {
    if (kept.size() > 1) kept.pop_back();
    kept.push_back(points.back());
  }
  return kept;
}

}  // namespace stepcast::calibrate
