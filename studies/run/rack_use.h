// How jobs lie on racks that hold more GPUs than a power of two.
#pragma once

#include <cstdint>
#include <string>

#include "model/machine/machine.h"

namespace stepcast::run {

/// Jobs larger than a rack of 72 GPUs take whole trays of 64 in each, so that groups of 8, 16, 32 and 64 stay inside
/// one rack, as schedulers of such machines place them (Slurm's topology/block segments). Gives a line that says so; ""
/// = nothing changed.
std::string take_segments(Machine& machine, std::int64_t gpus);

}  // namespace stepcast::run
