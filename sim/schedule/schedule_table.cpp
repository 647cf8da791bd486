#include "sim/schedule/schedule_table.h"

#include <fmt/format.h>

#include "sim/schedule/search/timed_kinds.h"

namespace stepcast::sim {
namespace {

const std::vector<ScheduleKind>& kind_table() {
  static const std::vector<ScheduleKind> kinds = [] {
    std::vector<ScheduleKind> all = fixed_kinds();
    for (ScheduleKind& kind : orders::timed_kinds()) all.push_back(std::move(kind));
    return all;
  }();
  return kinds;
}

}  // namespace

std::span<const ScheduleKind> schedule_kinds() { return kind_table(); }

Expected<const ScheduleKind*> find_schedule(const std::string& id) {
  for (const ScheduleKind& kind : kind_table())
    if (kind.id == id) return &kind;
  std::vector<std::string> ids;
  for (const ScheduleKind& kind : kind_table()) ids.push_back(kind.id);
  return fail("schedule", fmt::format("unknown schedule '{}'", id), name_hint(id, ids));
}

Expected<Order> make_order(const std::string& id, const ScheduleSize& size) {
  TRY(const auto kind, find_schedule(id));
  TRY(check_size(*kind, size));
  if (kind->make_timed == nullptr) return kind->make(size);
  const std::vector<double> unit(static_cast<std::size_t>(size.ranks) * chunks_of(*kind, size), 1.0);
  return kind->make_timed(size, {.forward = unit, .input_grad = unit, .weight_grad = unit});
}

Expected<Order> make_order(const std::string& id, const ScheduleSize& size, const OrderTimes& times) {
  TRY(const auto kind, find_schedule(id));
  TRY(check_size(*kind, size));
  return kind->make_timed != nullptr ? kind->make_timed(size, times) : kind->make(size);
}

}  // namespace stepcast::sim
