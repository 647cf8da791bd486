#include "calibrate/trace/rank_trace.h"

#include <algorithm>

namespace stepcast::calibrate {

double RankTrace::launch_of(const DeviceEvent& event) const {
  const auto at = std::lower_bound(launches.begin(), launches.end(), event.correlation,
      [](const auto& launch, std::int64_t correlation) { return launch.first < correlation; });
  return event.correlation >= 0 && at != launches.end() && at->first == event.correlation ? at->second : -1;
}

void RankTrace::settle() {
  const auto by_start = [](const auto& a, const auto& b) { return a.start < b.start; };
  std::stable_sort(events.begin(), events.end(), by_start);
  std::stable_sort(marks.begin(), marks.end(), by_start);
  std::stable_sort(host.begin(), host.end(), by_start);
  std::stable_sort(calls.begin(), calls.end(), by_start);
  std::sort(launches.begin(), launches.end());
}

}  // namespace stepcast::calibrate
