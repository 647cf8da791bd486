#include "calibrate/fit/numeric/refine.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "calibrate/fit/numeric/boost.h"
#include "model/base/percentile.h"

namespace stepcast::calibrate {
namespace {

/// Below, tables have too little to learn from: 64 to 256 samples leave corrections at or behind the base law.
constexpr std::size_t fewest_to_correct = 200, many = 600;
/// Up to here a second, finer set of tables is tried: layers of experts differ by more than 15 % from any smooth law.
constexpr std::size_t most_to_try_fine = 4000;
/// Above, a fold's base law is that of all samples: four parameters do not notice a fifth of a thousand.
constexpr std::size_t enough_for_one_base = 500;
/// A correction has to take away this share of the error.
constexpr double least_gain = 0.02;
/// Residuals below it are rounding of the tables.
constexpr double smallest_residual = 0.003;

/// What to try, coarse first: a finer one has to earn its size.
std::vector<BoostOptions> correction_options(std::size_t samples) {
  if (samples < many) return {{.tables = 40, .depth = 3, .shrink = 5}};
  std::vector<BoostOptions> options{{}};
  if (samples <= most_to_try_fine) options.push_back({.tables = 160, .depth = 6, .shrink = 2, .clip = 0.4});
  return options;
}

/// The width of intervals varies slowly; strong shrinkage keeps it from following single samples.
constexpr BoostOptions width_options{.tables = 30, .depth = 3, .bins = 16, .rate = 0.15, .shrink = 30, .clip = 1.5};

class Refiner {
 public:
  Refiner(const RefineProblem& problem, const RefineOptions& options)
      : problem_(problem), options_(options), count_(problem.measured.size()) {
    const auto folds = static_cast<std::uint64_t>(std::max(2.0, std::round(1 / options.hold_out)));
    for (const std::uint64_t shape : problem.shape) fold_.push_back(static_cast<std::size_t>(shape % folds));
    folds_ = static_cast<std::size_t>(folds);
  }

  Refined run() {
    Refined out;
    const std::vector<double> base = log_of(problem_.base(all()));
    const std::vector<double> plain = base_held_out(base);
    out.base_mape = mape(plain);
    std::vector<double> forecast = plain;
    if (options_.correct && count_ >= fewest_to_correct) {
      double best = out.base_mape;
      for (const BoostOptions& how : correction_options(count_)) {
        const std::vector<double> corrected = corrected_held_out(base, how);
        if (mape(corrected) >= best * (1 - least_gain)) continue;
        best = mape(corrected);
        forecast = corrected;
        out.refinement.correction = correction(all(), base, how);
      }
    }
    out.base_spread = spread_of(residuals(plain));
    add_interval(forecast, out);
    for (const double value : forecast) out.predicted.push_back(std::exp(value));
    return out;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> all() const {
    std::vector<std::size_t> indices(count_);
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    return indices;
  }
  [[nodiscard]] std::vector<std::size_t> without(std::size_t fold) const {
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < count_; ++i)
      if (fold_[i] != fold) kept.push_back(i);
    return kept;
  }
  static std::vector<double> log_of(std::vector<double> values) {
    for (double& value : values) value = std::log(value);
    return values;
  }
  [[nodiscard]] double log_measured(std::size_t i) const { return std::log(problem_.measured[i]); }
  [[nodiscard]] std::span<const float> features_of(std::size_t i) const {
    return std::span(problem_.features).subspan(i * problem_.width, problem_.width);
  }

  /// Logarithms of base forecasts, each sample by the law of the other folds.
  std::vector<double> base_held_out(const std::vector<double>& base_of_all) {
    if (count_ >= enough_for_one_base) return base_of_all;
    std::vector<double> out = base_of_all;
    for (std::size_t fold = 0; fold < folds_; ++fold) {
      const auto kept = without(fold);
      if (kept.empty() || kept.size() == count_) continue;
      const auto base = log_of(problem_.base(kept));
      for (std::size_t i = 0; i < count_; ++i)
        if (fold_[i] == fold) out[i] = base[i];
    }
    return out;
  }

  Correction boosted(
      const std::vector<std::size_t>& kept, const std::vector<double>& target, const BoostOptions& how) const {
    std::vector<float> features;
    std::vector<double> targets;
    for (const std::size_t i : kept) {
      const auto own = features_of(i);
      features.insert(features.end(), own.begin(), own.end());
      targets.push_back(target[i]);
    }
    return boost(features, problem_.width, targets, how);
  }

  Correction correction(
      const std::vector<std::size_t>& kept, const std::vector<double>& base, const BoostOptions& how) const {
    std::vector<double> target(count_);
    for (std::size_t i = 0; i < count_; ++i) target[i] = log_measured(i) - base[i];
    return boosted(kept, target, how);
  }

