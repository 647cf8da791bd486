// A resolved operator as a matrix product O[m,n] += I[m,k] * W[k,n], whatever its loops and tensors are called.
#pragma once

#include <array>
#include <optional>

#include "dataflow/chip/chip.h"

namespace stepcast::dataflow {

struct Product {
  std::array<int, 3> loop{};    ///< m, n, k: indices into the chip's dims
  std::array<int, 3> tensor{};  ///< I, W, O: indices into its tensors
};

/// nullopt: more or fewer loops, a batch, an index that is a sum. Loops of an index may stand in any order.
std::optional<Product> product_of(const ChipProgram& chip);

}  // namespace stepcast::dataflow
