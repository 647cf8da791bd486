// What a resolved operator on a chip must obey besides its factors. `places`: by level, where its line stands.
#pragma once

#include <string>
#include <vector>

#include "dataflow/chip/chip.h"

namespace stepcast::dataflow {

/// More dims, tensors, levels or loops than the counter holds.
Expected<void> check_limits(const ChipProgram& chip, const Position& place);

/// The outermost store must keep every tensor.
Expected<void> check_keeps(const ChipProgram& chip, const std::vector<Position>& places);

/// Every tile must fit. The error lists what makes it up and the smallest change of one factor that fits.
Expected<void> check_capacity(const ChipProgram& chip, const std::vector<Position>& places);

/// Largest parts of the dims that one unit of the level works on while its tiles stay.
std::vector<std::int64_t> tile_extents(const ChipProgram& chip, int level);

/// Different values of an index whose loops run over these parts.
double distinct_values(const ChipIndex& index, const std::vector<std::int64_t>& parts);

}  // namespace stepcast::dataflow
