// What one GPU did, event by event, whatever profiler saw it.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/trace/host_call.h"
#include "calibrate/trace/host_mark.h"
#include "calibrate/trace/work_kind.h"

namespace stepcast::calibrate {

inline constexpr double seconds_of_microsecond = 1e-6;

/// A kernel, a copy or a fill. Times are in microseconds of the recording's own clock.
struct DeviceEvent {
  double start = 0, end = 0;
  std::int64_t correlation = -1;  ///< joins it to its launch; -1: none
  std::int32_t name = 0;          ///< index into RankTrace::names
  std::int32_t stream = 0;
  std::int32_t collective = -1;  ///< index into RankTrace::collectives; -1: none
  std::int32_t shape = -1;       ///< index into RankTrace::shapes; -1: not recorded, or no product
  WorkKind kind = WorkKind::unplaced;
};

/// A matrix product as its operator was called: [m, k] by [k, n], `batch` times.
struct TracedShape {
  double m = 0, n = 0, k = 0, batch = 1;
  [[nodiscard]] double flops() const { return 2 * m * n * k * batch; }
  auto operator<=>(const TracedShape&) const = default;
};

/// A collective as it was called: what the profiler or the kernel's name says.
struct CalledCollective {
  std::string kind;        ///< as collective_kind_in has it; a forecast's phase: its name
  std::int64_t group = 0;  ///< ranks; 0: not recorded
  double bytes = 0;        ///< of the larger of input and output; 0: not recorded
  std::string fabric;      ///< of traces that stepcast wrote: the level it crosses
  bool operator==(const CalledCollective&) const = default;
};

/// Time that no stream shows, of traces that stepcast wrote: the host's own.
struct HostStretch {
  std::string name;
  double start = 0, end = 0;
};

/// A call of the host that asks for a kernel or copy; the GPU may begin when it returns.
struct HostLaunch {
  std::int64_t correlation = -1;
  double start = 0, end = 0;
};

/// Of the GPU's cores; `at` NAN: some time while the GPU worked, by a clock that is not the recording's.
struct ClockSample {
  double at = NAN;
  double mhz = 0;
};

/// The median of the samples in a stretch of time, and of those whose time nobody knows; 0: there are none.
double median_mhz(const std::vector<ClockSample>& clocks, double from, double until);

struct RankTrace {
  std::string file;        ///< as it was named
  std::string tool;        ///< "Kineto", "Nsight Systems", "rocprofv3", "Perfetto", "stepcast"
  std::int64_t rank = -1;  ///< -1: not recorded
  std::int64_t world = 0;  ///< ranks of the job; 0: not recorded
  std::int64_t device = 0;
  std::string gpu;                ///< its name; "": not recorded
  std::string title, size;        ///< of traces that stepcast wrote: network, machine and split; batch and sequence
  double begin = NAN, end = NAN;  ///< of the step, where the file says it: all ranks of a trace that stepcast wrote
  std::vector<std::string> names;
  std::vector<CalledCollective> collectives;
  std::vector<TracedShape> shapes;
  std::vector<DeviceEvent> events;   ///< by start
  std::vector<HostLaunch> launches;  ///< by correlation
  std::vector<HostMark> marks;       ///< by start
  std::vector<HostStretch> host;     ///< by start
  std::vector<HostCall> calls;       ///< by start
  std::vector<ClockSample> clocks;   ///< where somebody recorded them
  /// Of clocks that a table gave: "GPU 0 of clocks.csv", and what the recording itself had in their place.
  std::string clocks_by;
  std::vector<ClockSample> replaced_clocks;

  [[nodiscard]] bool is_forecast() const { return tool == "stepcast"; }
  /// When the host launched the event; a negative number: not recorded.
  [[nodiscard]] double launch_of(const DeviceEvent& event) const;
  /// When that call returned; a negative number: not recorded.
  [[nodiscard]] double launched_at(const DeviceEvent& event) const;
  [[nodiscard]] double clock_mhz(double from, double until) const { return median_mhz(clocks, from, until); }
  /// Sorts what is to be sorted.
  void settle();

 private:
  [[nodiscard]] const HostLaunch* find_launch(const DeviceEvent& event) const;
};

}  // namespace stepcast::calibrate
