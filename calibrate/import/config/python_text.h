// Python's statements and expressions as far as they are literal: what a name, a call and its keywords are, and nothing
// is run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepcast::calibrate {

bool is_python_letter(char c);

/// Does the name stand in the text, whole?
bool mentions_name(std::string_view text, std::string_view name);
/// May the statement give the name another value? It sets it, alone or among others, counts it up, imports it or calls
/// a function of it. True in doubt.
bool may_set_name(std::string_view statement, std::string_view name);

/// A value of an expression: a literal, a list or call, or what would have to be computed.
struct PythonValue {
  enum class Kind : std::uint8_t { literal, call, computed } kind = Kind::computed;
  std::string text;  ///< of a literal or what is computed; a call's name
  std::size_t line = 0;
  std::vector<std::pair<std::string, PythonValue>> keywords;  ///< of a call; "" = by place
  bool quoted = false;                                        ///< of a literal: a string
};
using PythonNames = std::map<std::string, PythonValue, std::less<>>;

struct PythonStatement {
  std::string text;  ///< without comments; one line of it
  std::size_t line = 0, indent = 0;
};

/// Statements with their indentation: brackets and strings of three quotes go over lines, and a line with semicolons
/// holds several.
std::vector<PythonStatement> python_statements(std::string_view text);

/// The value of an expression where `names` are known.
PythonValue python_value(std::string_view text, std::size_t line, const PythonNames& names);

}  // namespace stepcast::calibrate
