#include "dataflow/chip/resolve/numbers.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepcast::dataflow {

std::int64_t safe_product(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t largest_product = std::int64_t{1} << 62;
  return b != 0 && a > largest_product / b ? largest_product : a * b;
}

std::string product_text(const std::vector<std::int64_t>& factors) {
  return fmt::format("{}", fmt::join(factors, "x"));
}

std::string grouped(std::int64_t number) {
  std::string text = fmt::format("{}", number);
  for (auto at = static_cast<std::int64_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string divisors_near(std::int64_t number, std::int64_t wanted) {
  constexpr std::size_t shown_divisors = 12;
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= number / d; ++d) {
    if (number % d != 0) continue;
    all.push_back(d);
    if (d != number / d) all.push_back(number / d);
  }
  std::ranges::sort(all);
  if (all.size() > shown_divisors) {  // the ones around the wanted number
    const auto middle = std::lower_bound(all.begin(), all.end(), wanted) - all.begin();
    const auto first = std::clamp<std::ptrdiff_t>(middle - static_cast<std::ptrdiff_t>(shown_divisors / 2), 0,
        static_cast<std::ptrdiff_t>(all.size() - shown_divisors));
    all = {all.begin() + first, all.begin() + first + static_cast<std::ptrdiff_t>(shown_divisors)};
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace stepcast::dataflow
