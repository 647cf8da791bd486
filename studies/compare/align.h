// Which measured product is of which operator: libraries do not say it, and fuse several into one.
#pragma once

#include <vector>

#include "studies/compare/aligned_products.h"
#include "studies/compare/traced/time_split.h"

namespace stepcast::comparison {

/// By what they multiply, where both sides know it: in order, taking so many of one side together that they multiply as
/// much as so many of the other (a fused product for three, in whatever order a step has gradients of equal size). Else
/// by their order alone, where both have as many and long ones stand where long ones are expected, or where layers
/// repeat.
Alignment align_products(const std::vector<SplitProduct>& expected, const std::vector<SplitProduct>& measured);

}  // namespace stepcast::comparison
