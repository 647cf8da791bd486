// One thing timed by the method: probe, rotation, replays until the stop rule holds, throttled ones set aside.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/measure/method.h"
#include "calibrate/measure/rotation.h"
#include "kernels/gpu_bench.h"
#include "model/error.h"

namespace stepcast {

struct Sampled {
  Seconds time, low, high;   ///< per call: median and quartiles of replays
  int replays = 0, calls = 0;
  bool throttled = false;    ///< clocks stayed down after the last pause; all replays count then
  bool settled = false;      ///< the median's interval is narrow enough; else the time ran out
  double sm_clock_mhz = 0, power_w = 0, temperature_c = 0;   ///< means of what was read beside the replays
  int thrown_away = 0;       ///< throttled replays
  std::string kernel;        ///< as PreparedWork says
  Check check;
};

/// Allocates, checks against float64, records and replays. An interrupted one (`stop`) fails with where = "interrupted".
Expected<Sampled> sample(GpuBench& bench, const Work& work, const MethodRules& rules, const std::function<bool()>& stop);

/// Back to back for `duration`: what the clocks settle to. A point every tenth of a second.
struct Sustained {
  struct Point { Seconds at, per_call; GpuState state; };
  std::vector<Point> points;
  Seconds burst, settled;    ///< per call: of the first replays, and the median of the last half
  Seconds time_constant;     ///< until 63 % of the way from burst to settled was gone; 0 where nothing changed (under 1 %)
};
Expected<Sustained> sample_sustained(GpuBench& bench, const Work& work, Seconds duration, const MethodRules& rules,
                                     const std::function<bool()>& stop);
/// Different works in turn, as layers run: what the same GEMMs cost between lighter kernels. Points are per round.
Expected<Sustained> sample_alternating(GpuBench& bench, std::span<const Work> works, Seconds duration,
                                       const MethodRules& rules, const std::function<bool()>& stop);

}  // namespace stepcast
