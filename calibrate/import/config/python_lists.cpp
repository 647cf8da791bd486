#include "calibrate/import/config/python_lists.h"

#include <algorithm>

#include "model/base/contains.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

bool is_list(const PythonValue& value) {
  return value.kind == PythonValue::Kind::literal && !value.quoted &&
         (value.text.starts_with('[') || value.text.starts_with('{'));
}

bool holds_list(const PythonValue& value) {
  return is_list(value) ||
         std::ranges::any_of(value.keywords, [](const auto& keyword) { return holds_list(keyword.second); });
}

std::string_view root_of(std::string_view path) { return path.substr(0, path.find('.')); }

/// What stands at "cfg.model.modules"; nullptr: nothing is known there.
const PythonValue* value_at(const PythonNames& names, std::string_view path) {
  const auto root = names.find(root_of(path));
  const PythonValue* at = root == names.end() ? nullptr : &root->second;
  while (at != nullptr && path.find('.') != path.npos) {
    path.remove_prefix(path.find('.') + 1);
    const auto part = std::ranges::find(at->keywords, root_of(path), [](const auto& keyword) { return keyword.first; });
    at = part == at->keywords.end() ? nullptr : &part->second;
  }
  return at;
}

/// Paths that the text calls or mentions, whole: "mods.append" of "x = mods.append(4)".
std::vector<std::string_view> paths_in(std::string_view text) {
  std::vector<std::string_view> paths;
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (quote != 0 || text[at] == '"' || text[at] == '\'') {
      quote = quote == 0 ? text[at] : text[at] == quote ? char{0} : quote;
      continue;
    }
    if (!is_python_letter(text[at])) continue;
    const std::size_t begin = at;
    while (at < text.size() && (is_python_letter(text[at]) || text[at] == '.')) ++at;
    paths.push_back(text.substr(begin, at - begin));
    --at;
  }
  return paths;
}

bool only_reads(std::string_view method) {
  constexpr std::string_view methods[] = {"copy", "count", "index", "get", "items", "keys", "values"};
  return contains(methods, method);
}

/// Functions of Python itself that leave what they are handed.
bool leaves_lists(std::string_view function) {
  constexpr std::string_view functions[] = {"print", "len", "sorted", "list", "tuple", "dict", "set", "str", "repr",
      "max", "min", "sum", "any", "all", "isinstance", "enumerate", "zip", "range"};
  return contains(functions, function);
}

}  // namespace

void share_lists(PythonScope& scope, std::string_view target, std::string_view text) {
  const std::string own(root_of(target));
  for (const std::string_view path : paths_in(text)) {
    const PythonValue* value = value_at(scope.names, path);
    const std::string other(root_of(path));
    if (value == nullptr || other == own || !holds_list(*value)) continue;
    scope.lists[own].insert(other), scope.lists[other].insert(own);
  }
}

std::vector<std::string> changed_lists(const PythonScope& scope, std::string_view text) {
  std::vector<std::string> changed;
  const std::string_view function = called_function(text);
  const bool hands = !function.empty() && !is_python_class(function) && !leaves_lists(function);
  for (const std::string_view path : paths_in(text)) {
    const std::string_view behind = stripped(std::string_view(path.data() + path.size(), text.data() + text.size()));
    const std::string_view owner = path.substr(0, path.rfind('.') == path.npos ? 0 : path.rfind('.'));
    const PythonValue *list = value_at(scope.names, path), *owned = value_at(scope.names, owner);
    const bool calls =
        behind.starts_with('(') && owned != nullptr && is_list(*owned) && !only_reads(path.substr(owner.size() + 1));
    if (calls) changed.emplace_back(owner);
    else if (hands && list != nullptr && is_list(*list) && hands_whole(text, path)) changed.emplace_back(path);
  }
  return changed;
}

bool names_list(const PythonScope& scope, std::string_view path) {
  const PythonValue* value = value_at(scope.names, path);
  return value != nullptr && is_list(*value);
}

bool is_shared_list(const PythonScope& scope, std::string_view path) {
  const auto found = scope.lists.find(root_of(path));
  return found != scope.lists.end() && !found->second.empty();
}

}  // namespace stepcast::calibrate
