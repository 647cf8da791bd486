// A flag is one record: its name on the command line, its key in a scenario file, what it takes, its documentation and
// its validation. Help texts, the parser, suggestions and the scenario reader all read the same tables.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"

namespace stepcast {

enum class FlagKind : std::uint8_t {
  toggle,  ///< takes nothing
  count,   ///< a whole number from `least` to `most`
  text,    ///< anything that `check` accepts
};

struct Flag {
  std::string_view name;      ///< "--tp"
  std::string_view key;       ///< in a scenario file: "tp"; "" = not part of a scenario
  std::string_view value;     ///< what the help writes for it: "N"
  std::string_view group;     ///< heading in the help
  std::string_view doc;       ///< one line; says the default
  FlagKind kind = FlagKind::text;
  std::int64_t least = 1, most = 1;
  bool splits = false;        ///< says how the work is split; a mapping file says the same in full
  Expected<void> (*check)(const std::string& text, const std::string& where) = nullptr;
  std::string_view alias = {};  ///< another name: "-o"
  bool words_behind = false;    ///< "--flag -- WORDS": its value "--" stands for the words behind it; behind "--flag VALUE" they go over it
  bool repeats = false;         ///< may be given several times; Arguments::values has each
};

/// What `stepcast predict` takes; sweeps take the same.
std::span<const Flag> run_flags();

/// The record by name or alias ("--tp") or by scenario key ("tp"); null when there is none.
const Flag* find_flag(std::span<const Flag> flags, std::string_view name);
const Flag* find_key(std::span<const Flag> flags, std::string_view key);

/// Kind, range and the record's own check.
Expected<void> check_flag(const Flag& flag, const std::string& text, const std::string& where);

/// A whole number in decimal digits from `least` to `most`.
Expected<std::int64_t> parse_count(const std::string& text, const std::string& where, std::int64_t least,
                                   std::int64_t most);

/// --recompute none | selective | full | full:N.
struct Recompute {
  enum class Kind : std::uint8_t { none, selective, full } kind = Kind::none;
  std::int64_t layers = 0;    ///< full on that many layers; 0 = all
};
Expected<Recompute> parse_recompute(const std::string& text, const std::string& where);

}  // namespace stepcast
