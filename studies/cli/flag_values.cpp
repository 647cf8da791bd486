#include "studies/cli/flag_values.h"

#include <fmt/format.h>

#include "model/base/whole_number.h"

namespace stepcast::cli {

Expected<void> read_number(
    const Arguments& arguments, const char* flag, std::optional<double>& out, NumberRange range) {
  if (!arguments.has(flag)) return {};
  const auto number = parsed_number<double>(arguments.value(flag));
  if (!number || !(*number >= range.low && *number <= range.high))
    return fail(flag, fmt::format("'{:.40}' is no such number", arguments.value(flag)),
        fmt::format("from {:g} to {:g}", range.low, range.high));
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
