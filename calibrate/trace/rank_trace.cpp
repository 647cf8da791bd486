#include "calibrate/trace/rank_trace.h"

#include <algorithm>

namespace stepcast::calibrate {

const HostLaunch* RankTrace::find_launch(const DeviceEvent& event) const {
  const auto at = std::ranges::lower_bound(launches, event.correlation, {}, &HostLaunch::correlation);
  return event.correlation >= 0 && at != launches.end() && at->correlation == event.correlation ? &*at : nullptr;
}

double RankTrace::launch_of(const DeviceEvent& event) const {
  const HostLaunch* launch = find_launch(event);
  return launch == nullptr ? -1 : launch->start;
}

double RankTrace::launched_at(const DeviceEvent& event) const {
  const HostLaunch* launch = find_launch(event);
  return launch == nullptr ? -1 : launch->end;
}

double median_mhz(const std::vector<ClockSample>& clocks, double from, double until) {
  std::vector<double> inside;
  for (const ClockSample& sample : clocks)
    if (std::isnan(sample.at) || (sample.at >= from && sample.at <= until)) inside.push_back(sample.mhz);
  if (inside.empty()) return 0;
  const auto middle = inside.begin() + static_cast<std::ptrdiff_t>(inside.size() / 2);
  std::nth_element(inside.begin(), middle, inside.end());
  return *middle;
}

void RankTrace::settle() {
  const auto by_start = [](const auto& a, const auto& b) { return a.start < b.start; };
  std::stable_sort(events.begin(), events.end(), by_start);
  std::stable_sort(marks.begin(), marks.end(), by_start);
  std::stable_sort(host.begin(), host.end(), by_start);
  std::stable_sort(calls.begin(), calls.end(), by_start);
  std::ranges::stable_sort(launches, {}, &HostLaunch::correlation);
}

}  // namespace stepcast::calibrate
