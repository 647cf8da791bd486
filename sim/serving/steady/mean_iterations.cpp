#include "sim/serving/steady/mean_iterations.h"

#include <algorithm>
#include <cmath>

namespace stepcast::sim {
namespace {

/// Above it a whole number more or less is no step that counts; fewer are many beside prompts, which take the time.
constexpr double many_words = 24, many_beside = 6, many_prompts = 24;

template <class Time> double between(double x, double many, const Time& time) {
  if (x >= many) return time(std::round(x));
  const double below = std::floor(x), share = x - below;
  constexpr double none = 1e-6;
  if (share < none) return time(below);
  return (1 - share) * time(below) + share * time(below + 1);
}

}  // namespace

double MeanIterations::time(double sequences, double prompts, double positions) const {
  Batch batch;
  batch.words = sequences, batch.contexts = sequences * means_.context();
  batch.prompts = prompts, batch.positions = positions, batch.pairs = positions * means_.behind();
  return (*timer_)(batch).value();
}

double MeanIterations::words(double sequences) const {
  return between(std::max(1.0, sequences), many_words, [&](double whole) { return time(whole, 0, 0); });
}

double MeanIterations::mixed(double sequences, double prompts, double positions) const {
  prompts = std::max(1.0, prompts);
  const double each = positions / prompts;
  return between(prompts, many_prompts, [&](double rows) {
    return between(std::max(0.0, sequences), many_beside, [&](double whole) { return time(whole, rows, rows * each); });
  });
}

}  // namespace stepcast::sim
