#include "calibrate/measure/plan/design.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepcast::calibrate {
namespace {

Shape in_doublings(const Shape& shape) {
  Shape out{};
  std::transform(shape.begin(), shape.end(), out.begin(), [](double size) { return std::log2(size); });
  return out;
}

double squared_distance(const Shape& a, const Shape& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

/// The middle of the box that holds all points.
Shape middle_of_box(const std::vector<Shape>& points) {
  Shape low = points.front(), high = points.front();
  for (const Shape& point : points)
    for (std::size_t i = 0; i < point.size(); ++i) {
      low[i] = std::min(low[i], point[i]);
      high[i] = std::max(high[i], point[i]);
    }
  Shape middle{};
  for (std::size_t i = 0; i < middle.size(); ++i) middle[i] = (low[i] + high[i]) / 2;
  return middle;
}

std::vector<double> squared_distances(const std::vector<Shape>& points, const Shape& to) {
  std::vector<double> out;
  for (const Shape& point : points) out.push_back(squared_distance(point, to));
  return out;
}

/// "1, 2, 4, ... and 1.5, 3, 6, ...": sizes between the bounds, two to a doubling.
std::vector<double> half_doublings(double least, double most) {
  std::vector<double> out;
  for (double size = least; size <= most; size *= 2) {
    out.push_back(size);
    if (1.5 * size <= most) out.push_back(1.5 * size);
  }
  return out;
}

std::vector<Shape> every_shape(const std::vector<double>& ms, const std::vector<double>& others) {
  std::vector<Shape> out;
  for (const double m : ms)
    for (const double n : others)
      for (const double k : others) out.push_back({m, n, k});
  return out;
}

}  // namespace

std::vector<Shape> farthest_points(std::span<const Shape> candidates, std::span<const Shape> taken, std::size_t count) {
  std::vector<Shape> out, points;
  if (candidates.empty()) return out;
  std::transform(candidates.begin(), candidates.end(), std::back_inserter(points), in_doublings);
  // How far each candidate is from what is taken so far.
  std::vector<double> apart(points.size(), std::numeric_limits<double>::infinity());
  const auto take = [&](const Shape& shape) {
    const Shape at = in_doublings(shape);
    for (std::size_t i = 0; i < points.size(); ++i) apart[i] = std::min(apart[i], squared_distance(points[i], at));
  };
  for (const Shape& shape : taken) take(shape);
  if (taken.empty() && count > 0) {
    const std::vector<double> off = squared_distances(points, middle_of_box(points));
    out.push_back(candidates[static_cast<std::size_t>(std::min_element(off.begin(), off.end()) - off.begin())]);
    take(out.back());
  }
  while (out.size() < count) {
    const auto farthest = std::max_element(apart.begin(), apart.end());  // the first of equals
    if (*farthest == 0) break;                                           // all that differ are taken
    out.push_back(candidates[static_cast<std::size_t>(farthest - apart.begin())]);
    take(out.back());
  }
  return out;
}

std::vector<Shape> training_candidates() { return every_shape(half_doublings(256, 16384), half_doublings(512, 16384)); }

std::vector<Shape> skinny_candidates() {
  return every_shape({1, 2, 4, 8, 16, 32, 64, 128, 256}, {1024, 2048, 4096, 8192, 16384});
}

// Vocabularies: GPT-2 50257, Qwen2 151936, Llama 3 128256, Llama 2 32000. 5461 is 8/3 x 2048, a SwiGLU width that
// nobody rounded: odd rows leave the 16-byte alignment that tensor-core kernels want.
std::vector<Shape> edge_shapes() {
  return {{2049, 4096, 4096}, {2048, 50257, 2048}, {129, 4096, 4096}, {2048, 151936, 4096}, {1025, 4096, 4096},
      {2048, 5461, 2048}, {513, 4096, 4096}, {2048, 128256, 4096}, {4097, 8192, 8192}, {2048, 2048, 5461},
      {257, 4096, 4096}, {4096, 32000, 4096}, {2048, 4098, 4096}, {2048, 4096, 4098}, {2048, 4100, 4096},
      {2048, 4096, 4100}, {2048, 4097, 4096}, {2048, 4104, 4096}, {2048, 4096, 4104}, {8192, 50257, 1024}};
}

}  // namespace stepcast::calibrate
