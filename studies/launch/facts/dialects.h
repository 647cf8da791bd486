// Dialects of configuration files: the names that tell whose a file is, and what would be needed to read those that
// are not read. Names are those of each program's own examples and configuration classes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "studies/launch/facts/launch.h"

namespace stepcast::launch {

struct Dialect {
  std::string_view name;       ///< "OLMo"
  std::string_view framework;  ///< id of its row (framework.h); "" = it is not read
  /// names that tell it: all between two "|" together; one that ends in a dot begins a longer name
  std::string_view marks;
  std::string_view needed = {};    ///< of those that are not read: what would be
  bool commands = false;           ///< they tell it on command lines, too
  std::string_view programs = {};  ///< of those that are not read: programs and commands that are its own
};
/// The first whose marks are there counts.
std::span<const Dialect> dialects();

/// Files that are programs or have no names of their own, by pieces of their text.
std::span<const Dialect> text_dialects();

/// The dialect whose marks its arguments have; null where they have none.
const Dialect* dialect_of(const Launch& launch);
/// Errors: a file, or a command line with its program, of a dialect that is known and not read, with what would be
/// needed. `program`: null of a file.
Expected<void> check_dialect(const Launch& launch, const std::string* program);
/// The same of a text that is no configuration.
Expected<void> check_text_dialect(std::string_view text, const std::string& where);
/// The flag that takes launches of a framework: "--gpt-neox".
std::string_view flag_of_framework(const Framework& framework);

}  // namespace stepcast::launch
