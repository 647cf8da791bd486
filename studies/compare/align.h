// Which measured product is of which operator: libraries do not say it, and fuse several into one.
#pragma once

#include <string>
#include <vector>

#include "studies/compare/time_split.h"

namespace stepcast::comparison {

/// Products of one side that are those of the other.
struct AlignedProducts {
  std::string name;                   ///< of the expected operators: "attn.qkv", "attn.qkv, attn.out"
  double expected = 0, measured = 0;  ///< seconds
  std::size_t expected_calls = 0, measured_calls = 0;
};

struct Alignment {
  std::vector<AlignedProducts> products;  ///< empty: they are not told apart
  std::string how;                        ///< or why not
};

/// By what they multiply, where both sides know it: in order, taking so many of one side together that they multiply as
/// much as so many of the other (a fused product for three, in whatever order a step has gradients of equal size). Else
/// by their order alone, where both have as many and long ones stand where long ones are expected.
Alignment align_products(const std::vector<SplitProduct>& expected, const std::vector<SplitProduct>& measured);

}  // namespace stepcast::comparison
