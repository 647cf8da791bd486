// Makespans that need no run: schedules on equal stages, where a formula is exact. Tests hold each against the engine.
#pragma once

#include <optional>
#include <string>

#include "model/units.h"
#include "sim/schedule/engine.h"
#include "sim/schedule/order.h"

namespace stepcast {

/// What run() gives as makespan for this kind, size and times, by formula; nothing where no exact formula is known
/// (unequal stages or hops, interleaving with hops). The size must be legal for the kind.
std::optional<Seconds> closed_form_makespan(const std::string& schedule, const ScheduleSize& size,
                                            const StageTimes& times);

}  // namespace stepcast
