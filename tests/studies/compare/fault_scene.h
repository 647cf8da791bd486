// Timelines of forecasts with faults put in, as traces: what a measured run would show if this alone were wrong.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "calibrate/trace/kineto_trace.h"
#include "sim/schedule/engine/engine.h"
#include "studies/compare/beside.h"
#include "studies/whatif/machine_levers.h"
#include "tests/studies/timeline/forecast_of.h"

namespace stepcast::comparison::fault_scene {

inline Scenario scenario_of(const std::string& line) { return timeline::timeline_testing::forecast_of(line)->scenario; }

/// The scenario's timeline, written and read back. `rank_slowdown`: of each stage; empty: none is slow.
inline std::vector<ReadTrace> timeline_of(const Scenario& scenario, const std::vector<double>& rank_slowdown = {}) {
  auto prediction = run::predict(scenario);
  if (!prediction) return ADD_FAILURE() << to_text(prediction.error()), std::vector<ReadTrace>();
  if (!rank_slowdown.empty()) {
    StepReport& step = prediction->step;
    step.times.rank_slowdown = rank_slowdown;
    const Seconds before = step.timeline.makespan;
    auto slowed = sim::run(step.order, step.times);
    if (!slowed) return ADD_FAILURE() << to_text(slowed.error()), std::vector<ReadTrace>();
    step.timeline = *std::move(slowed);
    step.step_time = step.step_time + step.timeline.makespan - before;
    step.phases.bubble = step.phases.bubble + step.timeline.makespan - before;
  }
  const auto scene = step_scene(scenario, *prediction);
  const std::string text = scene_trace(*scene, {TraceDetail::kernels, false});
  TimingsStream stream("timeline.json", std::string_view(text));
  auto traces = read_kineto_trace(stream);
  std::vector<ReadTrace> read;
  for (RankTrace& trace : *traces) {
    FoundSteps steps = find_steps(trace);
    read.push_back({std::move(trace), std::move(steps)});
  }
  return read;
}

/// Moves all that happens after what is made longer: `more(event)` microseconds are put in at an event's end (or, below
/// zero, as many of idle time in front of it). Of one rank alone, where nobody waits for another.
constexpr double a_nanosecond = 1e-3;
inline double stretch(
    std::vector<ReadTrace>& read, const std::function<double(const RankTrace&, const DeviceEvent&)>& more) {
  RankTrace& trace = read.front().trace;
  std::vector<std::pair<double, double>> shifts;  // from when on, how much in all
  double all = 0;
  for (const DeviceEvent& event : trace.events)
    if (const double put = more(trace, event); put != 0) {
      all += std::abs(put);
      shifts.emplace_back(put > 0 ? event.end : event.start, all);
    }
  // Times are rounded to nanoseconds, so that an event may begin a little before the end of the one before it.
  const auto shift = [&](double at) {
    const auto after = std::upper_bound(
        shifts.begin(), shifts.end(), at, [](double time, const auto& one) { return time < one.first; });
    return after == shifts.begin() ? 0 : std::prev(after)->second;
  };
  for (DeviceEvent& event : trace.events) {
    const double put = more(trace, event), at = event.start;
    event.start += shift(at + a_nanosecond);
    // An end that coincides with where a gap begins stays in front of it.
    event.end = std::max(event.start, event.end + shift(event.end + (put > 0 ? a_nanosecond : -2 * a_nanosecond)));
  }
  for (HostStretch& host : trace.host) host.start += shift(host.start), host.end += shift(host.end);
  trace.end += all;
  read.front().steps = find_steps(trace);
  return all * 1e-6;
}

inline Beside held(const Scenario& forecast, const std::vector<ReadTrace>& measured) {
  const auto expected = forecast_traces(forecast);
  if (!expected) return ADD_FAILURE() << to_text(expected.error()), Beside{};
  const auto beside = beside_forecast(*expected, measured);
  if (!beside) return ADD_FAILURE() << to_text(beside.error()), Beside{};
  return *beside;
}

}  // namespace stepcast::comparison::fault_scene
