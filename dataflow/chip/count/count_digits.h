// The loops of one dim as the digits of its index, most significant first. Where their product exceeds the extent, the
// tuples of digits that exist are those whose index is below it.
#pragma once

#include <array>
#include <cstdint>

#include "dataflow/chip/count/nest.h"

namespace stepcast::dataflow::counting {

/// Bit k: digit k, outermost 0.
using DigitSet = std::uint64_t;

struct Digits {
  std::int64_t extent = 1;
  bool whole = true;  ///< every tuple exists
  int size = 0;
  DigitSet space = 0;
  std::array<std::int64_t, most_chip_loops> trips, weight;
  std::array<std::int64_t, most_chip_loops> largest;     ///< digits of extent - 1
  std::array<std::int8_t, most_chip_loops> level, loop;  ///< loop: its place in the nest

  void add_inner(const Nest::Loop& added, int place);
  /// After the last add_inner: weights, largest digits.
  void close();

  [[nodiscard]] DigitSet all() const { return size == 64 ? ~DigitSet{0} : (DigitSet{1} << size) - 1; }
  /// In time, of levels outside `level`, before place `before` of the nest.
  [[nodiscard]] DigitSet time_outside(int level, int before = most_chip_loops) const;
  /// In space, of levels up to and including `level`.
  [[nodiscard]] DigitSet space_up_to(int level) const;

  /// How many tuples of the digits in `varying`, all others 0, have an index below the extent.
  [[nodiscard]] std::int64_t tuples(DigitSet varying) const;
  /// The same below extent - less.
  [[nodiscard]] std::int64_t tuples_below(DigitSet varying, std::int64_t less) const;
  /// The largest index of tuples of `varying` on top of `index`, itself below the extent.
  [[nodiscard]] std::int64_t last_from(std::int64_t index, DigitSet varying) const;
  /// Product of the trips.
  [[nodiscard]] std::int64_t range(DigitSet varying) const;
};

}  // namespace stepcast::dataflow::counting
