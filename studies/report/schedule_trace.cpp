// A schedule's run as a trace: the pipeline alone, activations counted one by one.
#include "studies/report/schedule_report.h"
#include "studies/report/trace.h"

namespace stepcast {

std::string schedule_trace(const ScheduleRun& run) {
  const auto stages = static_cast<std::size_t>(run.order.stages());
  const std::vector<double> hops(stages, run.hop), one(stages, 1.0);
  return trace_text({.order = run.order,
                     .timeline = run.timeline,
                     .microseconds = run.in_seconds ? 1e6 : 1,
                     .hop_ahead = hops,
                     .hop_back = hops,
                     .around = {},
                     .kept = one,
                     .always = {}});
}

}  // namespace stepcast
