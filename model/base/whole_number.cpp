#include "model/base/whole_number.h"

#include <charconv>

#include <fmt/format.h>

namespace stepcast {

Expected<std::int64_t> parse_count(
    const std::string& text, const std::string& where, std::int64_t least, std::int64_t most) {
  const std::string allowed = fmt::format("a whole number from {} to {}", least, most);
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  const std::string shown = text.substr(0, 60);
  if (problem == std::errc::result_out_of_range && stop == end)
    return fail(where, fmt::format("'{}' is absurdly large", shown), allowed);
  if (problem != std::errc{} || stop != end)
    return fail(where, fmt::format("'{}' is not a whole number", shown), allowed);
  if (value < least || value > most) return fail(where, fmt::format("{} is out of range", shown), allowed);
  return value;
}

}  // namespace stepcast
