// Writes numbers, and tells the width of a page of text.
#pragma once

#include <string>

namespace stepcast::print {

/// The width of a page of text where the terminal does not say another.
inline constexpr int page_columns = 100;

/// 1234567 -> "1,234,567"; a small fraction keeps three digits, 0.0123 -> "0.0123".
std::string grouped_digits(double value);

}  // namespace stepcast::print
