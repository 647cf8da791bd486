#include "studies/print/digits.h"

#include <cmath>

#include <fmt/format.h>

namespace stepcast::print {

std::string grouped_digits(double value) {
  if (value != 0 && std::abs(value) < 10 && value != std::round(value)) return fmt::format("{:.3g}", value);
  std::string digits = fmt::format("{:.0f}", std::abs(value));
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return value < 0 ? "-" + digits : digits;
}

}  // namespace stepcast::print
