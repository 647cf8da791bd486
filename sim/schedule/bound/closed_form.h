// Peaks of activations that need no run: where a formula is exact. Tests hold each against the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/schedule/order.h"

namespace stepcast {

/// Timeline::peak_in_flight, whatever the times; nothing where no formula is exact.
std::optional<std::vector<std::int32_t>> closed_form_peaks(const std::string& schedule, const ScheduleSize& size);

}  // namespace stepcast
