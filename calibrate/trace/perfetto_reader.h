// Traces in Perfetto's own format (TracePackets with TrackEvents), as rocprofv3 --output-format pftrace writes them.
// Of google/perfetto's protos/perfetto/trace: trace_packet, track_event, track_descriptor, debug_annotation,
// interned_data, clock_snapshot. Other packets say nothing about a GPU's kernels and are passed over.
#pragma once

#include <string_view>

#include "calibrate/import/profilers/raw_event.h"
#include "calibrate/import/timings_file.h"

namespace stepcast::calibrate {

/// What the head of its events names as their maker.
inline constexpr std::string_view perfetto_generator = "Perfetto";

/// By the first packets of the file.
bool is_perfetto(std::string_view head);

/// Each slice as an event with its category, name and arguments; device and stream are the numbers in its track's
/// name: "COMPUTE AGENT [4] STREAM [1] (GPU)". Errors: a file that breaks off or is damaged, packets that are packed or
/// lost, a clock that nobody explains, a kernel that never ends.
Expected<void> read_perfetto_events(TimingsStream& stream, RawTraceHead& head, const TakeRawEvent& take);

}  // namespace stepcast::calibrate
