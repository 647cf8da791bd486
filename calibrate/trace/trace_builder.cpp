#include "calibrate/trace/trace_builder.h"

#include <unordered_set>

#include <fmt/format.h>

#include "calibrate/trace/kernel_names.h"

namespace stepcast::calibrate {

RankTrace& TraceBuilder::of(std::int64_t device) {
  RankTrace& trace = traces_[device].trace;
  trace.device = device;
  return trace;
}

void TraceBuilder::add(std::int64_t device, DeviceEvent event, std::string_view name, const WorkKind* known,
    CalledCollective called, std::int64_t external) {
  of(device);
  Device& at = traces_[device];
  key_ = name;
  const auto [found, added] = at.names.try_emplace(key_, static_cast<std::int32_t>(at.trace.names.size()));
  if (added) {
    at.trace.names.push_back(key_);
    at.kinds.push_back(work_kind_of(name));
  }
  event.name = found->second;
  event.kind = known != nullptr ? *known : at.kinds[static_cast<std::size_t>(event.name)];
  if (event.kind == WorkKind::communication) {
    if (called.fabric.empty()) called.kind = collective_kind_in(called.kind.empty() ? name : called.kind);
    const std::string key = fmt::format("{} {} {} {}", called.kind, called.group, called.bytes, called.fabric);
    const auto [same, fresh] = at.collectives.try_emplace(key, static_cast<std::int32_t>(at.trace.collectives.size()));
    if (fresh) at.trace.collectives.push_back(std::move(called));
    event.collective = same->second;
  }
  if (external >= 0 && is_product(event.kind)) at.asked.emplace_back(at.trace.events.size(), external);
  at.trace.events.push_back(event);
}

/// Of the kernels of one operator the first has its shape: others add up what it left.
void TraceBuilder::add_shapes(Device& built) const {
  std::map<TracedShape, std::int32_t> known;
  std::unordered_set<std::int64_t> given;
  for (const auto& [event, external] : built.asked) {
    const auto at = products.find(external);
    if (at == products.end() || !given.insert(external).second) continue;
    const auto [same, fresh] = known.try_emplace(at->second, static_cast<std::int32_t>(built.trace.shapes.size()));
    if (fresh) built.trace.shapes.push_back(at->second);
    built.trace.events[event].shape = same->second;
  }
}

std::vector<RankTrace> TraceBuilder::finish() {
  std::vector<RankTrace> all;
  for (auto& [device, built] : traces_) {
    RankTrace& trace = built.trace;
    trace.launches = launches;
    trace.marks = marks, trace.calls = calls;
    add_shapes(built);
    trace.settle();
    all.push_back(std::move(trace));
  }
  return all;
}

}  // namespace stepcast::calibrate
