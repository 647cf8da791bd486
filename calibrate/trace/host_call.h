// What a host does instead of launching kernels: it waits for the GPU, loads samples, collects garbage, saves.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/base/namespaces.h"

namespace stepcast::calibrate {

enum class HostCallKind : std::uint8_t { synchronisation, loader, garbage_collection, checkpoint };

/// "synchronisations", "the loader", "garbage collection", "checkpoints".
const char* to_text(HostCallKind kind);

/// Of the names of runtime calls, operators and ranges as profilers write them.
std::optional<HostCallKind> host_call_of(std::string_view name);

/// Microseconds of the recording's clock.
struct HostCall {
  HostCallKind kind = HostCallKind::synchronisation;
  double start = 0, end = 0;
};

/// Shorter ones are not kept: nothing waits for them.
inline constexpr double shortest_host_call = 5;  // microseconds

}  // namespace stepcast::calibrate
