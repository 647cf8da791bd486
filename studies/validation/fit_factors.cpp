// One compute factor per stack, precision and GPU, by trying values.
#include <cmath>
#include <map>
#include <tuple>

#include "studies/validation/validation.h"

namespace stepcast {
namespace {

using Key = std::tuple<std::string, std::string, std::string>;
struct Trial { double log_error = 0, error = 0; std::size_t n = 0; };

/// Dense runs of short context say most about the products alone; keys that have some are fitted on those.
std::map<Key, Trial> errors_at(const std::vector<Run>& runs, double factor) {
  std::map<Key, Trial> plain, all;
  for (const ValidatedCase& row : validate_runs(runs, factor).cases) {
    const auto add = [&](Trial& trial) {
      trial.log_error += std::abs(std::log(row.predicted_s / row.measured_s));
      trial.error += std::abs(row.error);
      ++trial.n;
    };
    const Key key{row.stack, row.precision, row.gpu};
    add(all[key]);
    if (row.kind == "dense") add(plain[key]);
  }
  for (auto& [key, trial] : all)
    if (const auto found = plain.find(key); found != plain.end()) trial = found->second;
  return all;
}

}  // namespace

std::vector<FittedFactor> fit_factors(const std::vector<Run>& runs) {
  constexpr int lowest = 80, highest = 180, step = 2;  // percent
  std::map<Key, FittedFactor> best;
  std::map<Key, double> least;
  for (int percent = lowest; percent <= highest; percent += step) {
    const double factor = percent / 100.0;
    for (const auto& [key, trial] : errors_at(runs, factor)) {
      const double mape = trial.error / static_cast<double>(trial.n);
      FittedFactor& row = best[key];
      if (percent == 100) row.unfitted_mape = mape;
      const auto [known, fresh] = least.try_emplace(key, trial.log_error);
      if (!fresh && known->second <= trial.log_error) continue;
      known->second = trial.log_error;
      row.stack = std::get<0>(key), row.precision = std::get<1>(key), row.gpu = std::get<2>(key);
      row.n = trial.n, row.factor = factor, row.mape = mape;
    }
  }
  std::vector<FittedFactor> rows;
  for (const auto& [key, row] : best) rows.push_back(row);
  return rows;
}

}  // namespace stepcast
