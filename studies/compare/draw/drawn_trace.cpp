#include "studies/compare/draw/drawn_trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "studies/compare/traced/time_split.h"

namespace stepcast::comparison {
namespace {

constexpr int lanes = 4;
constexpr double nanoseconds_of_microsecond = 1000;

Lane lane_of(WorkKind kind) {
  if (is_compute(kind)) return Lane::compute;
  return kind == WorkKind::communication ? Lane::communication : Lane::copies;
}

/// Bars of a lane and kind with less than `room` between them become one.
std::vector<DrawnBar> joined(const std::vector<DrawnBar>& bars, std::int64_t room) {
  std::vector<DrawnBar> out;
  std::array<std::optional<std::size_t>, lanes> last;
  for (const DrawnBar& bar : bars) {
    auto& at = last[static_cast<std::size_t>(bar.lane)];
    if (at) {
      DrawnBar& before = out[*at];
      const std::int64_t end = before.start + before.length;
      if (before.kind == bar.kind && bar.start - end < room) {
        before.length = std::max(end, bar.start + bar.length) - before.start;
        before.events += bar.events;
        continue;
      }
    }
    at = out.size();
    out.push_back(bar);
  }
  return out;
}

}  // namespace

DrawnTrace drawn_trace(const RankTrace& trace, double begin, double end, const std::string& title) {
  DrawnTrace drawn{title, (end - begin) * seconds_of_microsecond, {}, {}};
  std::map<std::string, std::int32_t> names;
  const auto add = [&](Lane lane, WorkKind kind, const std::string& name, double start, double stop) {
    start = std::max(start, begin), stop = std::min(stop, end);
    if (stop <= start) return;
    const auto [at, fresh] = names.try_emplace(name, static_cast<std::int32_t>(drawn.names.size()));
    if (fresh) drawn.names.push_back(name);
    drawn.bars.push_back({lane, kind, at->second, std::llround((start - begin) * nanoseconds_of_microsecond),
        std::max<std::int64_t>(1, std::llround((stop - start) * nanoseconds_of_microsecond)), 1});
  };
  for (const DeviceEvent& event : trace.events)
    add(lane_of(event.kind), event.kind, trace.names[static_cast<std::size_t>(event.name)], event.start, event.end);
  for (const HostStretch& stretch : trace.host)
    add(Lane::host, WorkKind::unplaced, stretch.name, stretch.start, stretch.end);
  std::ranges::stable_sort(drawn.bars, {}, &DrawnBar::start);
  for (std::int64_t room = 1; drawn.bars.size() > most_drawn_bars && room < std::llround(1e9 * drawn.seconds);
       room *= 4)
    drawn.bars = joined(drawn.bars, room);
  return drawn;
}

}  // namespace stepcast::comparison
