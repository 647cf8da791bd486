// A flag is one record: its name on the command line, what it takes, its documentation and its validation. Help texts,
// the parser and suggestions all read the same tables. Those that say what a run is are made of the fields of a run
// (launch/run_flags.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "model/base/whole_number.h"

namespace stepcast::cli {

enum class FlagKind : std::uint8_t {
  toggle,  ///< takes nothing
  count,   ///< a whole number from `least` to `most`
  text,    ///< anything that `check` accepts
};

struct Flag {
  std::string_view name;   ///< "--tp"
  std::string_view key;    ///< of a field of the run: "tp"; "" = it says nothing of the run
  std::string_view value;  ///< what the help writes for it: "N"
  std::string_view group;  ///< heading in the help
  std::string_view doc;    ///< one line; says the default
  FlagKind kind = FlagKind::text;
  std::int64_t least = 1, most = 1;
  Expected<void> (*check)(const std::string& text, const std::string& where) = nullptr;
  std::string_view alias = {};  ///< another name: "-o"
  /// "--flag -- WORDS": its value "--" stands for the words behind it; behind "--flag VALUE" they go over it
  bool words_behind = false;
  bool output = false;   ///< what predict writes: other commands that forecast runs write their own
  bool repeats = false;  ///< may be given several times; Arguments::values has each
  bool sizes = false;    ///< of a count: "8k" is 8 x 1,024, and Arguments has the number
};

/// The record by name or alias: "--tp", "-o"; null when there is none.
const Flag* find_flag(std::span<const Flag> flags, std::string_view name);

/// Kind, range and the record's own check.
Expected<void> check_flag(const Flag& flag, const std::string& text, const std::string& where);

}  // namespace stepcast::cli
