#include "calibrate/measure/sample.h"

#include <algorithm>
#include <vector>

#include "calibrate/measure/ready_work.h"
#include "calibrate/measure/state_log.h"
#include "calibrate/measure/stop_rule.h"

namespace stepcast::calibrate {
namespace {

/// Replays of one work. Those since the driver was last asked for clocks are on trial: the next answer keeps them or
/// sets them aside.
class ReplaySeries {
 public:
  ReplaySeries(GpuBench& bench, const ReadyWork& ready, const MethodRules& rules, const std::function<bool()>& stop,
      ClocksSeen& seen)
      : bench_(bench), ready_(ready), rules_(rules), stop_(stop), seen_(seen), states_(bench) {
    most_pauses_ = seen.stay_down ? std::min(1, rules.most_pauses) : rules.most_pauses;
  }

  Expected<Sampled> run() {
    TRY(wait_for_clocks());
    while (true) {
      if (stop_ && stop_()) return interrupted(ready_.name);
      TRY(replay_once());
      const bool done = stop_after(times_, spent_, rules_) != Stop::go_on;
      if (!done && unseen_ < between_) continue;
      TRY(judge());
      if (stop_after(times_, spent_, rules_) != Stop::go_on) return result();
    }
  }

 private:
  /// Before the first replay: the work before this one, or a clock that idled, may still hold clocks down.
  Expected<void> wait_for_clocks() {
    int pauses = 0;
    for (GpuState state = read(); slow(state) && pauses++ < most_pauses_; state = read()) TRY(pause(state));
    return {};
  }

  Expected<void> replay_once() {
    const Seconds before = bench_.now();
    TRY(const auto time, ready_.replay());
    const Seconds replay = time * ready_.rotation.calls;
    times_.push_back(time);
    unseen_ += replay;
    const Seconds took = std::max(bench_.now() - before, replay);
    spent_ += took;
    spent_on_trial_ += took;
    if (rules_.rest > 0) bench_.wait(replay * rules_.rest);
    return {};
  }

  /// Asks for clocks: keeps what is on trial, or sets it aside and pauses; after the last pause everything counts.
  Expected<void> judge() {
    const GpuState state = read();
    const bool now_slow = slow(state);
    unseen_ = Seconds(0);
    if (now_slow && !throttled_ && pauses_ < most_pauses_) {
      aside_.insert(aside_.end(), times_.begin() + static_cast<std::ptrdiff_t>(kept_), times_.end());
      times_.resize(kept_);
      spent_ -= spent_on_trial_;
      spent_on_trial_ = Seconds(0);
      ++pauses_;
      return pause(state);
    }
    // What was set aside began at higher clocks: it stays aside, or the median would be of neither.
    throttled_ = throttled_ || now_slow;
    power_limited_ = power_limited_ || is_power_limited(state, bench_.settings(), rules_);
    kept_ = times_.size();
    spent_on_trial_ = Seconds(0);
    states_.keep(state);
    return {};
  }

  /// A rest where power or heat keeps clocks down; where the driver gives no reason the card idled before, and comes up
  /// by working. Replays of a pause do not count.
  Expected<void> pause(const GpuState& state) {
    const Seconds begun = bench_.now();
    if (state.power_capped || state.thermally_slowed) bench_.wait(rules_.recovery);
    do {
      if (stop_ && stop_()) return interrupted(ready_.name);
      TRY(ready_.replay());
    } while (bench_.now() - begun < rules_.recovery && slow(read()));
    return {};
  }

  /// The GPU idles while the driver answers, and cools: the slower the answers, the rarer the questions.
  GpuState read() {
    constexpr double idle_share = 0.1;
    const Seconds asked = bench_.now();
    const GpuState state = states_.read();
    between_ = std::max(rules_.between_states, (bench_.now() - asked) / idle_share);
    return state;
  }

  bool slow(const GpuState& state) {
    constexpr double hertz = 1e6;
    seen_.highest_mhz = std::max({seen_.highest_mhz, state.sm_clock_mhz, bench_.device().sm_clock_hz / hertz});
    // The driver may answer after the power has gone down and before the clock has come up again.
    if (power_limited_ && !state.thermally_slowed) return false;
    return is_throttled(state, bench_.settings(), seen_, rules_);
  }

  Sampled result() {
    seen_.stay_down = throttled_;
    const MedianOf found = median_of_times(times_);
    const GpuState mean = states_.mean();
    const bool settled = stop_after(times_, Seconds(0), rules_) == Stop::settled;
    return Sampled{found.median, found.quartile1, found.quartile3, static_cast<int>(times_.size()),
        ready_.rotation.calls, throttled_, settled, mean.sm_clock_mhz, mean.power_w, mean.temperature_c,
        static_cast<int>(aside_.size()), ready_.kernel, ready_.check, states_.error(), power_limited_};
  }

  GpuBench& bench_;
  const ReadyWork& ready_;
  const MethodRules& rules_;
  const std::function<bool()>& stop_;
  ClocksSeen& seen_;
  StateLog states_;
  std::vector<Seconds> times_, aside_;  ///< per call; times_ beyond kept_ are on trial
  std::size_t kept_ = 0;
  Seconds spent_, spent_on_trial_, unseen_;  ///< without pauses and what was set aside; since clocks were last read
  Seconds between_;                          ///< two questions for clocks
  int pauses_ = 0, most_pauses_ = 0;
  bool throttled_ = false, power_limited_ = false;
};

}  // namespace

bool is_power_limited(const GpuState& state, const GpuSettings& settings, const MethodRules& rules) {
  const double limit = settings.power_limit_w;
  return state.power_capped || (limit > 0 && state.power_w >= limit * rules.power_limit_share);
}

bool is_throttled(
    const GpuState& state, const GpuSettings& settings, const ClocksSeen& seen, const MethodRules& rules) {
  if (!(state.sm_clock_mhz > 0)) return state.thermally_slowed;
  const double usual = settings.default_sm_clock_mhz > 0 ? settings.default_sm_clock_mhz : seen.highest_mhz;
  if (state.sm_clock_mhz >= usual * rules.throttle_threshold) return false;
  return state.thermally_slowed || !is_power_limited(state, settings, rules);
}

Expected<Sampled> sample(
    GpuBench& bench, const Work& work, const MethodRules& rules, const std::function<bool()>& stop, ClocksSeen* seen) {
  TRY(const auto ready, ready_work(bench, work, rules, stop));
  ClocksSeen none;
  return ReplaySeries(bench, ready, rules, stop, seen ? *seen : none).run();
}

Expected<Sampled> sample(GpuBench& bench, const Sequence& sequence, const MethodRules& rules,
    const std::function<bool()>& stop, ClocksSeen* seen) {
  TRY(const auto ready, ready_work(bench, sequence, rules, stop));
  ClocksSeen none;
  return ReplaySeries(bench, ready, rules, stop, seen ? *seen : none).run();
}

}  // namespace stepcast::calibrate
