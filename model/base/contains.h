// Whether a value is among others.
#pragma once

#include <algorithm>
#include <iterator>

namespace stepcast {

template <class Range, class Value> constexpr bool contains(const Range& range, const Value& value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

}  // namespace stepcast
