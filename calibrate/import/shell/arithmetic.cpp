// $((...)) of shell scripts, which multiply GPUs per node by nodes.
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "calibrate/import/shell/words.h"

namespace stepcast::calibrate {
namespace {

class Arithmetic {
 public:
  explicit Arithmetic(std::string_view text) : text_(text) {}
  std::optional<std::int64_t> value() {
    const std::int64_t result = choice();
    return good_ && (skip(), at_ == text_.size()) ? std::optional(result) : std::nullopt;
  }

 private:
  // Factors of a launch are small; past this a product says nothing.
  static constexpr std::int64_t most = 1'000'000'000;
  static constexpr int most_depth = 32;

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    return ++at_, true;
  }
  std::int64_t checked(std::int64_t value) {
    if (value > most || value < -most) good_ = false;
    return good_ ? value : 0;
  }
  bool take(std::string_view sign) {
    skip();
    if (!text_.substr(at_).starts_with(sign)) return false;
    return at_ += sign.size(), true;
  }
  /// A > B ? A : B; a shell works out one side alone, and here both must be numbers.
  std::int64_t choice() {
    const std::int64_t condition = comparison();
    if (!take('?')) return condition;
    if (++depth_ > most_depth) return good_ = false, 0;
    const std::int64_t first = choice();
    if (!take(':')) good_ = false;
    const std::int64_t second = choice();
    --depth_;
    return condition != 0 ? first : second;
  }
  std::int64_t comparison() {
    const std::int64_t left = sum();
    for (const std::string_view sign : {"<=", ">=", "==", "!=", "<", ">"}) {
      if (!take(sign)) continue;
      const std::int64_t right = sum();
      switch (sign[0]) {
        case '<': return sign.size() > 1 ? left <= right : left < right;
        case '>': return sign.size() > 1 ? left >= right : left > right;
        default: return (left == right) == (sign[0] == '=');
      }
    }
    return left;
  }
  std::int64_t sum() {
    std::int64_t result = product();
    while (good_) {
      if (take('+')) result = checked(result + product());
      else if (take('-')) result = checked(result - product());
      else break;
    }
    return result;
  }
  std::int64_t power() {
    const std::int64_t base = factor();
    skip();
    if (!text_.substr(at_).starts_with("**")) return base;
    at_ += 2;
    std::int64_t result = 1;
    for (std::int64_t times = factor(); good_ && times > 0; --times) {
      result = checked(result * base);
      if (base >= -1 && base <= 1) break;  // -1 to an even power is nobody's count
    }
    return result;
  }
  std::int64_t product() {
    std::int64_t result = power();
    while (good_) {
      const char sign = take('*') ? '*' : take('/') ? '/' : take('%') ? '%' : ' ';
      if (sign == ' ') break;
      const std::int64_t by = power();
      if (sign == '*') result = checked(result * by);
      else if (by == 0) good_ = false;
      else result = sign == '/' ? result / by : result % by;
    }
    return result;
  }
  std::int64_t factor() {
    skip();
    if (take('(')) {
      if (++depth_ > most_depth) return good_ = false, 0;
      const std::int64_t inner = choice();
      if (!take(')')) good_ = false;
      --depth_;
      return inner;
    }
    std::int64_t number = 0;
    const auto end = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (end.ec != std::errc()) return good_ = false, 0;
    at_ = static_cast<std::size_t>(end.ptr - text_.data());
    return checked(number);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool good_ = true;
};

}  // namespace

std::string shell_arithmetic(std::string_view expression) {
  const auto value = Arithmetic(expression).value();
  return value ? fmt::format("{}", *value) : "";
}

}  // namespace stepcast::calibrate
