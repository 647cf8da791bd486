#include "calibrate/import/config/python_lists.h"

#include <algorithm>
#include <utility>

#include "model/base/contains.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

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

/// What the brackets around a place do with what stands there.
struct Around {
  bool handed = false;  ///< it goes to a function that may change it
  bool kept = false;    ///< a class keeps it, or a function of Python itself reads it
};

/// Inside of one more: brackets without a function and classes keep what the ones around them get, and of what
/// functions of Python itself are handed, those get no more than a copy.
Around inside(std::string_view function, const Around& around) {
  if (function.empty()) return around;
  if (is_python_class(function)) return {around.handed, !around.handed};
  return {!leaves_lists(function), leaves_lists(function)};
}

/// A path that the text calls or mentions, whole: "mods.append" of "x = mods.append(4)".
struct Mention {
  std::string_view path;
  Around around;
  std::string_view front, behind;
};

/// "x in mods" reads the list.
bool asks_for_one(const Mention& mention) { return mention.front.ends_with(" in"); }

/// Behind "mods": "[0]" and no more is read, where it neither gets another value nor is asked for anything.
bool reads_entry(std::string_view behind) {
  behind = stripped(behind.substr(std::min(behind.find(']'), behind.size() - 1) + 1));
  return behind.empty() || is_python_letter(behind.front()) ||
         std::string_view(",)]}:").find(behind.front()) != std::string_view::npos;
}

std::vector<Mention> mentions_in(std::string_view text) {
  std::vector<Mention> mentions;
  std::vector<Around> open(1);
  std::string_view path;  // in front, which a bracket calls
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quote == 0 && c == ' ') continue;  // "f (mods)"
    const std::string_view function = std::exchange(path, {});
    if (quote != 0 || c == '"' || c == '\'') {
      quote = quote == 0 ? c : c == quote ? char{0} : quote;
    } else if (c == '(' || c == '[' || c == '{') {
      open.push_back(inside(c == '(' ? function : std::string_view(), open.back()));
    } else if ((c == ')' || c == ']' || c == '}') && open.size() > 1) {
      open.pop_back(), path = text.substr(at, 1);  // "f()(mods)": what a call gives is called
    } else if (is_python_letter(c)) {
      const std::size_t begin = at;
      while (at < text.size() && (is_python_letter(text[at]) || text[at] == '.')) ++at;
      path = text.substr(begin, at - begin);
      const std::string_view behind = stripped(text.substr(at));
      const bool keyword = open.size() > 1 && behind.starts_with('=') && !behind.starts_with("==");
      const Around around{open.back().handed && !behind.starts_with('['), open.back().kept};
      if (!keyword) mentions.push_back({path, around, stripped(text.substr(0, begin)), behind});
      --at;
    }
  }
  return mentions;
}

/// May the value at the path be a list that has other names? One that is computed from a list may be that list.
bool may_be_shared(const PythonScope& scope, std::string_view path) {
  const PythonValue *value = value_at(scope.names, path), *root = value_at(scope.names, root_of(path));
  const PythonValue* known = value != nullptr ? value : root;
  return known != nullptr && known->kind == PythonValue::Kind::computed && is_shared_list(scope, path);
}

}  // namespace

bool is_list(const PythonValue& value) {
  return value.kind == PythonValue::Kind::literal && !value.quoted &&
         (value.text.starts_with('[') || value.text.starts_with('{'));
}

bool may_change_list(std::string_view statement, std::string_view name) {
  if (!mentions_name(statement, name)) return false;
  const std::string dot = std::string(name) + ".";
  return std::ranges::any_of(mentions_in(statement), [&](const Mention& mention) {
    const auto& [path, around, front, behind] = mention;
    if (path.starts_with(dot)) return !only_reads(path.substr(dot.size()));
    if (path != name) return false;
    if (behind.starts_with('[')) return statement.starts_with("del ") || !reads_entry(behind);
    const bool given_plainly = front.ends_with('=') && front.find('=') + 1 == front.size() && behind.empty();
    return !around.kept && !asks_for_one(mention) && !given_plainly;
  });
}

std::set<std::string> given_lists(const PythonScope& scope, std::string_view text) {
  std::set<std::string> given;
  for (const Mention& mention : mentions_in(text)) {
    const PythonValue* value = value_at(scope.names, mention.path);
    if (asks_for_one(mention)) continue;
    if ((value == nullptr || !holds_list(*value)) && !may_be_shared(scope, mention.path)) continue;
    const std::string root(root_of(mention.path));
    given.insert(root);
    if (const auto others = scope.lists.find(root); others != scope.lists.end())
      given.insert(others->second.begin(), others->second.end());
  }
  return given;
}

void share_lists(PythonScope& scope, std::string_view target, const std::set<std::string>& given) {
  const std::string own(root_of(target));
  for (const std::string& other : given)
    if (other != own) scope.lists[own].insert(other), scope.lists[other].insert(own);
}

std::vector<ChangedList> changed_lists(const PythonScope& scope, std::string_view text) {
  std::vector<ChangedList> changed;
  for (const auto& [path, around, front, behind] : mentions_in(text)) {
    const std::string_view owner = path.substr(0, path.rfind('.') == path.npos ? 0 : path.rfind('.'));
    const bool method = !owner.empty() && (names_list(scope, owner) || may_be_shared(scope, owner));
    if (method && !only_reads(path.substr(owner.size() + 1))) changed.push_back({std::string(owner), true});
    else if (!method && around.handed && (names_list(scope, path) || may_be_shared(scope, path)))
      changed.push_back({std::string(path), false});
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
