// Values of flags with their types: absent where a flag was not given.
#pragma once

#include <cstdint>
#include <optional>

#include "model/base/json_reader.h"
#include "model/base/quantity_text.h"
#include "studies/cli/arguments.h"

namespace stepcast::cli {

/// A quantity: "600ms", "20GB/s"; `out` stays where the flag was not given. Errors: those of parse_quantity().
template <typename Q> Expected<void> read_flag(const Arguments& arguments, const char* flag, std::optional<Q>& out) {
  if (!arguments.has(flag)) return {};
  TRY(out, parse_quantity<Q>(arguments.value(flag), flag));
  return {};
}

/// So with a bare number. Errors: no number, one outside of `range`.
Expected<void> read_number(const Arguments& arguments, const char* flag, std::optional<double>& out, NumberRange range);

/// A count, which its count_flag() has checked.
std::optional<std::int64_t> count_of(const Arguments& arguments, const char* flag);
std::int64_t count_of(const Arguments& arguments, const char* flag, std::int64_t absent);

}  // namespace stepcast::cli
