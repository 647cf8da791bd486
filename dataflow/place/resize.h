// What was placed for one batch, for another: splits, homes and moves stay, and their bytes follow the extents. Forward
// alone takes any extents; with backward, these double.
#pragma once

#include <vector>

#include "dataflow/place/block.h"

namespace stepcast::dataflow {

/// Gives what was placed the bytes of the network's extents, of which those of the dims in `grown` are now another
/// multiple, or another expectation, than when it was placed. False, and nothing changed: statements deal such dims out
/// by their extents, or moves are more than their tensor's bytes.
bool resize(PlacedNetwork& placed, const Network& network, const std::vector<Statement>& statements,
    const std::vector<int>& grown);

/// Gives what was placed of `network` the bytes of `larger`, the same network with some dims twice as large: every byte
/// count is in proportion to one tensor, and has no second factor that grows. False, and nothing changed: they are not
/// alike in this way, or statements deal such dims out by their extents.
bool double_sizes(
    PlacedNetwork& placed, const Network& network, const Network& larger, const std::vector<Statement>& statements);
/// The bytes of `network` again, to the last bit.
void halve_sizes(PlacedNetwork& placed, const Network& network, const Network& larger);

}  // namespace stepcast::dataflow
