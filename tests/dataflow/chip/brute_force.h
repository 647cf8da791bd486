// The counts of a chip program by running it: every round in order, every unit, explicit sets of elements. Shares no
// code and no formula with dataflow/chip/count/count.cpp.
#pragma once

#include "dataflow/chip/count/count.h"

namespace stepcast::dataflow::brute {

/// For small problems: time and memory grow with the multiply-adds.
Counts run_literally(const ChipProgram& chip);

}  // namespace stepcast::dataflow::brute
