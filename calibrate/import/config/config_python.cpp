#include "calibrate/import/config/config_python.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "calibrate/import/config/python_text.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// What functions give that are configurations: torchtitan's and Megatron-Bridge's.
constexpr std::string_view config_types[] = {"-> Trainer.Config", "-> ConfigContainer", "-> \"ConfigContainer\""};

/// "llama3_8b" of "def llama3_8b(...) -> Trainer.Config:"; "" of others.
std::string config_function(const PythonStatement& statement) {
  constexpr std::string_view def = "def ";
  if (statement.indent > 0 || !statement.text.starts_with(def)) return {};
  if (std::none_of(std::begin(config_types), std::end(config_types),
          [&](std::string_view type) { return statement.text.find(type) != std::string::npos; }))
    return {};
  const std::size_t open = statement.text.find('(');
  return open == std::string::npos ? "" : statement.text.substr(def.size(), open - def.size());
}

class PythonConfigReader {
 public:
  PythonConfigReader(std::string_view text, const std::string& where)
      : statements_(python_statements(text)), where_(where) {}

  Expected<PythonValue> config_of(const std::string& function, int depth = 0) {
    constexpr int deepest = 8;
    const auto start = std::find_if(statements_.begin(), statements_.end(),
        [&](const PythonStatement& statement) { return config_function(statement) == function; });
    if (start == statements_.end() || depth > deepest)
      return fail(where_, fmt::format("no function '{:.60}' that gives a configuration", function),
          "one that is called in at most 8 steps and returns Trainer.Config(...), or a ConfigContainer");
    PythonNames names = constants();
    for (auto at = start + 1; at != statements_.end() && at->indent > 0; ++at) {
      TRY(auto returned, run(*at, names, depth));
      if (returned) return std::move(*returned);
    }
    return fail(fmt::format("{}:{}", where_, start->line), fmt::format("{} returns nothing that is read", function),
        "return Trainer.Config(...)");
  }

 private:
  /// What the file gives a name outside of functions, where it is literal.
  [[nodiscard]] PythonNames constants() const {
    PythonNames names;
    for (const PythonStatement& statement : statements_) {
      const std::string_view text = statement.text;
      const std::size_t equals = text.find('=');
      std::string_view name = text.substr(0, std::min(equals, text.size()));
      name = stripped(name.substr(0, name.find(':')));  // "X: int = 1"
      if (statement.indent > 0 || equals == text.npos || name.empty() ||
          !std::all_of(name.begin(), name.end(), is_python_letter))
        continue;
      PythonValue value = python_value(stripped(text.substr(equals + 1)), statement.line, names);
      if (value.kind == PythonValue::Kind::literal) names[std::string(name)] = std::move(value);
    }
    return names;
  }

  /// A call that stands alone changes the configuration that it is handed or belongs to, and is a keyword of it by its
  /// own name; one that names none changes none.
  static bool take_call(const PythonStatement& statement, PythonNames& names) {
    const std::string_view text = statement.text;
    const std::size_t open = text.find('(');
    const std::string_view function = text.substr(0, std::min(open, text.size()));
    const bool call =
        open != text.npos && text.ends_with(')') && !function.empty() &&
        std::all_of(function.begin(), function.end(), [](char c) { return is_python_letter(c) || c == '.'; });
    if (!call) return false;
    for (auto& [name, value] : names) {
      const std::size_t at = text.find(name), end = at + name.size();
      const bool whole =
          at != text.npos && (at == 0 || !is_python_letter(text[at - 1])) && !is_python_letter(text[end]);
      if (!whole || value.kind != PythonValue::Kind::call) continue;
      value.keywords.emplace_back(
          std::string(function), PythonValue{PythonValue::Kind::computed, std::string(text), statement.line, {}});
      return true;
    }
    return true;
  }

  /// "a, b = f()": each is what only running tells.
  static bool take_several(const PythonStatement& statement, PythonNames& names) {
    const std::string_view text = statement.text;
    const std::size_t equals = text.find('=');
    std::string_view targets = text.substr(0, std::min(equals, text.size()));
    const bool several =
        equals != text.npos && targets.find(',') != targets.npos &&
        std::all_of(targets.begin(), targets.end(), [](char c) { return is_python_letter(c) || c == ',' || c == ' '; });
    while (several && !targets.empty()) {
      const std::string_view name = stripped(targets.substr(0, targets.find(',')));
      targets.remove_prefix(std::min(targets.find(','), targets.size() - 1) + 1);
      names[std::string(name)] = {PythonValue::Kind::computed, std::string(name), statement.line, {}};
    }
    return several;
  }