  std::vector<double> corrected_held_out(const std::vector<double>& base, const BoostOptions& how) const {
    std::vector<double> out = base;
    for (std::size_t fold = 0; fold < folds_; ++fold) {
      const Correction own = correction(without(fold), base, how);
      for (std::size_t i = 0; i < count_; ++i)
        if (fold_[i] == fold) out[i] += sum_at(own, features_of(i));
    }
    return out;
  }

  [[nodiscard]] std::vector<double> residuals(const std::vector<double>& forecast) const {
    std::vector<double> out(count_);
    for (std::size_t i = 0; i < count_; ++i) out[i] = log_measured(i) - forecast[i];
    return out;
  }

  [[nodiscard]] double mape(const std::vector<double>& forecast) const {
    double sum = 0;
    for (std::size_t i = 0; i < count_; ++i) sum += std::abs(std::expm1(forecast[i] - log_measured(i)));
    return sum / static_cast<double>(count_);
  }

  /// How wide each sample's interval is against the usual one, by the residuals of the other folds; and the model of
  /// all.
  std::vector<double> widths(const std::vector<double>& residual, Correction& width) const {
    std::vector<double> out(count_, 1);
    if (count_ < fewest_to_correct) return out;
    std::vector<double> target(count_);
    for (std::size_t i = 0; i < count_; ++i) target[i] = std::log(std::abs(residual[i]) + smallest_residual);
    const double usual = std::accumulate(target.begin(), target.end(), 0.0) / static_cast<double>(count_);
    for (double& value : target) value -= usual;
    for (std::size_t fold = 0; fold < folds_; ++fold) {
      const Correction own = boosted(without(fold), target, width_options);
      for (std::size_t i = 0; i < count_; ++i)
        if (fold_[i] == fold) out[i] = std::exp(sum_at(own, features_of(i)));
    }
    width = boosted(all(), target, width_options);
    return out;
  }

  /// 10th and 90th percentile of residuals over widths; few samples do not reach their own tails.
  static Spread spread_of(const std::vector<double>& scaled) {
    const double share = 0.1 * (1 - 1 / std::sqrt(static_cast<double>(scaled.size())));
    return {std::exp(percentile(scaled, share)), std::exp(percentile(scaled, 1 - share))};
  }

  void add_interval(const std::vector<double>& forecast, Refined& out) const {
    const std::vector<double> residual = residuals(forecast);
    std::vector<double> errors, scaled(count_);
    for (const double r : residual) errors.push_back(std::abs(std::expm1(-r)));
    const std::vector<double> width = widths(residual, out.refinement.width);
    for (std::size_t i = 0; i < count_; ++i) scaled[i] = residual[i] / width[i];
    out.refinement.spread = spread_of(scaled);
    out.bias = std::exp(percentile(residual, 0.5));
    out.refinement.held_out = {
        mape(forecast), percentile(errors, 0.5), percentile(errors, 0.95), coverage(scaled), static_cast<int>(count_)};
  }

  /// Each fold against the percentiles of the others.
  [[nodiscard]] double coverage(const std::vector<double>& scaled) const {
    std::size_t inside = 0, tried = 0;
    for (std::size_t fold = 0; fold < folds_; ++fold) {
      std::vector<double> others;
      for (std::size_t i = 0; i < count_; ++i)
        if (fold_[i] != fold) others.push_back(scaled[i]);
      if (others.empty() || others.size() == count_) continue;
      const Spread spread = spread_of(others);
      for (std::size_t i = 0; i < count_; ++i) {
        if (fold_[i] != fold) continue;
        ++tried;
        if (scaled[i] >= std::log(spread.p10) && scaled[i] <= std::log(spread.p90)) ++inside;
      }
    }
    return tried > 0 ? static_cast<double>(inside) / static_cast<double>(tried) : 0;
  }

  const RefineProblem& problem_;
  RefineOptions options_;
  std::size_t count_;
  std::vector<std::size_t> fold_;
  std::size_t folds_ = 2;
};

}  // namespace

Refined refine(const RefineProblem& problem, const RefineOptions& options) { return Refiner(problem, options).run(); }

std::uint64_t hash_of(std::initializer_list<double> numbers) {
  // splitmix64's increment; its finaliser mixes (Steele et al., OOPSLA 2014)
  std::uint64_t hash = 0x9E3779B97F4A7C15ull;
  for (const double number : numbers) {
    hash ^= std::bit_cast<std::uint64_t>(number);
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9ull;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBull;
    hash ^= hash >> 31;
  }
  return hash;
}

}  // namespace stepcast::calibrate
