#include "studies/gate/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace stepcast::gate {
namespace {

constexpr std::size_t most_exact_runs = 100;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Scores of the ranks 1..n: held between the 30th and the 70th percentile. Whole numbers.
std::vector<std::size_t> scores_of(std::size_t n) {
  const auto low = static_cast<std::size_t>(std::ceil(0.3 * static_cast<double>(n)));
  std::vector<std::size_t> scores(n);
  for (std::size_t i = 0; i < n; ++i) scores[i] = std::clamp(i + 1, low, n + 1 - low);
  return scores;
}

/// The chance of each sum of `n` of the scores, drawn by chance.
std::vector<double> law_of_sums(const std::vector<std::size_t>& scores, std::size_t n) {
  // chance[k][s]: a draw of k of the scores seen so far has the sum s. The last of them is among the k with k / seen.
  const std::size_t most = std::accumulate(scores.begin(), scores.end(), std::size_t{0});
  std::vector<std::vector<double>> chance(n + 1, std::vector<double>(most + 1, 0.0));
  chance[0][0] = 1;
  for (std::size_t seen = 1; seen <= scores.size(); ++seen) {
    const std::size_t score = scores[seen - 1];
    for (std::size_t k = std::min(n, seen); k > 0; --k) {
      const double with = static_cast<double>(k) / static_cast<double>(seen);
      for (std::size_t sum = most + 1; sum-- > 0;)
        chance[k][sum] = (1 - with) * chance[k][sum] + (sum < score ? 0 : with * chance[k - 1][sum - score]);
    }
  }
  return chance[n];
}

/// The largest sum of which it or a smaller one comes with a chance of at most `error`; -1 where there is none.
double rare_in_law(const std::vector<double>& law, double error) {
  double below = 0, rare = -1;
  for (std::size_t sum = 0; sum < law.size(); ++sum) {
    below += law[sum];
    if (below > error * (1 + 1e-12)) break;
    if (below > 0) rare = static_cast<double>(sum);
  }
  return rare;
}

/// The same by the normal law with the mean and variance of the statistic.
double rare_in_normal(const std::vector<std::size_t>& scores, std::size_t n, double error) {
  const double all = static_cast<double>(scores.size()), drawn = static_cast<double>(n);
  double sum = 0, squares = 0;
  for (const std::size_t score : scores) {
    const double value = static_cast<double>(score);
    sum += value, squares += value * value;
  }
  const double mean = sum / all, spread = squares / all - mean * mean;
  const double variance = drawn * (all - drawn) / (all - 1) * spread;
  const double rare = std::floor(drawn * mean + normal_quantile(error) * std::sqrt(variance) - 0.5);
  const auto least = std::accumulate(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(n), std::size_t{0});
  return rare < static_cast<double>(least) ? -1 : rare;
}

/// Sums of the scores of `n` of them that are too small to come by chance: of two errors.
struct RareSums {
  double alarm = -1, miss = -1;
};
RareSums rare_sums(const std::vector<std::size_t>& scores, std::size_t n, double alarm, double miss) {
  if (scores.size() > most_exact_runs) return {rare_in_normal(scores, n, alarm), rare_in_normal(scores, n, miss)};
  const std::vector<double> law = law_of_sums(scores, n);
  return {rare_in_law(law, alarm), rare_in_law(law, miss)};
}

/// The sum of the scores of `before` among both, `now` moved down by `shift`; of equal values `before` stands higher.
/// Differences are compared as they were made, so that rounding breaks no tie.
double sum_of_before(const std::vector<double>& before, const std::vector<double>& now, double shift,
    const std::vector<std::size_t>& scores) {
  double sum = 0;
  std::size_t below = 0;  // of now
  for (std::size_t i = 0; i < before.size(); ++i) {
    while (below < now.size() && now[below] - before[i] <= shift) ++below;
    sum += static_cast<double>(scores[i + below]);
  }
  return sum;
}

/// The largest difference that the true shift exceeds, but for an error. All sorted.
double lower_bound(const std::vector<double>& before, const std::vector<double>& now,
    const std::vector<double>& differences, double rare, const std::vector<std::size_t>& scores) {
  if (rare < 0) return -infinity;
  // the sum grows with the shift that is taken off, and only at a difference
  const auto kept = std::partition_point(differences.begin(), differences.end(),
      [&](double shift) { return sum_of_before(before, now, shift, scores) <= rare; });
  return kept == differences.end() ? differences.back() : *kept;
}

std::vector<double> turned(const std::vector<double>& sorted) {
  std::vector<double> values;
  for (auto value = sorted.rbegin(); value != sorted.rend(); ++value) values.push_back(-*value);
  return values;
}

/// How many of the smallest outcomes have a probability of at most `error` together.
std::size_t rank_below(const std::vector<double>& law, double error) {
  double sum = 0;
  std::size_t rank = 0;
  while (rank < law.size() && (sum += law[rank]) <= error * (1 + 1e-12)) ++rank;
  return rank;
}

std::vector<double> binomial_law(std::size_t n) {
  std::vector<double> law(n + 1);
  const double count = static_cast<double>(n);
  for (std::size_t k = 0; k <= n; ++k) {
    const double chosen = static_cast<double>(k);
    law[k] = std::exp(
        std::lgamma(count + 1) - std::lgamma(chosen + 1) - std::lgamma(count - chosen + 1) - count * std::log(2.0));
  }
  return law;
}

double middle(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/// Makes Qn right on the mean for few values: Croux and Rousseeuw 1992, "Time-efficient algorithms for two highly
/// robust estimators of scale", section 4.
double few_values_factor(std::size_t n) {
  constexpr double factors[] = {0, 0, 0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872};
  if (n < std::size(factors)) return factors[n];
  const double count = static_cast<double>(n);
  return n % 2 == 1 ? count / (count + 1.4) : count / (count + 3.8);
}

/// How many pairs of `sorted` are at most so far apart.
std::size_t pairs_within(std::span<const double> sorted, double gap) {
  std::size_t pairs = 0;
  for (std::size_t i = 0, j = 0; i < sorted.size(); ++i) {
    while (sorted[i] - sorted[j] > gap) ++j;
    pairs += i - j;
  }
  return pairs;
}

/// The gap at `place`, from 1, among those of all pairs of `sorted`: halved until few pairs are left to be looked at.
double smallest_gap(std::span<const double> sorted, std::size_t place) {
  double below = -1, upto = sorted.back() - sorted.front();
  std::size_t pairs_below = 0, pairs_upto = sorted.size() * (sorted.size() - 1) / 2;
  for (double middle = 0; upto > 0 && pairs_upto - pairs_below > 2 * sorted.size();
       middle = below + (upto - below) / 2) {
    if (middle <= below || middle >= upto) break;
    const std::size_t pairs = pairs_within(sorted, middle);
    (pairs >= place ? upto : below) = middle;
    (pairs >= place ? pairs_upto : pairs_below) = pairs;
  }
  std::vector<double> gaps;
  for (std::size_t i = 0, first = 0, near = 0; i < sorted.size(); ++i) {
    while (sorted[i] - sorted[first] > upto) ++first;
    while (near < i && sorted[i] - sorted[near] > below) ++near;
    for (std::size_t j = first; j < near; ++j) gaps.push_back(sorted[i] - sorted[j]);
  }
  const auto wanted = gaps.begin() + static_cast<std::ptrdiff_t>(place - pairs_below - 1);
  std::nth_element(gaps.begin(), wanted, gaps.end());
  return *wanted;
}

}  // namespace

bool can_show_shift(std::size_t n, std::size_t m, double error) {
  const std::vector<std::size_t> scores = scores_of(n + m);
  return rare_sums(scores, n, error, error).alarm >= 0;
}

std::size_t median_rank(std::size_t n, double error) { return rank_below(binomial_law(n), error); }

ShiftBounds shift_between(std::span<const double> before, std::span<const double> now, double alarm, double miss) {
  std::vector<double> a(before.begin(), before.end()), b(now.begin(), now.end()), differences;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  for (const double x : a)
    for (const double y : b) differences.push_back(y - x);
  std::sort(differences.begin(), differences.end());
  const std::vector<std::size_t> scores = scores_of(a.size() + b.size());
  const RareSums rare = rare_sums(scores, a.size(), alarm, miss);
  // what bounds the shift from above is what bounds that of the negative values from below
  const std::vector<double> low = turned(a), high = turned(b), back = turned(differences);
  return {middle(differences), lower_bound(a, b, differences, rare.alarm, scores),
      -lower_bound(low, high, back, rare.miss, scores), -lower_bound(low, high, back, rare.alarm, scores)};
}

ShiftBounds shift_from_zero(std::span<const double> now, double alarm, double miss) {
  std::vector<double> values(now.begin(), now.end());
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size(), low = median_rank(n, alarm), high = median_rank(n, miss);
  ShiftBounds bounds{middle(values), -infinity, infinity, infinity};
  if (low > 0) bounds.lower = values[low - 1], bounds.surely_below = values[n - low];
  if (high > 0) bounds.upper = values[n - high];
  return bounds;
}

double robust_scale(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < 2) return 0;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = n / 2 + 1;
  return 2.2219 * few_values_factor(n) * smallest_gap(sorted, half * (half - 1) / 2);
}

double pooled_scale(std::span<const double> before, std::span<const double> now) {
  const double a = before.size() < 2 ? 0 : static_cast<double>(before.size() - 1);
  const double b = now.size() < 2 ? 0 : static_cast<double>(now.size() - 1);
  if (a + b == 0) return 0;
  const double x = robust_scale(before), y = robust_scale(now);
  return std::sqrt((a * x * x + b * y * y) / (a + b));
}

double normal_quantile(double p) {
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02, 1.383577518672690e+02,
      -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01,
      -1.328068155288572e+01};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
      -2.549732539343734e+00, 4.374664141464968e+00, 2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
  constexpr double tail = 0.02425;
  if (p > 1 - tail) return -normal_quantile(1 - p);
  if (p < tail) {
    const double q = std::sqrt(-2 * std::log(p));
    return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
           ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  }
  const double q = p - 0.5, r = q * q;
  return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
         (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

}  // namespace stepcast::gate
