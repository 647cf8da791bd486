// Units inside a constraint: what may be compared with what.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "model/base/error.h"
#include "studies/sweep/space/figures.h"

namespace stepcast::sweep {

struct WhereUnit {
  enum class Pure : std::uint8_t { ratio, count, share };
  std::array<int, 4> powers{};  ///< of seconds, bytes, dollars, joules
  Pure pure = Pure::ratio;      ///< of what has no unit: 8 ways and 45 % are not compared
  bool bare = false;            ///< numbers without unit fit everything

  static WhereUnit of(FigureUnit unit);
  [[nodiscard]] bool fits(const WhereUnit& other) const;
  /// "in bytes", "a share", "in joules / seconds"
  [[nodiscard]] std::string text() const;
};
WhereUnit sum_unit(const WhereUnit& a, const WhereUnit& b);
WhereUnit product_unit(const WhereUnit& a, const WhereUnit& b);
WhereUnit quotient_unit(const WhereUnit& a, const WhereUnit& b);

struct WhereNumber {
  double value = 0;
  WhereUnit unit;
};
/// `digits` "70" with `unit` "GiB", in base units; no unit makes it bare. Errors: an unknown unit, a value beyond any
/// real one.
Expected<WhereNumber> where_number(std::string_view digits, std::string_view unit, const std::string& where);

}  // namespace stepcast::sweep
