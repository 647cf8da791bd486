// Works that run back to back for seconds, alone or in turn: rounds of equally many calls of each.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "calibrate/measure/ready_work.h"
#include "calibrate/measure/sample.h"
#include "calibrate/measure/state_log.h"
#include "calibrate/measure/stop_rule.h"

namespace stepcast::calibrate {
namespace {

constexpr Seconds between_points{0.1};
constexpr std::size_t burst_rounds = 3;     // before clocks react: 5 ms and more (flashinfer PR 2899, B200)
constexpr std::size_t smoothed_rounds = 5;  // so that one slow round is no change
constexpr double least_change = 0.01;       // of burst
constexpr double gone_at_constant = 0.632;  // 1 - 1/e

struct TimedRound {
  Seconds at, per_call;
};

using Stopper = std::function<bool()>;

template <typename AnyWork>
Expected<std::vector<ReadyWork>> ready_in_turn(
    GpuBench& bench, std::span<const AnyWork> works, const MethodRules& rules, const Stopper& stop) {
  MethodRules shortest = rules;  // turns as short as the rotation allows
  shortest.shortest_replay = Seconds(0);
  std::vector<ReadyWork> ready;
  for (const AnyWork& work : works) {
    TRY(auto next, ready_work(bench, work, shortest, stop));
    ready.push_back(std::move(next));
  }
  return ready;
}

/// Calls of each work in a round: so many that the longest rotation goes round and a round takes a shortest replay.
int calls_of_round(const std::vector<ReadyWork>& ready, const MethodRules& rules) {
  Seconds once{0};
  int calls = 1;
  for (const ReadyWork& work : ready) {
    once += work.per_call;
    calls = std::max(calls, work.rotation.calls);
  }
  const auto filling = static_cast<int>(std::ceil(rules.shortest_replay / once));
  return std::clamp(filling, calls, std::max(calls, rules.most_calls));
}

/// As many calls in one replay as a round wants; flushed rotations use each set once and are replayed more often.
Expected<void> record_rounds(std::vector<ReadyWork>& ready, int calls) {
  for (ReadyWork& work : ready) {
    const int copies = work.rotation.copies;
    const int whole = (calls + copies - 1) / copies * copies;
    if (work.rotation.flush || whole == work.rotation.calls) continue;
    TRY(work.record(whole));
  }
  return {};
}

/// Seconds of one call of each work.
Expected<Seconds> run_round(const std::vector<ReadyWork>& ready, int calls, const Stopper& stop) {
  Seconds sum{0};
  for (const ReadyWork& work : ready) {
    Seconds time{0};
    int done = 0;
    while (done < calls) {
      if (stop && stop()) return interrupted(work.name);
      TRY(const auto per_call, work.replay());
      time += per_call * work.rotation.calls;
      done += work.rotation.calls;
    }
    sum += time / done;
  }
  return sum;
}

std::vector<Seconds> times_of_rounds(std::span<const TimedRound> rounds) {
  std::vector<Seconds> times;
  for (const TimedRound& round : rounds) times.push_back(round.per_call);
  return times;
}

Seconds median_of_rounds(std::span<const TimedRound> rounds) { return median_of_times(times_of_rounds(rounds)).median; }

/// When a running median first was 63 % of the way from `burst` to `settled`.
Seconds time_constant_of(std::span<const TimedRound> rounds, Seconds burst, Seconds settled) {
  const Seconds change = settled - burst;
  if (std::abs(change / burst) < least_change) return Seconds(0);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const std::size_t from = i < smoothed_rounds / 2 ? 0 : i - smoothed_rounds / 2;
    const auto window = rounds.subspan(from, std::min(smoothed_rounds, rounds.size() - from));
    if ((median_of_rounds(window) - burst) / change >= gone_at_constant) return rounds[i].at;
  }
  return rounds.back().at;
}

Sustained summary_of(std::span<const TimedRound> rounds, std::vector<Sustained::Point> points, std::string kernel) {
  const Seconds half = rounds.back().at / 2;
  const auto last = std::find_if(rounds.begin(), rounds.end(), [&](const TimedRound& r) { return r.at > half; });
  const auto late = times_of_rounds({last, rounds.end()});
  const MedianOf settled = median_of_times(late);
  const Seconds burst = median_of_rounds(rounds.first(std::min(burst_rounds, rounds.size())));
  return {std::move(points), burst, settled.median, time_constant_of(rounds, burst, settled.median), settled.quartile1,
      settled.quartile3, static_cast<int>(late.size()), std::move(kernel)};
}

Expected<Sustained> run_in_turn(
    GpuBench& bench, std::vector<ReadyWork> ready, Seconds duration, const MethodRules& rules, const Stopper& stop) {
  const int calls = calls_of_round(ready, rules);
  TRY(record_rounds(ready, calls));
  bench.wait(rules.recovery);  // from clocks that checking and warming up did not pull down

  StateLog states(bench);
  std::vector<TimedRound> rounds;
  std::vector<Sustained::Point> points;
  std::size_t of_point = 0;  // the first round of the next point
  const Seconds start = bench.now();
  do {
    TRY(const auto round, run_round(ready, calls, stop));
    rounds.push_back({bench.now() - start, round});
    const Seconds since = points.empty() ? Seconds(0) : points.back().at;
    if (rounds.back().at - since < between_points) continue;
    const auto seen = std::span<const TimedRound>(rounds).subspan(of_point);
    points.push_back({rounds.back().at, median_of_rounds(seen), states.read()});
    of_point = rounds.size();
  } while (rounds.back().at < duration);
  return summary_of(rounds, std::move(points), ready.front().kernel);
}

}  // namespace

Expected<Sustained> sample_alternating(
    GpuBench& bench, std::span<const Work> works, Seconds duration, const MethodRules& rules, const Stopper& stop) {
  assert(!works.empty());
  TRY(auto ready, ready_in_turn(bench, works, rules, stop));
  return run_in_turn(bench, std::move(ready), duration, rules, stop);
}

Expected<Sustained> sample_sustained(
    GpuBench& bench, const Work& work, Seconds duration, const MethodRules& rules, const Stopper& stop) {
  return sample_alternating(bench, std::span(&work, 1), duration, rules, stop);
}

Expected<Sustained> sample_sustained(
    GpuBench& bench, const Sequence& sequence, Seconds duration, const MethodRules& rules, const Stopper& stop) {
  TRY(auto ready, ready_in_turn(bench, std::span(&sequence, 1), rules, stop));
  return run_in_turn(bench, std::move(ready), duration, rules, stop);
}

}  // namespace stepcast::calibrate
