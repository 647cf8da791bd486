#include "studies/sweep/space/space.h"

namespace stepcast::sweep {

void unsay_axes(Request& request) {
  for (const AxisRow& row : axis_rows())
    if (!row.flag.empty()) request.unsay(row.id);
}

std::uint64_t Space::size() const {
  std::uint64_t size = 1;
  for (const std::vector<std::string>& axis : values) size *= axis.size();
  return size;
}

std::uint64_t Space::stride(AxisId axis) const {
  std::uint64_t stride = 1;
  for (std::size_t inner = static_cast<std::size_t>(axis) + 1; inner < axis_count; ++inner)
    stride *= values[inner].size();
  return stride;
}

Digits Space::digits(std::uint64_t index) const {
  Digits digits{};
  for (std::size_t axis = axis_count; axis-- > 0;) {
    const std::uint64_t radix = values[axis].size();
    digits[axis] = static_cast<std::uint16_t>(index % radix);
    index /= radix;
  }
  return digits;
}

std::uint64_t Space::index(const Digits& digits) const {
  std::uint64_t index = 0;
  for (std::size_t axis = 0; axis < axis_count; ++axis) index = index * values[axis].size() + digits[axis];
  return index;
}

}  // namespace stepcast::sweep
