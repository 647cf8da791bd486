#include "studies/gate/judge.h"

#include <algorithm>
#include <cmath>

namespace stepcast::gate {
namespace {

constexpr std::size_t most_runs = 100'000;
// Variance of the bounds by ranks over those by means, for Gaussian noise. Of the median: pi / 2. Of ranks held between
// 30 and 70 %: the scores' variance, 0.6 x 0.2^2 + 0.4^3 / 12, over the square of the integral of the squared density
// between these percentiles, erf(0.5244) / (2 sqrt(pi)) = 0.1527.
constexpr double pair_variance = 1.258, median_variance = 1.5707963267948966;

/// The fewest runs whose ranks can show anything at all.
std::size_t least_runs(std::optional<std::size_t> before, double error) {
  std::size_t n = 1;
  while (n < most_runs && !(before ? can_show_shift(*before, n, error) : median_rank(n, error) > 0)) ++n;
  return n;
}

/// The same of each of two sides that grow together.
std::size_t least_on_both(double error) {
  std::size_t n = 1;
  while (!can_show_shift(n, n, error)) ++n;
  return n;
}

std::size_t whole(double runs) {
  return static_cast<std::size_t>(std::ceil(std::clamp(runs, 1.0, static_cast<double>(most_runs)) - 1e-9));
}

/// Enough for a standard error of the shift of at most `error`.
RunsNeeded runs_for(double noise, double error, std::optional<std::size_t> before, const GateRates& rates) {
  const double bound = std::min(rates.alarm(), rates.miss());
  const double part = error / std::max(noise, 1e-12);
  if (!before) return {std::max(whole(median_variance / (part * part)), least_runs(before, bound)), 0};
  const std::size_t both = std::max(whole(2 * pair_variance / (part * part)), least_on_both(bound));
  if (*before < 3) return {both, both};
  // noise^2 x variance x (1 / n + 1 / before) = error^2; more than thrice as many on one side would be wasted
  const double others = static_cast<double>(*before), left = part * part / pair_variance - 1 / others;
  const std::size_t least = least_runs(before, bound);
  const double alone = left > 0 ? std::max(1 / left, static_cast<double>(least)) : 1e9;
  if (alone > 3 * others) return {both, *before < both ? both : 0};
  return {whole(alone), 0};
}

/// Where design would have been enough: what this shift needs to get clear of the nearer limit, four times in five.
RunsNeeded runs_for_shift(const Judgement& judged, const Allowed& allowed, std::optional<std::size_t> before,
    const GateRates& rates, double room) {
  const double usually = normal_quantile(0.8);
  const double above = judged.bounds.shift - allowed.most, below = room - above;
  const double slower = above / (usually - normal_quantile(rates.alarm()));
  const double equal = below / (usually - normal_quantile(rates.miss()));
  return runs_for(judged.noise, std::max({slower, equal, 1e-6}), before, rates);
}

}  // namespace

std::string_view to_text(Finding finding) {
  constexpr std::string_view names[] = {"slower", "faster", "equal", "undecided"};
  return names[static_cast<std::size_t>(finding)];
}

RunsNeeded runs_needed(double noise, std::optional<std::size_t> before, const GateRates& rates) {
  const double steps = -normal_quantile(rates.alarm()) - normal_quantile(rates.miss());
  return runs_for(noise, std::log1p(rates.find) / steps, before, rates);
}

Judgement judge(
    const std::vector<double>& before, const std::vector<double>& now, const Allowed& allowed, const GateRates& rates) {
  Judgement judged;
  const std::optional<std::size_t> others = before.empty() ? std::nullopt : std::optional(before.size());
  judged.noise = pooled_scale(before, now);
  if (now.empty()) {
    judged.needed = runs_needed(judged.noise, others, rates);
    return judged;
  }
  judged.bounds = before.empty() ? shift_from_zero(now, rates.alarm(), rates.miss())
                                 : shift_between(before, now, rates.alarm(), rates.miss());
  const ShiftBounds& bounds = judged.bounds;
  const double room = std::log1p(rates.find);
  if (bounds.lower > allowed.most) judged.finding = Finding::slower;
  else if (allowed.least && bounds.surely_below < *allowed.least) judged.finding = Finding::faster;
  else if (bounds.upper < allowed.most + room) judged.finding = Finding::equal;
  if (judged.finding != Finding::undecided) return judged;
  const RunsNeeded usual = runs_needed(judged.noise, others, rates);
  judged.needed = usual;
  if (usual.now <= now.size() && usual.before == 0) {
    judged.needed = runs_for_shift(judged, allowed, others, rates, room);
    judged.needed.now = std::max(judged.needed.now, now.size() + 1);
  }
  return judged;
}

}  // namespace stepcast::gate
