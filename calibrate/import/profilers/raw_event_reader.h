// Takes a trace in Chrome's format (JSON) apart, event by event, without
// building values of what nobody wants. Memory is that of one event, however
// long the file is.
#pragma once

#include "calibrate/import/profilers/raw_event.h"
#include "calibrate/import/timings_file.h"

namespace stepcast::calibrate {

/// What of an operator's inputs is kept: their sizes, or their types and
/// values, too.
enum class OperatorInputs : std::uint8_t { sizes, all };

/// The head is filled as its parts come by, before or behind the events.
/// Errors: no JSON or not all of it, at which byte; no list traceEvents; values
/// that nest beyond reason; what `take` says.
Expected<void> read_raw_events(
    TimingsStream& stream, RawTraceHead& head, OperatorInputs inputs, const TakeRawEvent& take);

}  // namespace stepcast::calibrate
