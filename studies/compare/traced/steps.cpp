#include "studies/compare/traced/steps.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace stepcast::comparison {
namespace {

/// Longer or shorter than the median by this factor is an outlier: a garbage collection, a checkpoint, a warm-up.
constexpr double outlier_factor = 1.2;

struct LaunchRange {
  std::int64_t number = 0;
  double start = 0, end = 0;
  IterationRows rows = {};
};

/// When the event was asked for: its launch, or its start where the recording has no launches at all.
double asked_at(const RankTrace& trace, const DeviceEvent& event) {
  return trace.launches.empty() ? event.start : trace.launch_of(event);
}

/// Of ranges within each other the outer ones.
std::vector<LaunchRange> ranges_of_steps(const RankTrace& trace, MarkKind kind) {
  std::vector<LaunchRange> ranges;
  for (const HostMark& mark : trace.marks)
    if (mark.kind == kind && (ranges.empty() || mark.start >= ranges.back().end))
      ranges.push_back({mark.number, mark.start, mark.end});
  return ranges;
}

/// Of ranges within each other the inner ones: what an engine does around its forward pass waits for requests.
std::vector<LaunchRange> ranges_of_passes(const RankTrace& trace) {
  std::vector<LaunchRange> ranges;
  for (const HostMark& mark : trace.marks) {
    if (mark.kind != MarkKind::pass) continue;
    IterationRows rows = mark.rows;
    if (!ranges.empty() && mark.end <= ranges.back().end) {
      if (!rows.known()) rows = ranges.back().rows;
      ranges.pop_back();
    }
    ranges.push_back({static_cast<std::int64_t>(ranges.size()) + 1, mark.start, mark.end, rows});
  }
  return ranges;
}

/// A step ends with the optimizer's launches, and with those of zero_grad where nothing is launched between them.
std::vector<LaunchRange> ranges_of_optimizer(const RankTrace& trace) {
  std::vector<double> launched;
  for (const DeviceEvent& event : trace.events) launched.push_back(asked_at(trace, event));
  std::sort(launched.begin(), launched.end());
  std::vector<double> cuts;
  for (const HostMark& mark : trace.marks) {
    if (mark.kind == MarkKind::optimizer) cuts.push_back(mark.end);
    if (mark.kind != MarkKind::zero_grad || cuts.empty() || mark.start < cuts.back()) continue;
    const auto between = std::upper_bound(launched.begin(), launched.end(), cuts.back());
    if (between == launched.end() || *between >= mark.start) cuts.back() = mark.end;
  }
  std::vector<LaunchRange> ranges;
  for (std::size_t i = 0; i < cuts.size(); ++i)
    ranges.push_back(
        {static_cast<std::int64_t>(i) + 1, i == 0 ? -INFINITY : std::nextafter(cuts[i - 1], INFINITY), cuts[i]});
  return ranges;
}

std::int32_t range_at(const std::vector<LaunchRange>& ranges, double time) {
  const auto after = std::upper_bound(
      ranges.begin(), ranges.end(), time, [](double at, const LaunchRange& range) { return at < range.start; });
  if (after == ranges.begin() || time > (after - 1)->end) return -1;
  return static_cast<std::int32_t>(after - 1 - ranges.begin());
}

void cut_by_launch(const RankTrace& trace, const std::vector<LaunchRange>& ranges, FoundSteps& found) {
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const double asked = asked_at(trace, trace.events[i]);
    if (asked >= 0) {
      found.step_of[i] = range_at(ranges, asked);
    } else {
      found.started_in.resize(trace.events.size(), -1);
      found.started_in[i] = range_at(ranges, trace.events[i].start);
    }
  }
}

/// Graphs: all kernels of a launch have its correlation. Steps are launches of a graph that are alike and have nine of
/// ten events.
bool cut_by_graphs(const RankTrace& trace, FoundSteps& found) {
  std::map<std::int64_t, std::size_t> sizes;
  for (const DeviceEvent& event : trace.events)
    if (event.correlation >= 0) ++sizes[event.correlation];
  std::size_t largest = 0, held = 0;
  for (const auto& [correlation, size] : sizes) largest = std::max(largest, size);
  std::map<std::int64_t, std::int32_t> steps;
  for (const auto& [correlation, size] : sizes)
    if (size == largest) steps.emplace(correlation, static_cast<std::int32_t>(steps.size())), held += size;
  constexpr std::size_t least_kernels = 10;
  if (steps.size() < 2 || largest < least_kernels || 10 * held < 9 * trace.events.size()) return false;
  for (std::size_t i = 0; i < trace.events.size(); ++i)
    if (const auto at = steps.find(trace.events[i].correlation); at != steps.end()) found.step_of[i] = at->second;
  return true;
}

/// The shortest period after which all names on the busiest stream return; layers of one pass return, too, but not its
/// embedding and head. 0: there is none.
std::size_t period_of(const std::vector<std::int32_t>& names) {
  constexpr double most_misses = 0.002;
  std::map<std::int32_t, std::size_t> counts;
  for (const std::int32_t name : names) ++counts[name];
  for (const auto& [name, count] : counts)
    if (count < 2) return 0;
  constexpr std::size_t most_tried = 20'000;
  for (std::size_t period = 2; period <= std::min(names.size() / 2, most_tried); ++period) {
    const auto allowed = static_cast<std::size_t>(most_misses * static_cast<double>(names.size() - period));
    std::size_t misses = 0;
    for (std::size_t i = 0; i + period < names.size() && misses <= allowed; ++i)
      misses += names[i] != names[i + period];
    if (misses <= allowed) return period;
  }
  return 0;
}