  Expected<std::optional<PythonValue>> run(const PythonStatement& statement, PythonNames& names, int depth) {
    const std::string_view text = statement.text;
    constexpr std::string_view returns = "return ";
    const bool passed_over = text[0] == '"' || text[0] == '\'' || text.starts_with("from ") ||
                             text.starts_with("import ") || text.starts_with("assert ") || text == "pass";
    if (passed_over || take_call(statement, names) || take_several(statement, names))
      return std::optional<PythonValue>{};
    if (text.starts_with(returns)) {
      TRY(auto value, evaluated(text.substr(returns.size()), statement.line, names, depth));
      if (value.kind != PythonValue::Kind::call) return tl::unexpected(not_literal(statement));
      return std::optional(std::move(value));
    }
    const std::size_t equals = text.find('=');
    std::string_view target = stripped(text.substr(0, std::min(equals, text.size())));
    target = stripped(target.substr(0, target.find(':')));  // "x: int = 1"
    const bool name = !target.empty() &&
                      std::all_of(target.begin(), target.end(), [](char c) { return is_python_letter(c) || c == '.'; });
    if (equals == text.npos || !name || text.substr(equals).starts_with("=="))
      return tl::unexpected(not_literal(statement));
    TRY(auto value, evaluated(text.substr(equals + 1), statement.line, names, depth));
    set(target, std::move(value), names);
    return std::optional<PythonValue>{};
  }

  Expected<PythonValue> evaluated(std::string_view text, std::size_t line, const PythonNames& names, int depth) {
    PythonValue value = python_value(stripped(text), line, names);
    const bool own = value.kind == PythonValue::Kind::call &&
                     std::any_of(statements_.begin(), statements_.end(),
                         [&](const PythonStatement& other) { return config_function(other) == value.text; });
    if (!own) return value;
    if (!value.keywords.empty())
      return fail(fmt::format("{}:{}", where_, line), fmt::format("{} is called with arguments", value.text),
          "a configuration whose values are written out");
    return config_of(value.text, depth + 1);
  }

  /// "config.training.steps": the keyword of a call in a call.
  static void set(std::string_view target, PythonValue value, PythonNames& names) {
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
  }

  [[nodiscard]] Error not_literal(const PythonStatement& statement) const {
    return {fmt::format("{}:{}", where_, statement.line),
        fmt::format("'{:.60}' is more than literal values", statement.text),
        "a function that returns Trainer.Config(...) with values that are written out"};
  }

  std::vector<PythonStatement> statements_;
  const std::string& where_;
};

void flatten(const PythonValue& value, const std::string& name, std::vector<GivenArgument>& out) {
  if (value.kind != PythonValue::Kind::call) {
    GivenArgument given{name, name, value.text, value.line, {}};
    if (value.kind == PythonValue::Kind::computed) given.unset.push_back(value.text);
    out.push_back(std::move(given));
    return;
  }
  const std::string dot = name.empty() ? "" : ".";
  if (!name.empty() && !value.text.empty())
    out.push_back({name + ".class", name + ".class", value.text, value.line, {}});
  std::size_t place = 0;
  for (const auto& [key, inside] : value.keywords)
    flatten(inside, name + dot + (key.empty() ? std::to_string(place++) : key), out);
}

}  // namespace

bool is_python_config(std::string_view text) { return !python_config_functions(text).empty(); }

std::vector<std::string> python_config_functions(std::string_view text) {
  std::vector<std::string> functions;
  if (text.find("Trainer.Config") == text.npos && text.find("ConfigContainer") == text.npos) return functions;
  for (const PythonStatement& statement : python_statements(text))
    if (std::string name = config_function(statement); !name.empty()) functions.push_back(std::move(name));
  return functions;
}

Expected<std::vector<GivenArgument>> read_python_config(
    std::string_view text, const std::string& where, const std::string& function) {
  TRY(const auto config, PythonConfigReader(text, where).config_of(function));
  std::vector<GivenArgument> arguments;
  if (!config.text.ends_with("Config") && !config.text.ends_with("ConfigContainer"))  // a function of another file
    arguments.push_back({"config_base", "config_base", config.text, config.line, {}});
  flatten(config, "", arguments);
  return arguments;
}

}  // namespace stepcast::calibrate
