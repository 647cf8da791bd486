// Short pauses that every process of a job makes now and then: garbage collection, logging.
#pragma once

#include <cstdint>

#include "model/base/units.h"

namespace stepcast::sim {

/// Mean time that a step is longer where each of `processes` pauses for `pause` once in `every` steps. Together: in the
/// same step. Else each in a step of its own choice: a step waits once, however many pause in it, with the chance
/// 1 - (1 - 1/every)^processes that any does.
Seconds pause_per_step(Seconds pause, std::int64_t every, std::int64_t processes, bool together);

}  // namespace stepcast::sim
