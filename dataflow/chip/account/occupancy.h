// How often the units of a level get new work, and how many of them have any: the waves of thread blocks on a GPU, the
// folds of an array. Both follow from the loops outside the level alone.
#pragma once

#include <cstdint>

#include "dataflow/chip/chip.h"

namespace stepcast::dataflow {

struct Occupancy {
  std::int64_t rounds = 1;  ///< of the unit that has the most
  double share = 1;         ///< rounds with work, over rounds x units
};

Occupancy occupancy_of(const ChipProgram& chip, int level);

}  // namespace stepcast::dataflow
