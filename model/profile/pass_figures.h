// What a pass of fused attention multiplies and moves, over its forward pass.
#pragma once

#include <cstddef>

#include "model/profile/query.h"

namespace stepcast {

/// Backward does five products for the forward's two (arXiv 2205.14135, section 3), and moves the gradients of what the
/// forward moves besides.
struct PassFigures {
  const char* name;
  double products, tensors;
};
inline const PassFigures& pass_figures(AttentionPass pass) {
  static constexpr PassFigures rows[] = {
      {"forward", 1, 1}, {"backward", 2.5, 2}, {"forward and backward", 3.5, 3}, {"decode", 1, 1}};
  return rows[static_cast<std::size_t>(pass)];
}

}  // namespace stepcast
