// How one thing is timed: the figures of the method, each with its reason. NVIDIA/nvbench's rules (min 10 samples,
// throttle threshold 75 %, recovery 0.05 s; docs/cli_help.md at 66212f1) with a stop rule fit for hundreds of shapes.
#pragma once

#include "model/base/units.h"

namespace stepcast::calibrate {

struct MethodRules {
  // Replays of a graph: long enough for the clock and the gap between two, short enough to have several.
  Seconds shortest_replay{2e-3}, longest_replay{20e-3};
  int most_calls = 1024;  ///< nodes of a graph: instantiating more takes longer than timing them
  // What a call reads must come from device memory: between two calls on one set of buffers this many times the level-2
  // cache is touched (flashinfer issue 4468: a rotation smaller than that timed a warm cache, 36 % too fast).
  double caches_between = 3;
  // Stop: the 95 % interval of the median is narrow enough, or the time for one thing is spent.
  int least_replays = 10;
  int fewest_replays = 3;         ///< of a thing so long that its time is spent before; it is then not settled
  double median_interval = 0.01;  ///< full width over the median
  Seconds longest_work{150e-3};
  // Clocks: a replay below this share of the default is thrown away, after a pause, a few times at most
  // (nvbench issue 231: without a limit a card that stays slow gives no result at all).
  double throttle_threshold = 0.75;
  /// of the board's limit: from here on power holds clocks, whatever the driver names
  double power_limit_share = 0.95;
  Seconds recovery{0.05};
  int most_pauses = 4;
  /// A rest after each replay, as a share of it: so that the board's power, which is regulated over 48 to 107 ms
  /// (time constants of H100 and H200, docs/measured.md), does not pull down the clocks of a burst.
  double rest = 1;
  // The driver is asked for clocks and power no more often than this: a question takes about a millisecond, in which
  // the GPU rests.
  Seconds between_states{5e-3};
  // Memory that one thing may take, of what is free.
  double memory_share = 0.8;
};

}  // namespace stepcast::calibrate
