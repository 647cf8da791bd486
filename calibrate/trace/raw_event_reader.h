// Takes a trace apart, event by event, without building values of what nobody wants.
#pragma once

#include <functional>

#include "calibrate/import/timings_file.h"
#include "calibrate/trace/raw_event.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// `take` is called for each event; the head is filled as its parts come by. Errors: no JSON or not all of it, at which
/// byte; no list traceEvents; values that nest beyond reason.
Expected<void> read_raw_events(
    TimingsStream& stream, RawTraceHead& head, const std::function<Expected<void>(const RawTraceEvent&)>& take);

}  // namespace stepcast::calibrate
