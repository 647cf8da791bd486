// Describes a command: its name, what it takes, what its help shows, and the function that runs it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::cli {

struct Command {
  std::string_view name;
  std::string_view usage;    ///< what follows "stepcast NAME"
  std::string_view summary;  ///< one line, for the list of commands
  std::string_view about;    ///< the help's first paragraph
  std::size_t least_words = 0, most_words = 0;
  std::span<const Flag> flags;
  std::vector<std::string_view> examples;  ///< each runs as it stands
  /// An Error is the user's to mend (exit 2); an exception is ours (exit 1).
  Expected<void> (*run)(const Arguments& arguments, Console& console) = nullptr;
};

}  // namespace stepcast::cli
