#include "dataflow/chip/count/count_sets.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>

namespace stepcast::dataflow::counting {

std::int64_t Marks::count() const { return std::count(marked_.begin(), marked_.end(), 1); }

void Marks::widen(const Sums& sums) {
  for (int i = 0; i < sums.runs; ++i) {
    const std::vector<char> before = marked_;
    for (std::int64_t value = 0; value < size(); ++value)
      for (std::int64_t n = 1; before[value] != 0 && n < sums.run[i].trips; ++n) mark(value + n * sums.run[i].step);
  }
}

namespace {

std::int64_t walked(std::int64_t length, const Sums& sums) {
  Marks marks(length + sums.box());
  for (std::int64_t value = 0; value < length; ++value) marks.mark(value);
  marks.widen(sums);
  return marks.count();
}

}  // namespace

std::int64_t widened(std::int64_t length, const Sums& sums) {
  if (length <= 0) return 0;
  std::int64_t elements = length, span = length;
  for (int i = 0; i < sums.runs; ++i) {
    const auto [step, trips] = sums.run[i];
    const std::int64_t reach = step * (trips - 1);
    if (step >= span) elements *= trips;           // side by side
    else if (elements == span) elements += reach;  // one interval, longer
    else return walked(length, sums);
    span += reach;
  }
  return elements;
}

bool gapless(const Sums& sums) {
  std::int64_t length = 1;
  for (int i = 0; i < sums.runs; ++i) {
    if (sums.run[i].step > length) return walked(1, sums) == sums.box();
    length += sums.run[i].step * (sums.run[i].trips - 1);
  }
  return true;
}

std::int64_t newly_needed(const Sums& tile, bool gapless_tile, std::int64_t shift, const Sums& units) {
  const std::int64_t length = tile.box(), far = std::abs(shift);
  if (gapless_tile) return widened(std::min(length, far), units);
  Marks held(length);
  held.mark(0);
  held.widen(tile);
  Marks fresh(length + units.box());
  for (std::int64_t value = 0; value < length; ++value)
    if (held.has(value) && !held.has(value + shift)) fresh.mark(value);
  fresh.widen(units);
  return fresh.count();
}

}  // namespace stepcast::dataflow::counting
