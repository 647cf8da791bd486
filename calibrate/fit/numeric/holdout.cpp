#include "calibrate/fit/numeric/holdout.h"

#include <cstdint>

namespace stepcast::calibrate {

std::size_t fold_of(std::size_t index, std::size_t folds) {
  // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4): scatters consecutive indices evenly.
  const std::uint64_t scattered = (static_cast<std::uint64_t>(index) + 1) * 0x9E3779B97F4A7C15ull;
  return static_cast<std::size_t>((scattered >> 32) % folds);
}

}  // namespace stepcast::calibrate
