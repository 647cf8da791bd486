#include "calibrate/import/config/python_changes.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// The call is a keyword, by its function's name, of every configuration that is handed to it or that it belongs to.
void name_call(
    const PythonStatement& statement, std::string_view call, PythonScope& scope, const std::set<std::string>& changed) {
  const std::string function(called_function(call));
  for (const std::string& name : changed)
    scope.names[name].keywords.emplace_back(
        function, PythonValue{PythonValue::Kind::computed, std::string(call), statement.line, {}});
}

}  // namespace

bool does_more(std::string_view target, std::string_view value) {
  constexpr std::string_view blocks[] = {"if", "elif", "else", "try", "except", "finally", "for", "while", "with"};
  if (std::ranges::find(blocks, target) != std::end(blocks)) return true;
  int depth = 0;
  for (std::size_t at = 0; at < value.size(); ++at) {
    const char c = value[at];
    if (c == '"' || c == '\'') {
      at = std::min(value.find(c, at + 1), value.size() - 1);
      continue;
    }
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (c != '=' || depth != 0) continue;
    const bool compares = at > 0 && std::string_view("=<>!").find(value[at - 1]) != std::string_view::npos;
    if (!compares && (at + 1 == value.size() || value[at + 1] != '=')) return true;
  }
  return false;
}

std::string_view assigned_target(std::string_view text) {
  const std::string_view target = text.substr(0, std::min(text.find('='), text.size()));
  return stripped(target.substr(0, target.find(':')));
}

bool take_call(const PythonStatement& statement, PythonScope& scope) {
  if (called_function(statement.text).empty()) return false;
  name_call(statement, statement.text, scope, mentioned_configs(scope, statement.text));
  return true;
}

void take_inner_call(const PythonStatement& statement, std::string_view value, PythonScope& scope) {
  if (called_function(value).empty() || is_python_class(called_function(value))) return;
  for (const std::string& name : mentioned_configs(scope, value))
    if (hands_whole(value, name)) name_call(statement, value, scope, mentioned_configs(scope, name));
}

Expected<void> set_part(std::string_view target, PythonValue value, const std::string& place, PythonNames& names) {
  constexpr std::ptrdiff_t deepest = 32;
  if (std::ranges::count(target, '.') > deepest)
    return fail(place, fmt::format("'{:.60}' is a part in more than {} parts", target, deepest),
        "a value of the configuration");
  const std::size_t dot = target.find('.');
  PythonValue* into = &names[std::string(target.substr(0, dot))];
  for (std::string_view rest = dot == target.npos ? "" : target.substr(dot + 1); !rest.empty();) {
    const std::string key(rest.substr(0, rest.find('.')));
    rest = rest.find('.') == rest.npos ? "" : rest.substr(rest.find('.') + 1);
    auto found = std::find_if(
        into->keywords.begin(), into->keywords.end(), [&](const auto& keyword) { return keyword.first == key; });
    if (into->kind != PythonValue::Kind::call) into->kind = PythonValue::Kind::call, into->text.clear();
    if (found == into->keywords.end()) found = into->keywords.insert(into->keywords.end(), {key, PythonValue{}});
    into = &found->second;
  }
  *into = std::move(value);
  return {};
}

}  // namespace stepcast::calibrate
