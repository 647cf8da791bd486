// The number of GPUs where nodes or the ways of data parallelism say it.
#pragma once

#include "studies/run/request.h"

namespace stepcast::run {

/// Says "gpus" where the request says "nodes" or "dp", and unsays those. Errors: they disagree with the GPUs that are
/// said, or with each other. A mapping keeps its "dp", which its reader refuses.
Expected<void> settle_gpus(Request& request);

/// What nobody's words name.
constexpr const char* default_machine = "dgx-h100";

}  // namespace stepcast::run
