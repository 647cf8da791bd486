#include <algorithm>
#include <numeric>

#include "sim/cost.h"

namespace stepcast::sim {

namespace {

// Members of one digit that share an instance of `gpus`. An instance boundary falls at every multiple of `gpus`, a
// block of the digit at every multiple of stride*size: they meet only at common multiples, so the smallest piece that
// an instance cuts out of some group is their greatest common divisor.
std::int64_t digit_inside(const Group::Digit& digit, std::int64_t gpus) {
  if (digit.stride >= gpus) return 1;
  const std::int64_t piece = std::gcd(digit.stride * digit.size, gpus);
  return std::clamp<std::int64_t>(piece / digit.stride, 1, digit.size);
}

}  // namespace

std::int64_t members_inside(const Group& group, std::int64_t gpus, std::int64_t ranks) {
  if (ranks > 0 && ranks <= gpus) return group.size;
  std::int64_t inside = 1;
  for (const Group::Digit& digit : group.digits) inside *= digit_inside(digit, gpus);
  return inside;
}

Span span_of(const Group& group, const Machine& machine, std::int64_t ranks) {
  Span span;
  span.inside = members_inside(group, machine.levels.front().gpus, ranks);
  span.nodes = (group.size + span.inside - 1) / span.inside;
  const int outermost = static_cast<int>(machine.levels.size()) - 1;
  while (span.level < outermost && members_inside(group, machine.levels[span.level].gpus, ranks) < group.size) {
    ++span.level;
  }
  return span;
}

}  // namespace stepcast::sim
