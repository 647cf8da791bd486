#include "dataflow/chip/count/count_digits.h"

#include <algorithm>

namespace stepcast::dataflow::counting {
namespace {

bool within(DigitSet set, int digit) { return (set >> digit & 1U) != 0; }

/// Tuples of `varying` that do not come after the number with digits `top`.
std::int64_t not_after(const Digits& digits, DigitSet varying, const std::array<std::int64_t, most_chip_loops>& top) {
  std::int64_t free = 1, bounded = 1;  // of the digits seen so far: without a bound, and up to the bound
  for (int i = digits.size - 1; i >= 0; --i) {
    const std::int64_t digit = std::min(top[i], digits.trips[i]);
    if (within(varying, i)) {
      bounded = digit == digits.trips[i] ? free * digit : digit * free + bounded;
      free *= digits.trips[i];
    } else if (digit > 0) {
      bounded = free;
    }
  }
  return bounded;
}

}  // namespace

void Digits::add_inner(const Nest::Loop& added, int place) {
  trips[size] = added.trips;
  level[size] = added.level;
  loop[size] = static_cast<std::int8_t>(place);
  if (added.space) space |= DigitSet{1} << size;
  ++size;
}

void Digits::close() {
  std::int64_t inside = 1;
  for (int i = size - 1; i >= 0; --i) weight[i] = inside, inside *= trips[i];
  whole = inside == extent;
  std::int64_t rest = extent - 1;
  for (int i = 0; i < size; ++i) largest[i] = rest / weight[i], rest %= weight[i];
}

DigitSet Digits::time_outside(int outside, int before) const {
  DigitSet set = 0;
  for (int i = 0; i < size && level[i] < outside && loop[i] < before; ++i) set |= DigitSet{1} << i;
  return set & ~space;
}

DigitSet Digits::space_up_to(int last) const {
  DigitSet set = 0;
  for (int i = 0; i < size && level[i] <= last; ++i) set |= DigitSet{1} << i;
  return set & space;
}

std::int64_t Digits::range(DigitSet varying) const {
  std::int64_t product = 1;
  for (int i = 0; i < size; ++i)
    if (within(varying, i)) product *= trips[i];
  return product;
}

std::int64_t Digits::tuples(DigitSet varying) const {
  return whole ? range(varying) : not_after(*this, varying, largest);
}

std::int64_t Digits::tuples_below(DigitSet varying, std::int64_t less) const {
  std::int64_t rest = extent - 1 - less;
  if (rest < 0) return 0;
  std::array<std::int64_t, most_chip_loops> top;
  for (int i = 0; i < size; ++i) top[i] = rest / weight[i], rest %= weight[i];
  return not_after(*this, varying, top);
}

std::int64_t Digits::last_from(std::int64_t index, DigitSet varying) const {
  for (int i = 0; i < size; ++i)
    if (within(varying, i)) index += std::min(trips[i] - 1, (extent - 1 - index) / weight[i]) * weight[i];
  return index;
}

}  // namespace stepcast::dataflow::counting
