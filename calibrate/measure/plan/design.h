// Chooses the shapes that tell most: shapes far apart in log(m, n, k), the user's own first.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/machine/machine.h"
#include "model/profile/query.h"

namespace stepcast::calibrate {

using Shape = std::array<double, 3>;  ///< m, n, k

/// `count` of the candidates, each as far as can be (in log of each size) from those before it and from `taken`; starts
/// at the candidate nearest the middle where nothing is taken. Any prefix of the result is a design itself.
std::vector<Shape> farthest_points(std::span<const Shape> candidates, std::span<const Shape> taken, std::size_t count);

/// Powers of two and their halves between the bounds: m 256..16384, n and k 512..16384 for training.
std::vector<Shape> training_candidates();
/// m of 1 to 256: what decoding and small experts run.
std::vector<Shape> skinny_candidates();
/// One past a tile's edge, and vocabularies that no tile divides (50257, 151936, ...).
std::vector<Shape> edge_shapes();

}  // namespace stepcast::calibrate
