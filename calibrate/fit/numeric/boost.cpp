#include "calibrate/fit/numeric/boost.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <vector>

namespace stepcast::calibrate {
namespace {

/// One feature of all samples, as the number of thresholds that it is above.
struct BinnedFeature {
  std::vector<float> thresholds;
  std::vector<std::uint8_t> bin;
  [[nodiscard]] std::size_t bins() const { return thresholds.size() + 1; }
};

/// Halfway between neighbouring values: at most `bins` - 1 of them, at even shares of the samples.
std::vector<float> thresholds_of(std::vector<float> values, int bins) {
  std::sort(values.begin(), values.end());
  std::vector<float> distinct = values;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<float> thresholds;
  const auto halfway_below = [&](float value) {
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), value);
    if (at != distinct.begin()) thresholds.push_back((*at + *(at - 1)) / 2);
  };
  if (distinct.size() <= static_cast<std::size_t>(bins)) {
    for (std::size_t i = 1; i < distinct.size(); ++i) halfway_below(distinct[i]);
  } else {
    for (int b = 1; b < bins; ++b) halfway_below(values[values.size() * b / bins]);
  }
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  return thresholds;
}

std::vector<BinnedFeature> binned(std::span<const float> features, std::size_t width, int bins) {
  const std::size_t count = features.size() / width;
  std::vector<BinnedFeature> out(width);
  std::vector<float> values(count);
  for (std::size_t f = 0; f < width; ++f) {
    for (std::size_t i = 0; i < count; ++i) values[i] = features[i * width + f];
    out[f].thresholds = thresholds_of(values, bins);
    for (const float value : values) {
      const auto above = std::lower_bound(out[f].thresholds.begin(), out[f].thresholds.end(), value);
      out[f].bin.push_back(static_cast<std::uint8_t>(above - out[f].thresholds.begin()));
    }
  }
  return out;
}

struct Cell {
  float sum = 0, count = 0;
};

struct Question {
  double gain = -1;
  std::size_t feature = 0, threshold = 0;
};

/// The best threshold of one feature: splits every cell of the table so far at the same place.
Question best_threshold(const BinnedFeature& feature, std::size_t index, const std::vector<std::uint8_t>& cell_of,
    std::size_t cells, std::span<const float> residual, double shrink, std::vector<Cell>& histogram) {
  const std::size_t bins = feature.bins();
  histogram.assign(cells * bins, {});
  for (std::size_t i = 0; i < residual.size(); ++i) {
    Cell& cell = histogram[cell_of[i] * bins + feature.bin[i]];
    cell.sum += residual[i];
    cell.count += 1;
  }
  std::vector<double> gains(bins - 1, 0);
  for (std::size_t c = 0; c < cells; ++c) {
    const Cell* row = histogram.data() + c * bins;
    double sum = 0, count = 0, below_sum = 0, below_count = 0;
    for (std::size_t b = 0; b < bins; ++b) sum += row[b].sum, count += row[b].count;
    for (std::size_t b = 0; b + 1 < bins; ++b) {
      below_sum += row[b].sum;
      below_count += row[b].count;
      const double above = sum - below_sum;
      gains[b] += below_sum * below_sum / (below_count + shrink) + above * above / (count - below_count + shrink);
    }
  }
  const auto best = std::max_element(gains.begin(), gains.end());
  return {*best, index, static_cast<std::size_t>(best - gains.begin())};
}

class Booster {
 public:
  Booster(
      std::span<const float> features, std::size_t width, std::span<const double> target, const BoostOptions& options)
      : options_(options), features_(binned(features, width, options.bins)), left_(target.begin(), target.end()) {
    out_.depth = options.depth;
    for (std::size_t f = 0; f < width; ++f) {
      float low = features[f], high = features[f];
      for (std::size_t i = f; i < features.size(); i += width)
        low = std::min(low, features[i]), high = std::max(high, features[i]);
      out_.low.push_back(low);
      out_.high.push_back(high);
    }
  }

  Correction fit() {
    const bool any =
        std::any_of(features_.begin(), features_.end(), [](const auto& f) { return !f.thresholds.empty(); });
    for (int t = 0; any && t < options_.tables; ++t) add_table();
    return std::move(out_);
  }

 private:
  void add_table() {
    const auto clip = static_cast<float>(options_.clip);
    residual_.resize(left_.size());
    for (std::size_t i = 0; i < left_.size(); ++i) residual_[i] = std::clamp(static_cast<float>(left_[i]), -clip, clip);
    std::vector<std::uint8_t> cell_of(left_.size(), 0);
    for (int d = 0; d < options_.depth; ++d) ask(d, cell_of);
    fill(cell_of);
  }

  void ask(int depth, std::vector<std::uint8_t>& cell_of) {
    Question best;
    for (std::size_t f = 0; f < features_.size(); ++f) {
      if (features_[f].thresholds.empty()) continue;
      const Question q =
          best_threshold(features_[f], f, cell_of, std::size_t{1} << depth, residual_, options_.shrink, histogram_);
      if (q.gain > best.gain) best = q;
    }
    const BinnedFeature& feature = features_[best.feature];
    for (std::size_t i = 0; i < cell_of.size(); ++i)
      cell_of[i] |= static_cast<std::uint8_t>((feature.bin[i] > best.threshold) << depth);
    out_.feature.push_back(static_cast<std::uint8_t>(best.feature));
    out_.threshold.push_back(feature.thresholds[best.threshold]);
  }

  void fill(const std::vector<std::uint8_t>& cell_of) {
    std::vector<Cell> cells(std::size_t{1} << options_.depth);
    for (std::size_t i = 0; i < cell_of.size(); ++i)
      cells[cell_of[i]].sum += residual_[i], cells[cell_of[i]].count += 1;
    const std::size_t first = out_.value.size();
    for (const Cell& cell : cells)
      out_.value.push_back(static_cast<float>(options_.rate * cell.sum / (cell.count + options_.shrink)));
    for (std::size_t i = 0; i < cell_of.size(); ++i) left_[i] -= out_.value[first + cell_of[i]];
  }

  BoostOptions options_;
  std::vector<BinnedFeature> features_;
  std::vector<double> left_;  ///< of the target
  std::vector<float> residual_;
  std::vector<Cell> histogram_;
  Correction out_;
};

}  // namespace

Correction boost(
    std::span<const float> features, int width, std::span<const double> target, const BoostOptions& options) {
  assert(width > 0 && features.size() == target.size() * static_cast<std::size_t>(width) && !target.empty());
  assert(options.depth >= 1 && options.depth <= 8 && options.bins <= 255);
  return Booster(features, static_cast<std::size_t>(width), target, options).fit();
}

}  // namespace stepcast::calibrate
