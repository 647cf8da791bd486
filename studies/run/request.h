// What somebody typed or wrote into a scenario file, merged but not yet completed: the first of two steps to a Scenario.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "studies/cli/arguments.h"
#include "studies/run/nouns.h"

namespace stepcast {

struct Request {
  struct Value { std::string text, where; };
  std::map<std::string, Value, std::less<>> values;  ///< by scenario key: "tp" -> {"8", "--tp"}
  std::optional<Chosen<NetworkSpec>> network;
  std::optional<Chosen<Machine>> machine;
  std::optional<Chosen<Stack>> stack;
  std::optional<Chosen<Profile>> profile;
  std::optional<Value> mapping;                      ///< text of the notation
  struct Statement { std::string text, key, where; };
  std::vector<Statement> statements;                 ///< lines of the notation behind those of the flags; one of the key takes their place
  std::vector<std::string> notes;                    ///< how a launch was read

  [[nodiscard]] const Value* find(std::string_view key) const;
  /// Of a checked count; `fallback` when nobody said it.
  [[nodiscard]] std::int64_t count(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] std::string text(std::string_view key, std::string_view fallback) const;
  /// Where the value came from; the flag's name when nobody said it.
  [[nodiscard]] std::string where(std::string_view key) const;
};

/// `word` names a network or a scenario file; flags override the file.
Expected<Request> read_request(const std::string& word, const Arguments& arguments);
/// Of the command's first word, or of a launch that a flag names (launch/framework.h), with the word for what it leaves open. Error:
/// neither.
Expected<Request> read_request(const Arguments& arguments);
/// What the flags say, over what is there; those that are not run flags are left to the command.
Expected<void> take_flags(Request& request, const Arguments& arguments);

}  // namespace stepcast
