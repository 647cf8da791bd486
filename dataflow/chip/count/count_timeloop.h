#pragma once

#include "dataflow/chip/count/nest.h"

namespace stepcast::dataflow::counting {

/// An input with windows, tiles all whole, as Timeloop counts it. Needs counts.steps and counts.instances.
void count_as_timeloop(const Nest& nest, int tensor, Counts& counts);

}  // namespace stepcast::dataflow::counting
