#include "calibrate/import/config/python_bindings.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "calibrate/import/config/python_blocks.h"
#include "calibrate/import/config/python_changes.h"
#include "calibrate/import/config/python_lists.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// A number, or one of Python's words in its own spelling or in that of a configuration; anything else is a string.
PythonValue defined_value(const std::string& text, std::size_t line) {
  for (const auto& [python, word] : {std::pair{"True", "true"}, {"False", "false"}, {"None", "none"}})
    if (text == python || text == word) return {PythonValue::Kind::literal, word, line, {}, false};
  const bool number = !text.empty() && text.find_first_not_of("0123456789.-") == text.npos;
  return {PythonValue::Kind::literal, text, line, {}, !number};
}

void take_fallback(const PythonParameter& parameter, std::size_t line, const PythonNames& outer, bool asked_for,
    PythonNames& names, std::vector<GivenArgument>& fallbacks) {
  PythonValue value = python_value(parameter.fallback, line, outer);
  if (parameter.fallback.empty() || value.kind != PythonValue::Kind::literal) return;
  const std::string name = "config_parameter." + parameter.name;
  if (asked_for) fallbacks.push_back({name, name, value.text, line, {}});
  names[parameter.name] = std::move(value);
}

/// Does the statement give the list of the name a second one, "other = mods"? A field of a configuration is none.
bool gives_second_name(std::string_view statement, std::string_view name) {
  const std::size_t equals = statement.find('=');
  return equals != statement.npos && stripped(statement.substr(equals + 1)) == name &&
         assigned_target(statement).find('.') == statement.npos;
}

/// Does a list of the file have its value wherever it is read? A function that changes it may be called before.
bool stays_list(const std::vector<PythonStatement>& statements, std::string_view name) {
  bool defined = false;
  for (const PythonStatement& statement : statements) {
    const std::string_view text = statement.text;
    const bool defines = !defined && statement.indent == 0 && assigned_target(text) == name;
    defined |= defines;
    if (defines ? python_value(stripped(text.substr(text.find('=') + 1)), 0, {}).kind != PythonValue::Kind::literal
                : may_change_list(text, name) || gives_second_name(text, name))
      return false;
  }
  return true;
}

}  // namespace

PythonNames constant_names(const std::vector<PythonStatement>& statements) {
  PythonNames names;
  bool inside = false;  // of a function or class, whose names are its own
  for (const PythonStatement& statement : statements) {
    const std::string_view text = statement.text;
    if (statement.indent == 0) inside = text.starts_with("def ") || text.starts_with("class ");
    if (inside && !text.starts_with("global ")) continue;
    std::erase_if(names, [&](const auto& name) { return may_set_name(text, name.first); });
    const std::size_t equals = text.find('=');
    std::string_view name = text.substr(0, std::min(equals, text.size()));
    name = stripped(name.substr(0, name.find(':')));  // "X: int = 1"
    if (statement.indent > 0 || equals == text.npos || name.empty() || !std::ranges::all_of(name, is_python_letter))
      continue;
    PythonValue value = python_value(stripped(text.substr(equals + 1)), statement.line, names);
    if (value.kind == PythonValue::Kind::literal) names[std::string(name)] = std::move(value);
  }
  std::erase_if(names, [&](const auto& name) { return is_list(name.second) && !stays_list(statements, name.first); });
  return names;
}

Expected<void> bind_parameters(const PythonStatement& definition, const PythonValue* call, const BindingSource& source,
    PythonNames& names, std::vector<GivenArgument>& fallbacks) {
  const PythonNames outer = names;
  const auto keywords = call != nullptr ? call->keywords : std::vector<std::pair<std::string, PythonValue>>{};
  std::size_t place = 0, taken = 0;
  for (const PythonParameter& parameter : python_parameters(definition.text)) {
    names.erase(parameter.name.substr(std::min(parameter.name.find_first_not_of('*'), parameter.name.size())));
    if (parameter.name.starts_with('*')) {
      place = keywords.size();  // what follows is told by its name
      continue;
    }
    const bool placed = place < keywords.size() && keywords[place].first.empty();
    const auto named = std::ranges::find(keywords, parameter.name, [](const auto& one) { return one.first; });
    const PythonValue* told = placed ? &keywords[place].second : named != keywords.end() ? &named->second : nullptr;
    place += placed ? 1 : 0, taken += told != nullptr ? 1 : 0;
    if (told != nullptr) names[parameter.name] = *told;
    else if (const auto said = source.defined.find(parameter.name); call == nullptr && said != source.defined.end()) {
      if (said->second.empty())
        return fail("--define", fmt::format("{} of {} has no value", parameter.name, source.where),
            fmt::format("--define {}=None, or a value", parameter.name));
      names[parameter.name] = defined_value(said->second, definition.line);
    } else take_fallback(parameter, definition.line, outer, call == nullptr, names, fallbacks);
  }
  const bool configured = std::ranges::any_of(keywords, [](const auto& one) {
    return one.second.kind == PythonValue::Kind::call || (one.first.empty() && one.second.text.starts_with('*'));
  });
  if (taken == keywords.size() && !configured) return {};
  return fail(fmt::format("{}:{}", source.where, call->line), fmt::format("{} is called with arguments", call->text),
      "a configuration whose values are written out");
}

}  // namespace stepcast::calibrate
