// Scales and round steps of everything that is drawn, on pages and on terminals.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace stepcast::print {

/// A logarithmic scale between two powers of ten.
struct LogScale {
  double low = INFINITY, high = -INFINITY;  ///< exponents of the ends

  /// Makes room for a value above zero.
  void take(double value);
  [[nodiscard]] bool empty() const { return !(high > low); }
  /// 0 at the lower end, 1 at the upper one.
  [[nodiscard]] double share(double value) const { return (std::log10(value) - low) / (high - low); }
  [[nodiscard]] double at(double share) const { return std::pow(10, low + share * (high - low)); }
  /// Round values on it, at most so many: 1 2 5 10 ... or powers of ten, or every second or fourth of them.
  [[nodiscard]] std::vector<double> ticks(std::size_t most) const;
};

/// The least of 1, 2 or 5 times a power of ten that cuts `length` into at most so many steps.
double nice_step(double length, int most);

}  // namespace stepcast::print
