// Fits how much products and moves slow each other down, from rows that were timed alone and beside the other.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "calibrate/fit/pairs.h"
#include "model/profile/profile.h"

namespace stepcast::calibrate {

/// Where several kinds of moves were timed, only the one nearest to a collective counts (fit_overlap.cpp says which).
struct FittedSlowdown {
  std::string neighbour;  ///< "all_reduce", "copy", "gemm": the first word of what ran beside
  double slowdown = 0;    ///< median of the ratios, less 1; never below 0
  int pairs = 0;
};
struct FittedOverlap {
  std::optional<FittedSlowdown> products;  ///< beside a move
  std::optional<FittedSlowdown> moves;     ///< beside a product
  int other_pairs = 0;                     ///< neither
};
FittedOverlap fit_overlap(std::span<const RowPair> pairs);

}  // namespace stepcast::calibrate
