// Emphasis on a terminal; plain text elsewhere.
#pragma once

#include <string>
#include <string_view>

#include "studies/cli/console.h"

namespace stepcast::print {

class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  explicit Paint(const Console& console) : on_(console.color) {}

  [[nodiscard]] std::string bold(std::string_view text) const { return wrap("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return wrap("2", text); }
  [[nodiscard]] std::string good(std::string_view text) const { return wrap("32", text); }
  [[nodiscard]] std::string bad(std::string_view text) const { return wrap("1;31", text); }
  [[nodiscard]] std::string warm(std::string_view text) const { return wrap("33", text); }
  [[nodiscard]] std::string cool(std::string_view text) const { return wrap("36", text); }

 private:
  /// ANSI select graphic rendition (ECMA-48): ESC [ code m ... ESC [ 0 m.
  [[nodiscard]] std::string wrap(std::string_view code, std::string_view text) const {
    if (!on_ || text.empty()) return std::string(text);
    return std::string("\x1b[").append(code).append("m").append(text).append("\x1b[0m");
  }
  bool on_;
};

}  // namespace stepcast::print
