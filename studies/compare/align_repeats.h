// Products of layers that repeat, where nobody recorded what they multiply: by their order within a layer.
#pragma once

#include <optional>
#include <vector>

#include "studies/compare/aligned_products.h"
#include "studies/compare/traced/time_split.h"

namespace stepcast::comparison {

/// Where the expected products are those of one kind of layer again and again (and a few before and behind), and as
/// many repeats are found in the names of the measured ones: the kernels of a layer are cut, in order, into as many
/// groups as the layer has operators, so that their durations are as alike as can be. nullopt: no such repeats, or a
/// group that takes more than twice or less than half of what its operator should.
std::optional<Alignment> align_repeats(
    const std::vector<SplitProduct>& expected, const std::vector<SplitProduct>& measured);

}  // namespace stepcast::comparison
