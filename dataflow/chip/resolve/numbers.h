// Products and divisors of factors, and how errors show them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepcast::dataflow {

/// "2x3x16", "4,096", "1, 2, 4, 8".
std::string product_text(const std::vector<std::int64_t>& factors);
std::string grouped(std::int64_t number);
std::string divisors_near(std::int64_t number, std::int64_t wanted);

/// Product that stops at 2^62 instead of overflowing.
std::int64_t safe_product(std::int64_t a, std::int64_t b);

}  // namespace stepcast::dataflow
