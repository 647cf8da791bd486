#include "studies/sweep/search/progress.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "studies/sweep/price/legality.h"
#include "studies/sweep/price/pricer.h"

namespace stepcast::sweep {
namespace {

using SampleClock = std::chrono::steady_clock;

constexpr std::uint64_t sampled_stretches = 64, sampled_size = 4096;
// Steps through the stretches so that a sample that is cut short has been everywhere: a prime above 64 meets each of up
// to 64 once.
constexpr std::uint64_t sampled_step = 107;
constexpr double longest_sample_s = 0.7;
// Parts of prices are made once and used often: where axes share them, a whole sweep makes a few times those of a
// sample, however large it is; where they do not, as many more as there are more configurations.
constexpr double parts_beyond_sample = 3;

double seconds_since(SampleClock::time_point began) {
  return std::chrono::duration<double>(SampleClock::now() - began).count();
}

struct PricedRange {
  std::uint64_t runnable = 0, unbounded = 0;
  Digits last_unbounded{};
};

/// Legality and fast price of a range, as a worker asks for them.
PricedRange price_range(SpacePoints& points, Legality& legality, Pricer& pricer, IndexRange range) {
  const Space& space = points.space();
  PricedRange priced;
  for (std::uint64_t index = range.begin; index < range.end;) {
    const Digits digits = space.digits(index);
    const Legality::Verdict verdict = legality.ask(digits, AxisId{});
    if (verdict.reason >= 0) {
      const std::uint64_t stride = space.stride(verdict.axis);
      index = (index / stride + 1) * stride;
      continue;
    }
    ++priced.runnable, ++index;
    const double capacity = points.setting(digits).scenario.machine.row.gpu.memory.value();
    const FastPrice price = pricer.price(digits, AxisId{}, {.asked = capacity});
    if (price.bounded || price.too_large) continue;
    ++priced.unbounded;
    priced.last_unbounded = digits;
  }
  return priced;
}

double forecast_seconds(SpacePoints& points, const Digits& digits) {
  const auto began = SampleClock::now();
  (void)points.predict(digits);
  return seconds_since(began);
}

}  // namespace

std::uint64_t configurations_done(const SweepResult& result) {
  std::uint64_t done = 0;
  for (const IndexRange& range : result.done) done += range.size();
  return done;
}

std::uint64_t configurations_in_all(const SweepResult& result) {
  return range_of(result.shard, result.question.size()).size();
}

std::string short_count(double count) {
  struct Prefix {
    double factor;
    const char* unit;
  };
  constexpr Prefix prefixes[] = {{1, ""}, {1e3, " k"}, {1e6, " M"}, {1e9, " G"}, {1e12, " T"}};
  const Prefix* chosen = prefixes;
  for (const Prefix& prefix : prefixes)
    if (count >= 0.9995 * prefix.factor) chosen = &prefix;
  const double number = count / chosen->factor;
  return fmt::format("{:.{}f}{}", number, chosen->factor == 1 || number >= 9.95 ? 0 : 1, chosen->unit);
}

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.{}f} s", seconds, seconds < 1 ? 2 : seconds < 10 ? 1 : 0);
  const auto whole = static_cast<std::uint64_t>(std::min(seconds, 1e15) + 0.5);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 48 * 3600) return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
  return fmt::format("{} days", whole / 86'400);
}

std::string progress_line(const SweepResult& so_far, const SweepWork& work, std::uint64_t before) {
  const std::uint64_t done = configurations_done(so_far), all = configurations_in_all(so_far);
  const double rate = work.seconds > 0 ? static_cast<double>(done - before) / work.seconds : 0;
  std::string line =
      fmt::format("{:.1f} %", all == 0 ? 100 : 100 * static_cast<double>(done) / static_cast<double>(all));
  if (rate > 0)
    line += fmt::format(
        ", {} configurations/s, {} left", short_count(rate), duration_text(static_cast<double>(all - done) / rate));
  if (so_far.top.empty()) return line;
  const auto objective = find_figure(so_far.question.objective, "");
  if (!objective) return line;
  return line + ", best " + figure_text(*objective, so_far.top.front().figures[static_cast<std::size_t>(*objective)]);
}

Expected<SweepEstimate> estimate_sweep(const Space& space, std::uint64_t configurations, int threads) {
  TRY(auto points, SpacePoints::make(space));
  Legality legality(points);
  Pricer pricer(points);
  const std::uint64_t size = space.size(), stretch = std::min(sampled_size, size);
  const std::uint64_t stretches = std::min(sampled_stretches, (size + stretch - 1) / stretch);
  const auto began = SampleClock::now();
  double parts_s = 0, prices_s = 0, forecasts_s = 0;
  std::uint64_t walked = 0, runnable = 0;
  for (std::uint64_t i = 0; i < stretches && (i == 0 || seconds_since(began) < longest_sample_s); ++i) {
    const std::uint64_t begin = size / stretches * (i * sampled_step % stretches);
    const IndexRange range{begin, std::min(size, begin + stretch)};
    const auto first = SampleClock::now();
    const PricedRange priced = price_range(points, legality, pricer, range);
    const double cold = seconds_since(first);
    const auto again = SampleClock::now();
    price_range(points, legality, pricer, range);
    const double warm = seconds_since(again);
    prices_s += warm, parts_s += std::max(0.0, cold - warm);
    if (priced.unbounded > 0)
      forecasts_s += static_cast<double>(priced.unbounded) * forecast_seconds(points, priced.last_unbounded);
    walked += range.size(), runnable += priced.runnable;
  }
  const double share = static_cast<double>(configurations) / static_cast<double>(walked);
  SweepEstimate estimate;
  const double prices = (prices_s + forecasts_s) * share / threads;
  estimate.seconds = prices + parts_s * std::min(share, parts_beyond_sample);
  estimate.most_seconds = prices + parts_s * std::max(1.0, share / threads);
  estimate.runnable_share = static_cast<double>(runnable) / static_cast<double>(walked);
  return estimate;
}

}  // namespace stepcast::sweep
