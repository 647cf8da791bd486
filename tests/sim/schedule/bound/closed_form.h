// Makespans, spans, peaks and messages that need no run: schedules on equal stages, where a formula is exact.
// Each is held against the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/base/units.h"
#include "sim/schedule/engine/engine.h"
#include "sim/schedule/schedule_table.h"

namespace stepcast::sim {

/// What run() gives as makespan for this kind, size and times, by formula; nothing where no exact formula is known
/// (unequal stages or hops, single durations, slow ranks, most kinds with hops). The size must be legal for the kind.
std::optional<Seconds> closed_form_makespan(
    const std::string& schedule, const ScheduleSize& size, const StageTimes& times);
/// The same for Timeline::span.
std::optional<Seconds> closed_form_span(const std::string& schedule, const ScheduleSize& size, const StageTimes& times);

/// Timeline::peak_in_flight, whatever the times; nothing where no formula is exact.
std::optional<std::vector<std::int32_t>> closed_form_peaks(const std::string& schedule, const ScheduleSize& size);

/// Timeline::messages of every kind that make_order() knows.
Expected<std::int64_t> closed_form_messages(const std::string& schedule, const ScheduleSize& size);

}  // namespace stepcast::sim
