// Traces made by hand, in whole microseconds.
#pragma once

#include <algorithm>
#include <string>

#include "calibrate/trace/kernel_names.h"
#include "calibrate/trace/rank_trace.h"
#include "studies/compare/facts_report.h"

namespace stepcast::comparison::hand_trace {

struct HandEvent {
  const char* name;
  double start, end;
  double launched = -1;  ///< -1: the recording has no launch of it
};

inline RankTrace trace_of(const std::vector<HandEvent>& events) {
  RankTrace trace;
  trace.file = "hand.json", trace.tool = "Kineto";
  for (const HandEvent& one : events) {
    DeviceEvent event{.start = one.start, .end = one.end, .kind = work_kind_of(one.name)};
    const auto known = std::find(trace.names.begin(), trace.names.end(), one.name);
    event.name = static_cast<std::int32_t>(known - trace.names.begin());
    if (known == trace.names.end()) trace.names.emplace_back(one.name);
    event.correlation = static_cast<std::int64_t>(trace.events.size());
    if (event.kind == WorkKind::communication) {
      event.collective = static_cast<std::int32_t>(trace.collectives.size());
      trace.collectives.push_back({std::string(collective_kind_in(one.name)), 0, 0, ""});
    }
    if (one.launched >= 0) trace.launches.push_back({event.correlation, one.launched, one.launched});
    trace.events.push_back(event);
  }
  trace.settle();
  return trace;
}

}  // namespace stepcast::comparison::hand_trace
