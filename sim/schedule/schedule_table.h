// The table of all kinds of schedules, and orders by the id of a kind.
#pragma once

#include <span>
#include <string>

#include "sim/schedule/orders/fixed_kinds.h"
#include "sim/schedule/schedule_kind.h"

namespace stepcast::sim {

std::span<const ScheduleKind> schedule_kinds();
Expected<const ScheduleKind*> find_schedule(const std::string& id);
/// check_size, then make. Kinds that need times take unit ones here.
Expected<Order> make_order(const std::string& id, const ScheduleSize& size);
Expected<Order> make_order(const std::string& id, const ScheduleSize& size, const OrderTimes& times);

}  // namespace stepcast::sim
