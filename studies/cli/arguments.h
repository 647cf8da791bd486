// A command line taken apart: words and flags, checked against the command's records but not yet given a meaning.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/flags.h"

namespace stepcast::cli {

struct Arguments {
  std::vector<std::string> words;  ///< what is not a flag, in order
  std::vector<std::string> rest;   ///< what stands behind --, as it was typed
  /// "--tp" -> "8", "--prompt" -> "8192" for "8k"; toggles -> ""; of those that repeat, joined by commas
  std::map<std::string, std::string, std::less<>> flags;
  /// of those that repeat: each value as it was typed
  std::map<std::string, std::vector<std::string>, std::less<>> repeated;

  [[nodiscard]] bool has(std::string_view name) const { return flags.find(name) != flags.end(); }
  /// What was given with the flag, "" when it was not.
  [[nodiscard]] std::string value(std::string_view name) const {
    const auto found = flags.find(name);
    return found == flags.end() ? std::string() : found->second;
  }
  /// All values of a flag that repeats; none when it was not given.
  [[nodiscard]] std::vector<std::string> values(std::string_view name) const;
};

/// Unknown flags suggest the nearest one; a flag given twice, a missing or extra word, and a value that its record
/// refuses are errors. `usage` goes into the hint about words.
Expected<Arguments> parse_arguments(std::span<const Flag> flags, std::size_t least_words, std::size_t most_words,
    const std::string& usage, const std::vector<std::string>& typed);

}  // namespace stepcast::cli
