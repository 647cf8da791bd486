#include "studies/compare/traced/time_split.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "model/base/text.h"

namespace stepcast::comparison {
namespace {

/// Traces round their times: what is shorter is no gap.
constexpr double a_nanosecond = 1e-9;

struct TakenTime {
  double start, end;
};

/// Hands out the time that nobody has yet. Events come in order of their starts within a layer.
class SplitLayers {
 public:
  SplitLayers(double begin, double end) : begin_(begin), end_(end) {}

  /// What of the event is free; it is taken from now on.
  double take(double start, double end) {
    start = std::max({start, begin_, cursor_});
    end = std::min(end, end_);
    if (end <= start) return 0;
    cursor_ = end;
    double free = 0;
    while (at_ < taken_.size() && taken_[at_].end <= start) ++at_;
    double from = start;
    for (std::size_t i = at_; i < taken_.size() && taken_[i].start < end; ++i) {
      if (taken_[i].start > from) add(from, taken_[i].start, free);
      from = std::max(from, taken_[i].end);
    }
    if (from < end) add(from, end, free);
    return free * seconds_of_microsecond;
  }
  /// What was taken joins what was taken before.
  void close_layer() {
    taken_.insert(taken_.end(), fresh_.begin(), fresh_.end());
    std::sort(taken_.begin(), taken_.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
    std::vector<TakenTime> merged;
    for (const TakenTime& one : taken_) {
      if (!merged.empty() && one.start <= merged.back().end) merged.back().end = std::max(merged.back().end, one.end);
      else merged.push_back(one);
    }
    taken_ = std::move(merged);
    fresh_.clear();
    at_ = 0, cursor_ = -1e300;
  }
  [[nodiscard]] const std::vector<TakenTime>& taken() const { return taken_; }

 private:
  void add(double from, double to, double& free) {
    free += to - from;
    fresh_.push_back({from, to});
  }

  double begin_, end_, cursor_ = -1e300;
  std::size_t at_ = 0;
  std::vector<TakenTime> taken_, fresh_;
};

using SplitKey = std::tuple<SplitFamily, WorkKind, std::string, std::string>;

SplitFamily family_of(WorkKind kind) {
  if (is_compute(kind)) return SplitFamily::compute;
  return kind == WorkKind::communication ? SplitFamily::exposed : SplitFamily::copies;
}

SplitKey key_of(const RankTrace& trace, const DeviceEvent& event) {
  if (is_compute(event.kind))
    return {SplitFamily::compute, event.kind, trace.names[static_cast<std::size_t>(event.name)], ""};
  if (event.kind != WorkKind::communication) return {SplitFamily::copies, event.kind, to_text(event.kind), ""};
  const CalledCollective& called = trace.collectives[static_cast<std::size_t>(event.collective)];
  return {SplitFamily::exposed, event.kind, called.kind, called.fabric};
}

/// What kept the host: the GPU runs dry behind a synchronisation, and while other calls last.
std::optional<HostCallKind> call_in(std::span<const HostCall> calls, double from, double until) {
  constexpr double slack = 5;  // microseconds that a call takes to return
  std::optional<HostCallKind> found;
  double longest = 0;
  for (const HostCall& call : calls) {
    if (call.start >= until) break;
    if (call.end < from - slack) continue;
    const double inside = std::min(call.end, until) - std::max(call.start, from);
    const bool waits = call.kind == HostCallKind::synchronisation;
    if (!waits && 2 * inside < until - from) continue;
    if (waits && call.start > from + slack) continue;
    // a call that lasts says more than the synchronisation before it
    const double weight = waits ? std::max(inside, 0.0) / 2 + slack : inside;
    if (weight > longest) longest = weight, found = call.kind;
  }
  return found;
}

/// Stretches that nothing has taken; the host's own ones first.
void add_idle(const RankTrace& trace, double begin, double end, SplitLayers& layers, TimeSplit& split) {
  std::map<std::string, std::pair<double, std::size_t>> named;
  for (const HostStretch& stretch : trace.host) {
    auto& [seconds, calls] = named[stretch.name];
    seconds += layers.take(stretch.start, stretch.end);
    ++calls;
  }
  layers.close_layer();
  for (const auto& [name, sum] : named)
    if (sum.first > 0)
      split.rows.push_back({SplitFamily::host, WorkKind::unplaced, name, "", sum.first, sum.first, sum.second});
  double idle = 0, from = begin;
  std::size_t next = 0, first_call = 0;
  constexpr double horizon = 1e3;  // microseconds: calls are sorted by their starts
  const auto gap = [&](double until) {
    if (until <= from) return;
    IdleGap one;
    one.seconds = (until - from) * seconds_of_microsecond;
    while (next < trace.events.size() && trace.events[next].start < until) ++next;
    if (next < trace.events.size()) {
      one.after = trace.events[next].name;
      one.host_late = trace.launched_at(trace.events[next]) > from;
      if (one.host_late) {
        while (first_call < trace.calls.size() && trace.calls[first_call].end < from - horizon) ++first_call;
        one.call = call_in(std::span(trace.calls).subspan(first_call), from, until);
      }
    }
    if (next > 0) one.before = trace.events[next - 1].name;
    idle += one.seconds;
    if (one.seconds >= a_nanosecond) split.gaps.push_back(one);
  };
  for (const TakenTime& taken : layers.taken()) {
    gap(taken.start);
    from = std::max(from, taken.end);
  }
  gap(end);
  split.rows.push_back({SplitFamily::idle, WorkKind::unplaced, "idle", "", idle, idle, split.gaps.size()});
}

}  // namespace

bool is_backward_attention(std::string_view kernel) {
  constexpr std::string_view words[] = {" dx", "bwd", "backward", "dk_dv", "bprop"};
  const std::string name = lower_case(kernel);  // FlashAttnBwdSm90
  return std::ranges::any_of(words, [&](std::string_view word) { return name.find(word) != name.npos; });
}

TimeSplit split_time(const RankTrace& trace, double begin, double end) {
  TimeSplit split;
  split.seconds = (end - begin) * seconds_of_microsecond;
  SplitLayers layers(begin, end);
  std::map<SplitKey, SplitRow> rows;
  for (const SplitFamily family : {SplitFamily::compute, SplitFamily::exposed, SplitFamily::copies}) {
    for (const DeviceEvent& event : trace.events) {
      if (event.start >= end || event.end <= begin || family_of(event.kind) != family) continue;
      SplitRow& row = rows[key_of(trace, event)];
      const double seconds = layers.take(event.start, event.end);
      row.seconds += seconds;
      if (event.kind == WorkKind::gemm || event.kind == WorkKind::grouped_gemm)
        split.products.push_back({trace.names[static_cast<std::size_t>(event.name)], seconds,
            event.shape >= 0 ? trace.shapes[static_cast<std::size_t>(event.shape)].flops() : 0});
      row.flight += (event.end - event.start) * seconds_of_microsecond;
      ++row.calls;
      if (family == SplitFamily::compute) split.compute_flight += (event.end - event.start) * seconds_of_microsecond;
    }
    layers.close_layer();
  }
  for (auto& [key, row] : rows) {
    std::tie(row.family, row.kind, row.name, row.fabric) = key;
    split.rows.push_back(row);
  }
  add_idle(trace, begin, end, layers, split);
  return split;
}

}  // namespace stepcast::comparison
