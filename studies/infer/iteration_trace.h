// An iteration as a trace of events, which Perfetto reads: what the host prepares, kernels, and collectives, in time.
#pragma once

#include <string>

#include "studies/infer/asked.h"

namespace stepcast::infer {

/// Of Phase::shown, kernel by kernel and layer by layer; stages stand one after the other.
std::string iteration_trace(const Asked& asked, const Answer& answer);

}  // namespace stepcast::infer
