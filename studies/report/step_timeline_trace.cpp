// The whole step as a trace: the pipeline's actions, and around them the phases that every rank goes through together.
#include "studies/report/phases.h"
#include "studies/report/step_timeline.h"
#include "studies/report/trace.h"

namespace stepcast {
namespace {

/// The pipeline's own phases are its actions.
bool in_pipeline(std::string_view key) {
  return key == "forward" || key == "backward" || key == "bubble" || key == "exposed_communication";
}

bool is_communication(std::string_view key) { return key == "gradient_sync" || key == "parameter_gather"; }

struct StepAround {
  double begin = 0;  ///< of the pipeline
  std::vector<TraceStretch> stretches;
};

/// One after the other, in the order of the phases. Sums of seconds end where the step does, to the last digit.
StepAround stretches_around(const StepReport& step) {
  StepAround around;
  Seconds now;
  for (const PhaseRow& phase : phase_rows(step.phases)) {
    const Seconds from = now;
    now += phase.time;
    if (in_pipeline(phase.key)) {
      if (phase.key == "forward") around.begin = from.value();
    } else if (phase.time > Seconds(0)) {
      around.stretches.push_back({std::string(phase.name), is_communication(phase.key), from.value(), now.value()});
    }
  }
  const bool tail = !around.stretches.empty() && around.stretches.back().start > around.begin;
  if (tail) around.stretches.back().end = step.step_time.value();
  return around;
}

/// By virtual stage, what it hands on takes: hop i is between stages i and i+1.
std::vector<double> hops_from(const std::vector<Seconds>& hops, bool back, int stages) {
  std::vector<double> from(static_cast<std::size_t>(stages), 0.0);
  for (std::size_t i = 0; i < hops.size(); ++i) from[back ? i + 1 : i] = hops[i].value();
  return from;
}

std::vector<double> bytes_of(const std::vector<Bytes>& list) {
  std::vector<double> bytes;
  for (const Bytes one : list) bytes.push_back(one.value());
  return bytes;
}

}  // namespace

std::string timeline_trace(const Prediction& prediction) {
  const StepReport& step = prediction.step;
  StepAround around = stretches_around(step);
  const int stages = step.order.stages();
  return trace_text({.order = step.order,
                     .timeline = step.timeline,
                     .microseconds = 1e6,
                     .begin = around.begin,
                     .hop_ahead = hops_from(step.times.hop_forward, false, stages),
                     .hop_back = hops_from(step.times.hop_backward, true, stages),
                     .around = std::move(around.stretches),
                     .counter = "memory kept",
                     .counted = "bytes",
                     .kept = bytes_of(step.memory.kept),
                     .always = bytes_of(step.memory.always)});
}

}  // namespace stepcast
