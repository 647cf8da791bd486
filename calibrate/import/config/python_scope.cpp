#include "calibrate/import/config/python_scope.h"

#include <algorithm>
#include <vector>

#include "model/base/text.h"

namespace stepcast::calibrate {

void forget_list(PythonScope& scope, const std::string& name) {
  scope.lists.erase(name);
  for (auto& [other, shared] : scope.lists) shared.erase(name);
}

void forget_name(PythonScope& scope, std::string_view name) {
  if (const auto old = scope.held_by.find(name); old != scope.held_by.end()) scope.held_by.erase(old);
  for (auto& [part, holders] : scope.held_by) holders.erase(std::string(name));
  forget_list(scope, std::string(name));
}

void change_config(PythonScope& scope, const std::string& name, const PythonStatement& by) {
  for (const auto& [part, holders] : scope.held_by)
    if (holders.contains(name))
      scope.names[part] = {PythonValue::Kind::computed, part + " after " + by.text, by.line, {}};
}

std::set<std::string> mentioned_configs(const PythonScope& scope, std::string_view text) {
  std::set<std::string> found;
  for (const auto& [name, value] : scope.names)
    if (value.kind == PythonValue::Kind::call && mentions_name(text, name)) found.insert(name);
  for (std::vector<std::string> open(found.begin(), found.end()); !open.empty();) {
    const auto holders = scope.held_by.find(open.back());
    open.pop_back();
    if (holders == scope.held_by.end()) continue;
    for (const std::string& holder : holders->second)
      if (found.insert(holder).second) open.push_back(holder);
  }
  return found;
}

bool is_python_path(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return is_python_letter(c) || c == '.'; });
}

std::string_view called_function(std::string_view text) {
  const std::string_view function = text.substr(0, std::min(text.find('('), text.size()));
  return text.ends_with(')') && is_python_path(function) ? function : std::string_view();
}

bool is_python_class(std::string_view function) {
  const std::string_view last = function.substr(function.rfind('.') + 1);  // npos + 1 is 0
  return !last.empty() && last.front() >= 'A' && last.front() <= 'Z';
}

bool hands_whole(std::string_view text, std::string_view name) {
  constexpr std::string_view fronts = "(,=*", ends = "),";
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const std::string_view front = stripped(text.substr(0, at)), behind = stripped(text.substr(at + name.size()));
    if (!front.empty() && fronts.find(front.back()) != fronts.npos && !behind.empty() &&
        ends.find(behind.front()) != ends.npos)
      return true;
  }
  return false;
}

std::size_t count_parts(const PythonValue& value) {
  std::size_t parts = 1;
  for (const auto& [key, inside] : value.keywords) parts += count_parts(inside);
  return parts;
}

}  // namespace stepcast::calibrate
