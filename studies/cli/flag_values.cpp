#include "studies/cli/flag_values.h"

#include <charconv>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "model/base/whole_number.h"

namespace stepcast::cli {

namespace {

/// "700W", "30 d", "5%": a number with something behind it.
bool has_unit(const std::string& text) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end != text.data() + text.size();
}

}  // namespace

Expected<void> read_number(
    const Arguments& arguments, const char* flag, std::optional<double>& out, NumberRange range) {
  if (!arguments.has(flag)) return {};
  const std::string text = arguments.value(flag);
  const auto number = parsed_number<double>(text);
  if (!number || !(*number >= range.low && *number <= range.high))
    return fail(flag, fmt::format("'{:.40}' is no such number", arguments.value(flag)),
        fmt::format("from {:g} to {:g}{}", range.low, range.high, has_unit(text) ? ", without a unit" : ""));
  out = *number;
  return {};
}

std::optional<std::int64_t> count_of(const Arguments& arguments, const char* flag) {
  return arguments.has(flag) ? parsed_number<std::int64_t>(arguments.value(flag)) : std::nullopt;
}
std::int64_t count_of(const Arguments& arguments, const char* flag, std::int64_t absent) {
  return count_of(arguments, flag).value_or(absent);
}

}  // namespace stepcast::cli
