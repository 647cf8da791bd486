// What a FakeGpu (fake_gpu.h) is like: its times, its cache, its clocks, its memory, and which calls fail.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernels/bench/gpu_bench.h"

namespace stepcast::calibrate {

enum class FakeCall : std::uint8_t { prepare, allocate, check, record, replay, state, free_memory, usable };
inline constexpr int fake_call_kinds = 8;

struct FakeFault {
  enum Kind : std::uint8_t {
    fails,         ///< this call gives an Error; the GPU goes on
    fails_always,  ///< this call and all later ones of its kind
    loses_gpu,     ///< this call gives an Error, and so does every call after it, usable() first of all
    wrong          ///< of check: numbers that are off by ten times what is allowed
  };
  FakeCall call = FakeCall::prepare;
  int nth = 1;  ///< counted from 1 over all works
  Kind kind = fails;
};

/// Clocks: after `after` seconds of heavy work without rest they fall to `ratio` of the default, with time constant
/// `settles` (0 = at once), and come back after `recovers` without work.
struct FakePower {
  Seconds after{std::numeric_limits<double>::infinity()};
  double ratio = 0.6;
  Seconds settles{0};
  Seconds recovers{0.04};
  bool for_ever = false;    ///< once down, no pause helps
  bool thermal = false;     ///< the driver says heat, not power
  Seconds ramps{0};         ///< of work after a rest of `recovers`, until clocks are up; no reason given
  double idle_ratio = 0.2;  ///< of the default until then
};

struct FakeGpuOptions {
  DeviceInfo device{
      "NVIDIA H100 80GB HBM3", "GPU-fake", "0000:19:00.0", 9, 0, 132, Bytes(80e9), Bytes(50e6), 1.98e9, 2.6e9};
  GpuSettings settings{"580.65.06", "13.0", "13.0.2", "9.19", "2.28.3", 700, 700, 1980, true, false, true, {}};
  /// Of one call at full clocks, its data in memory. Empty: a roofline of 700 TFLOP/s, 2.8 TB/s and 3 us a call.
  std::function<Seconds(const Work&)> time;
  std::function<Bytes(const Work&)> touched;       ///< empty: bytes_of the query
  std::function<std::string(const Work&)> cannot;  ///< why prepare refuses; "" = it does not
  std::function<bool(const Work&)> heavy;          ///< what pulls clocks down and slows with them; empty: products
  double slower = 1;                               ///< factor on every time, preparing and checking included
  double noise = 0;                                ///< relative deviation of a replay, normal
  std::uint64_t seed = 1;
  int slow_replays = 0;        ///< the first of each recorded graph ...
  double slow_factor = 3;      ///< ... take this much longer
  double cache_speedup = 1.5;  ///< of a call whose set is still in the level-2 cache
  double beside_factor = 1.2;  ///< of a call with something beside it
  FakePower power;
  Bytes used_memory{1e9};  ///< by others
  Seconds preparing{2e-3}, allocating{1e-3}, checking{5e-3}, recording{1e-3}, asking_state{0.5e-3}, launching{2e-5};
  std::vector<FakeFault> faults;
  Seconds clock_limit{1e5};
};

}  // namespace stepcast::calibrate
