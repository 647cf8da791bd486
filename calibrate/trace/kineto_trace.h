// Traces in Chrome's format: what PyTorch's profiler (Kineto) writes for CUDA and ROCm, and what `stepcast timeline`
// writes. Events pass by one at a time; what is kept of one has 48 bytes.
#pragma once

#include <vector>

#include "calibrate/import/timings_file.h"
#include "calibrate/trace/rank_trace.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// One trace per GPU of the file. Errors: no JSON, or not all of it; no list traceEvents; no event of a GPU; times that
/// are no numbers.
Expected<std::vector<RankTrace>> read_kineto_trace(TimingsStream& stream);
/// The same of events in Perfetto's own format, with the errors of read_perfetto_events.
Expected<std::vector<RankTrace>> read_perfetto_trace(TimingsStream& stream);

}  // namespace stepcast::calibrate
