// Times one thing by the method: it probes, rotates buffers, replays until the stop rule holds, and sets throttled
// replays aside.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/measure/method.h"
#include "calibrate/measure/rotation.h"
#include "kernels/bench/gpu_bench.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

struct Sampled {
  Seconds time, low, high;  ///< per call: median and quartiles of replays
  int replays = 0, calls = 0;
  bool throttled = false;  ///< clocks stayed down after the last pause; all replays count then
  bool settled = false;    ///< the median's interval is narrow enough; else the time ran out
  double sm_clock_mhz = 0, power_w = 0, temperature_c = 0;  ///< means of what was read beside the replays
  int thrown_away = 0;                                      ///< throttled replays
  std::string kernel;                                       ///< as PreparedWork says
  Check check;
  std::string state_error;     ///< why clocks and power could not be read; they count as unknown then
  bool power_limited = false;  ///< the board's power held clocks at any time: usual for large products, in training too
};

/// What the card's clocks did so far. The highest is what "slow" is measured by where the driver knows no default;
/// after a work whose pauses did not help the next ones pause once only, until clocks are up again.
struct ClocksSeen {
  double highest_mhz = 0;
  bool stay_down = false;
};

/// The board's power holds clocks down, or is at its limit.
bool is_power_limited(const GpuState& state, const GpuSettings& settings, const MethodRules& rules);

/// Whether clocks are down so far that a replay beside this state says nothing about the card. Not by the board's
/// power: large products on a 700 W card run into its cap within one replay, at 1.4 to 1.7 of 1.98 GHz, and in training
/// too. Heat, and whatever the driver does not name, count where the clock is below the threshold; heat also where no
/// clock is known.
bool is_throttled(const GpuState& state, const GpuSettings& settings, const ClocksSeen& seen, const MethodRules& rules);

/// Allocates, checks against float64, records and replays. One that `stop` ended fails with where = "interrupted".
/// `seen` carries over from one work of a campaign to the next; null = none came before.
Expected<Sampled> sample(GpuBench& bench, const Work& work, const MethodRules& rules, const std::function<bool()>& stop,
    ClocksSeen* seen = nullptr);

/// The same of a sequence: times are per round of all its works.
Expected<Sampled> sample(GpuBench& bench, const Sequence& sequence, const MethodRules& rules,
    const std::function<bool()>& stop, ClocksSeen* seen = nullptr);

/// Back to back for `duration`: what the clocks settle to. A point every tenth of a second.
struct Sustained {
  struct Point {
    Seconds at, per_call;
    GpuState state;
  };
  std::vector<Point> points;
  Seconds burst, settled;  ///< per call: of the first replays, and the median of the last half
  Seconds time_constant;   ///< until 63 % of the way from burst to settled was gone; 0 where that is under 1 %
  Seconds low, high;       ///< quartiles of the last half
  int replays = 0;         ///< in the last half; rounds where works take turns
  std::string kernel;      ///< of the first work
};
Expected<Sustained> sample_sustained(
    GpuBench& bench, const Work& work, Seconds duration, const MethodRules& rules, const std::function<bool()>& stop);
Expected<Sustained> sample_sustained(GpuBench& bench, const Sequence& sequence, Seconds duration,
    const MethodRules& rules, const std::function<bool()>& stop);

/// Different works in turn, as layers run: what the same GEMMs cost between lighter kernels. Times are per round of one
/// call each. Turns are as long as replays are, a few milliseconds: short against what power control reacts to.
Expected<Sustained> sample_alternating(GpuBench& bench, std::span<const Work> works, Seconds duration,
    const MethodRules& rules, const std::function<bool()>& stop);

}  // namespace stepcast::calibrate
