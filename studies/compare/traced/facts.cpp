#include "studies/compare/traced/facts.h"

#include <algorithm>
#include <tuple>

namespace stepcast::comparison {
namespace {

/// The length of what events cover, taken in order of their starts.
class CoveredTime {
 public:
  void add(const DeviceEvent& event) {
    if (event.end <= end_) return;
    length_ += event.end - std::max(event.start, end_);
    end_ = event.end;
  }
  [[nodiscard]] double seconds() const { return length_ * seconds_of_microsecond; }

 private:
  double end_ = -1e300, length_ = 0;
};

void add_collective(std::map<std::pair<std::string, std::int64_t>, CollectiveSum>& sums, const RankTrace& trace,
    const DeviceEvent& event) {
  const CalledCollective& called = trace.collectives[static_cast<std::size_t>(event.collective)];
  const double seconds = (event.end - event.start) * seconds_of_microsecond;
  CollectiveSum& sum = sums[{called.kind, called.group}];
  if (sum.calls == 0) sum = {called.kind, called.group, 0, 0, seconds, seconds, 0};
  ++sum.calls;
  sum.seconds += seconds;
  sum.bytes += called.bytes;
  sum.shortest = std::min(sum.shortest, seconds);
  sum.longest = std::max(sum.longest, seconds);
}

}  // namespace

KindSum TraceFacts::sum_of(bool (*which)(WorkKind)) const {
  KindSum sum;
  for (int kind = 0; kind < work_kinds; ++kind) {
    if (!which(static_cast<WorkKind>(kind))) continue;
    sum.calls += kinds[static_cast<std::size_t>(kind)].calls;
    sum.seconds += kinds[static_cast<std::size_t>(kind)].seconds;
  }
  return sum;
}

double TraceFacts::unplaced_share() const {
  const double all =
      sum_of(is_compute).seconds + sum_of([](WorkKind kind) { return kind == WorkKind::communication; }).seconds;
  return all > 0 ? kinds[static_cast<std::size_t>(WorkKind::unplaced)].seconds / all : 0;
}

TraceFacts facts_of(const RankTrace& trace, const FoundSteps& steps, int step, WithoutLaunch without) {
  TraceFacts facts;
  CoveredTime busy, compute, communication, either, copies;
  std::map<std::pair<std::string, std::int64_t>, CollectiveSum> collectives;
  double first = 0, last = -1e300;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const bool started = without == WithoutLaunch::by_start && !steps.started_in.empty() && steps.started_in[i] == step;
    if (step >= 0 && steps.step_of[i] != step && !started) continue;
    const DeviceEvent& event = trace.events[i];
    const double seconds = (event.end - event.start) * seconds_of_microsecond;
    if (facts.events++ == 0) {
      first = event.start;
    } else if (event.start > last) {
      const double gap = (event.start - last) * seconds_of_microsecond, launched = trace.launched_at(event);
      (launched < 0 ? facts.unknown : launched > last ? facts.host_late : facts.queued) += gap;
    }
    last = std::max(last, event.end);
    KindSum& sum = facts.kinds[static_cast<std::size_t>(event.kind)];
    ++sum.calls;
    sum.seconds += seconds;
    busy.add(event);
    if (is_compute(event.kind)) compute.add(event), either.add(event);
    if (event.kind == WorkKind::communication) {
      communication.add(event), either.add(event);
      add_collective(collectives, trace, event);
    }
    if (event.kind == WorkKind::memcpy || event.kind == WorkKind::memset) copies.add(event);
    if (event.kind != WorkKind::unplaced) continue;
    KindSum& named = facts.unplaced[trace.names[static_cast<std::size_t>(event.name)]];
    ++named.calls;
    named.seconds += seconds;
  }
  facts.span = facts.events == 0 ? 0 : (last - first) * seconds_of_microsecond;
  facts.busy = busy.seconds(), facts.idle = facts.span - facts.busy;
  facts.compute = compute.seconds(), facts.communication = communication.seconds();
  facts.exposed = either.seconds() - facts.compute, facts.copies = copies.seconds();
  for (auto& [key, sum] : collectives) facts.collectives.push_back(std::move(sum));
  std::ranges::stable_sort(facts.collectives, std::greater{}, &CollectiveSum::seconds);
  return facts;
}

}  // namespace stepcast::comparison
