// The kinds of rows that `list` and `show` know, in singular or plural.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"

namespace stepcast::catalog {

Expected<void> list_command(const Arguments& arguments, Console& console);
Expected<void> show_command(const Arguments& arguments, Console& console);

enum class RowKind : std::uint8_t { network, machine, gpu, profile, stack, engine, failures, schedule };

/// "network" and "networks" both; a wrong word suggests the nearest.
inline Expected<RowKind> parse_row_kind(const std::string& word) {
  static const std::vector<std::string> plurals = {
      "networks", "machines", "gpus", "profiles", "stacks", "engines", "failures", "schedules"};
  for (std::size_t i = 0; i < plurals.size(); ++i)
    if (word == plurals[i] || word + "s" == plurals[i]) return static_cast<RowKind>(i);
  return fail(word.substr(0, 60), "unknown kind", name_hint(word, plurals));
}

}  // namespace stepcast::catalog