bool cut_by_repeats(const RankTrace& trace, FoundSteps& found) {
  std::map<std::int32_t, std::size_t> streams;
  for (const DeviceEvent& event : trace.events) ++streams[event.stream];
  const auto busiest = std::max_element(
      streams.begin(), streams.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::int32_t> names;
  std::vector<double> starts;
  for (const DeviceEvent& event : trace.events)
    if (event.stream == busiest->first) names.push_back(event.name), starts.push_back(event.start);
  const std::size_t period = period_of(names);
  if (period == 0) return false;
  for (std::size_t i = 0, step = 0; i < trace.events.size(); ++i) {
    while ((step + 1) * period < starts.size() && trace.events[i].start >= starts[(step + 1) * period]) ++step;
    if ((step + 1) * period <= names.size()) found.step_of[i] = static_cast<std::int32_t>(step);
  }
  return true;
}

void gather_steps(const RankTrace& trace, const std::vector<LaunchRange>& ranges, FoundSteps& found) {
  std::map<std::int32_t, FoundStep> steps;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const DeviceEvent& event = trace.events[i];
    if (found.step_of[i] < 0) {
      ++found.outside;
      continue;
    }
    const auto [at, first] = steps.try_emplace(found.step_of[i]);
    if (first) at->second.number = at->first + 1, at->second.begin = event.start, at->second.end = event.end;
    at->second.begin = std::min(at->second.begin, event.start);
    at->second.end = std::max(at->second.end, event.end);
    ++at->second.events;
  }
  std::map<std::int32_t, std::int32_t> index;
  for (auto& [number, step] : steps) {
    if (!ranges.empty()) {
      const LaunchRange& range = ranges[static_cast<std::size_t>(number)];
      step.number = range.number, step.rows = range.rows;
    }
    step.next = step.end;
    if (!found.steps.empty()) found.steps.back().next = step.begin;
    index.emplace(number, static_cast<std::int32_t>(found.steps.size()));
    found.steps.push_back(step);
  }
  for (std::int32_t& step : found.step_of)
    if (step >= 0) step = index.at(step);
  for (std::int32_t& step : found.started_in)
    if (step >= 0) step = index.contains(step) ? index.at(step) : -1;
}

void add_product_rows(const RankTrace& trace, FoundSteps& found) {
  if (trace.shapes.empty()) return;
  std::vector<std::map<double, double>> flops(found.steps.size());
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const std::int32_t step = found.step_of[i], shape = trace.events[i].shape;
    if (step < 0 || shape < 0) continue;
    const TracedShape& product = trace.shapes[static_cast<std::size_t>(shape)];
    flops[static_cast<std::size_t>(step)][product.m] += product.flops();
  }
  for (std::size_t i = 0; i < flops.size(); ++i) {
    double most = 0;
    for (const auto& [rows, sum] : flops[i])
      if (sum > most) most = sum, found.steps[i].product_rows = rows;
  }
}

/// The one whose duration is the median of those that are no outliers.
void take_one(FoundSteps& found) {
  std::vector<double> durations;
  for (const FoundStep& step : found.steps) durations.push_back(step.duration());
  std::sort(durations.begin(), durations.end());
  const double median = durations[durations.size() / 2];
  std::vector<std::pair<double, int>> usual;
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    FoundStep& step = found.steps[i];
    step.outlier = step.duration() > outlier_factor * median || outlier_factor * step.duration() < median;
    if (!step.outlier) usual.emplace_back(step.duration(), static_cast<int>(i));
  }
  std::sort(usual.begin(), usual.end());
  found.taken = usual.empty() ? 0 : usual[(usual.size() - 1) / 2].second;
}

}  // namespace

FoundSteps find_steps(const RankTrace& trace) {
  FoundSteps found;
  found.step_of.assign(trace.events.size(), -1);
  std::vector<LaunchRange> ranges;
  if (std::isfinite(trace.begin)) {
    found.how = "the forecast's own step";
    std::fill(found.step_of.begin(), found.step_of.end(), 0);
  } else if (ranges = ranges_of_passes(trace); !ranges.empty()) {
    found.how = "ranges of an engine's iterations";
  } else if (ranges = ranges_of_steps(trace, MarkKind::step); !ranges.empty()) {
    found.how = "marks of the profiler";
  } else if (ranges = ranges_of_steps(trace, MarkKind::numbered); ranges.size() > 1) {
    found.how = "ranges that the program numbered";
  } else if (ranges = ranges_of_optimizer(trace); ranges.size() > 1) {
    found.how = "calls of the optimizer";
  } else if (ranges.clear(); cut_by_graphs(trace, found)) {
    found.how = "launches of one graph";
  } else if (cut_by_repeats(trace, found)) {
    found.how = "kernels that repeat (steps, or layers where nothing else was recorded)";
  } else {
    found.how = "nothing repeats: the whole recording";
    std::fill(found.step_of.begin(), found.step_of.end(), 0);
  }
  if (!ranges.empty()) cut_by_launch(trace, ranges, found);
  if (std::ranges::all_of(found.step_of, [](std::int32_t step) { return step < 0; })) {
    found.how = "marks that launch nothing: the whole recording";
    ranges.clear(), found.started_in.clear();
    std::fill(found.step_of.begin(), found.step_of.end(), 0);
  }
  gather_steps(trace, ranges, found);
  if (std::isfinite(trace.begin) && !found.steps.empty())
    found.steps[0].begin = trace.begin, found.steps[0].next = found.steps[0].end = trace.end;
  take_one(found);
  add_product_rows(trace, found);
  return found;
}

}  // namespace stepcast::comparison
