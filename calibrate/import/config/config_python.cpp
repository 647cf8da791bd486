#include "calibrate/import/config/config_python.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "calibrate/import/config/python_bindings.h"
#include "calibrate/import/config/python_blocks.h"
#include "calibrate/import/config/python_changes.h"
#include "calibrate/import/config/python_condition.h"
#include "calibrate/import/config/python_lists.h"
#include "calibrate/import/config/python_scope.h"
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
  using Kind = PythonValue::Kind;

 public:
  PythonConfigReader(std::string_view text, const std::string& where, const std::map<std::string, std::string>& defined)
      : statements_(python_statements(text)), where_(where), defined_(defined) {}

  /// `call`: what another function hands it; null of the one that is asked for.
  Expected<PythonValue> config_of(const std::string& function, const PythonValue* call = nullptr, int depth = 0) {
    constexpr int deepest = 8, most_calls = 256;
    const bool handed = call != nullptr && !call->keywords.empty();
    if (const auto known = given_.find(function); known != given_.end() && !handed) return known->second;
    const auto start = std::find_if(statements_.begin(), statements_.end(),
        [&](const PythonStatement& statement) { return config_function(statement) == function; });
    if (start == statements_.end() || depth > deepest || (handed && ++handed_calls_ > most_calls))
      return fail(where_, fmt::format("no function '{:.60}' that gives a configuration", function),
          "one that is called in at most 8 steps and returns Trainer.Config(...), or a ConfigContainer");
    PythonScope scope{constant_names(statements_), {}, {}};
    TRY(bind_parameters(*start, call, {defined_, where_}, scope.names, fallbacks_));
    const auto begin = static_cast<std::size_t>(start - statements_.begin()) + 1;
    std::size_t end = begin;
    while (end < statements_.size() && statements_[end].indent > 0) ++end;
    TRY(auto returned, run_block(begin, end, scope, depth));
    if (returned && handed) return std::move(*returned);
    if (returned) return given_.emplace(function, std::move(*returned)).first->second;
    return fail(fmt::format("{}:{}", where_, start->line), fmt::format("{} returns nothing that is read", function),
        "return Trainer.Config(...)");
  }

  /// Parameters that nobody told, and that are as the function has them.
  [[nodiscard]] const std::vector<GivenArgument>& fallbacks() const { return fallbacks_; }

 private:
  Expected<std::optional<PythonValue>> run_block(std::size_t begin, std::size_t end, PythonScope& scope, int depth) {
    for (std::size_t at = begin; at < end;) {
      const bool branches = opens_branch(statements_[at]);
      TRY(auto returned, branches ? choose(at, scope, depth) : run(statements_[at++], scope, depth));
      if (returned) return returned;
    }
    return std::optional<PythonValue>{};
  }

  /// The branch whose condition holds. Behind one of which that is not known, what each sets hangs on the conditions.
  Expected<std::optional<PythonValue>> choose(std::size_t& at, PythonScope& scope, int depth) {
    const PythonStatement& first = statements_[at];
    const std::vector<PythonBranch> branches = python_branches(statements_, at);
    if (branches.empty()) return tl::unexpected(not_literal(first));
    at = branches.back().end;
    std::string doubt;
    for (const PythonBranch& branch : branches) {
      if (!only_asks(branch.condition)) return tl::unexpected(not_literal(first));
      const auto holds =
          branch.condition.empty() ? std::optional(true) : python_condition(branch.condition, scope.names);
      if (holds == false) continue;
      if (holds && doubt.empty()) return run_block(branch.begin, branch.end, scope, depth);
      if (doubt.empty()) doubt = branch.condition;
      for (std::size_t inner = branch.begin; inner < branch.end; ++inner)
        TRY(doubt_statement(statements_[inner], first, doubt, scope));
      if (holds) break;
    }
    return std::optional<PythonValue>{};
  }

  /// What it sets is known no more; one that raises an error leaves no run.
  Expected<void> doubt_statement(
      const PythonStatement& statement, const PythonStatement& first, const std::string& doubt, PythonScope& scope) {
    const std::string_view text = stripped(statement.text);
    const bool nothing = text == "pass" || text == "raise" || text.starts_with("raise ") || text[0] == '"' ||
                         text[0] == '\'' || text.starts_with("assert ");
    if (opens_branch(statement)) {
      const std::size_t word = text.find_first_of(" (:");
      if (only_asks(std::string(stripped(text.substr(word, text.size() - 1 - word))))) return {};
      return tl::unexpected(not_literal(first));
    }
    if (nothing) return {};
    TRY(change_lists(statement, text, scope));
    if (take_call(statement, scope)) return {};
    const std::size_t equals = text.find('=');
    std::string_view target = assigned_target(text);
    const bool entry = target.ends_with(']');
    if (entry) target = target.substr(0, target.find('['));
    if (equals == text.npos || !is_python_path(target) || text.substr(equals).starts_with("=="))
      return tl::unexpected(not_literal(first));
    const std::string_view value = stripped(text.substr(equals + 1));
    const bool whole = target.find('.') == target.npos;  // a second name, if the condition holds
    const std::set<std::string> given = given_lists(scope, value);
    const bool shares =
        is_python_path(value) && (!mentioned_configs(scope, value).empty() || (whole && names_list(scope, value)));
    if (shares || does_more(target, value) || (entry && is_shared_list(scope, target)))
      return tl::unexpected(not_literal(first));
    take_inner_call(statement, value, scope);
    if (entry) change_config(scope, std::string(target), statement);
    auto lists = scope.lists;  // what the name held it may hold still
    TRY(lose(target, fmt::format("{} if {}", value, doubt), statement, first, scope));
    scope.lists = std::move(lists);
    share_lists(scope, target, given);
    return {};
  }

  /// The target has a value that only running tells.
  Expected<void> lose(std::string_view target, std::string text, const PythonStatement& statement,
      const PythonStatement& refused, PythonScope& scope) const {
    const std::string root(target.substr(0, target.find('.')));
    const auto held = scope.held_by.find(root);
    if (root != target && held != scope.held_by.end() && !held->second.empty())
      return tl::unexpected(not_literal(refused));
    if (root == target) forget_name(scope, root);
    else change_config(scope, root, statement);
    return set(target, {Kind::computed, std::move(text), statement.line, {}}, statement, scope.names);
  }

  /// A list that a text may change is not known behind it; one that has several names would change under each.
  /// `given`: names of lists that the text itself gives another name.
  Expected<void> change_lists(const PythonStatement& statement, std::string_view text, PythonScope& scope,
      const std::set<std::string>& given = {}) const {
    for (const auto& [path, called] : changed_lists(scope, text)) {
      const bool gives = called && given.contains(path.substr(0, path.find('.')));
      if (gives || is_shared_list(scope, path)) return tl::unexpected(not_literal(statement));
      TRY(set(
          path, {Kind::computed, fmt::format("{} after {}", path, text), statement.line, {}}, statement, scope.names));
    }
    return {};
  }

  /// "a, b.c = f()": each is what only running tells.
  Expected<bool> take_several(const PythonStatement& statement, PythonScope& scope) const {
    const std::string_view text = statement.text;
    const std::size_t equals = text.find('=');
    std::string_view targets = text.substr(0, std::min(equals, text.size()));
    const bool several =
        equals != text.npos && targets.find(',') != targets.npos &&
        std::ranges::all_of(targets, [](char c) { return is_python_letter(c) || c == ',' || c == ' ' || c == '.'; });
    const std::string_view value = several ? stripped(text.substr(equals + 1)) : std::string_view();
    const std::set<std::string> given = given_lists(scope, value);
    TRY(change_lists(statement, value, scope, given));
    take_inner_call(statement, value, scope);
    while (several && !targets.empty()) {
      const std::string name(stripped(targets.substr(0, targets.find(','))));
      targets.remove_prefix(std::min(targets.find(','), targets.size() - 1) + 1);
      TRY(lose(name, name, statement, statement, scope));
      share_lists(scope, name, given);
    }
    return several;
  }

  Expected<std::optional<PythonValue>> run(const PythonStatement& statement, PythonScope& scope, int depth) {
    const std::string_view text = statement.text;
    constexpr std::string_view returns = "return ";
    const bool imports = text.starts_with("from ") || text.starts_with("import ");
    if (imports) std::erase_if(scope.names, [&](const auto& name) { return mentions_name(text, name.first); });
    const bool passed_over =
        imports || text[0] == '"' || text[0] == '\'' || text.starts_with("assert ") || text == "pass";
    if (passed_over) return std::optional<PythonValue>{};
    if (!called_function(text).empty()) TRY(change_lists(statement, text, scope));
    if (take_call(statement, scope)) return std::optional<PythonValue>{};
    TRY(const bool several, take_several(statement, scope));
    if (several) return std::optional<PythonValue>{};
    if (text.starts_with(returns)) {
      TRY(auto value, evaluated(text.substr(returns.size()), statement.line, scope.names, depth));
      const bool changes = std::ranges::any_of(changed_lists(scope, text), &ChangedList::called);
      if (value.kind != Kind::call || changes) return tl::unexpected(not_literal(statement));
      return std::optional(std::move(value));
    }
    const std::size_t equals = text.find('=');
    std::string_view target = assigned_target(text);
    if (target.ends_with(']') && is_python_path(target.substr(0, target.find('[')))) {  // an entry of many
      target = target.substr(0, target.find('['));
      const auto held = scope.held_by.find(std::string(target));
      const bool part = held != scope.held_by.end() && !held->second.empty();
      if (part || is_shared_list(scope, target)) return tl::unexpected(not_literal(statement));
      change_config(scope, std::string(target), statement);  // its other names have the new entry too
      TRY(lose(target, fmt::format("{} with {}", target, text), statement, statement, scope));
      return std::optional<PythonValue>{};
    }
    const bool assigns = equals != text.npos && is_python_path(target) && !text.substr(equals).starts_with("==");
    if (!assigns || does_more(target, text.substr(equals + 1))) return tl::unexpected(not_literal(statement));
    TRY(assign(target, stripped(text.substr(equals + 1)), statement, scope, depth));
    return std::optional<PythonValue>{};
  }

  /// A part that another name holds too is not followed where it is changed by one of them.
  Expected<void> assign(
      std::string_view target, std::string_view text, const PythonStatement& statement, PythonScope& scope, int depth) {
    TRY(auto value, evaluated(text, statement.line, scope.names, depth));
    const std::set<std::string> given = given_lists(scope, text);
    TRY(change_lists(statement, text, scope, given));
    take_inner_call(statement, text, scope);
    const std::string root(target.substr(0, target.find('.')));
    const bool whole = root == target, named = is_python_path(text);
    const auto held = scope.held_by.find(root);
    if (!whole && held != scope.held_by.end() && !held->second.empty()) return tl::unexpected(not_literal(statement));
    const bool keeps = is_python_class(called_function(text)), lists = text.starts_with('[') || text.starts_with('{');
    std::set<std::string> shared;
    for (const auto& [name, known] : scope.names)
      if (value.kind == Kind::call && known.kind == Kind::call &&
          (((named || lists) && mentions_name(text, name)) || (keeps && hands_whole(text, name))))
        shared.insert(name);
    if (!whole && shared.contains(root)) return tl::unexpected(not_literal(statement));  // it would hold itself
    if (whole) forget_name(scope, root);
    else change_config(scope, root, statement);
    TRY(set(target, std::move(value), statement, scope.names));
    share_lists(scope, target, given);
    shared.erase(root);
    for (const std::string& other : shared) {
      const bool part = whole && named;  // "m = cfg.model", else "cfg.model = m"
      scope.held_by[part ? root : other].insert(part ? other : root);
    }
    return {};
  }

  Expected<PythonValue> evaluated(std::string_view text, std::size_t line, const PythonNames& names, int depth) {
    PythonValue value = python_value(stripped(text), line, names);
    const bool own = value.kind == Kind::call && std::ranges::any_of(statements_, [&](const PythonStatement& other) {
      return config_function(other) == value.text;
    });
    if (own) {
      const PythonValue call = std::move(value);
      TRY(value, config_of(call.text, &call, depth + 1));
    }
    constexpr std::size_t most = 100'000;
    read_ += count_parts(value);
    if (read_ > most)
      return fail(fmt::format("{}:{}", where_, line),
          fmt::format("the values of the configuration, each as often as it is used, are more than {} parts", most),
          "a configuration whose values are written out");
    return value;
  }

  Expected<void> set(
      std::string_view target, PythonValue value, const PythonStatement& statement, PythonNames& names) const {
    return set_part(target, std::move(value), fmt::format("{}:{}", where_, statement.line), names);
  }

  [[nodiscard]] Error not_literal(const PythonStatement& statement) const {
    return {fmt::format("{}:{}", where_, statement.line),
        fmt::format("'{:.60}' is more than literal values", statement.text),
        "a function that returns Trainer.Config(...) with values that are written out"};
  }

  std::vector<PythonStatement> statements_;
  const std::string& where_;
  const std::map<std::string, std::string>& defined_;
  std::map<std::string, PythonValue, std::less<>> given_;  ///< by functions that are read
  std::vector<GivenArgument> fallbacks_;
  std::size_t read_ = 0;  ///< parts of values so far
  int handed_calls_ = 0;  ///< of functions that are handed something, and are read for each call
};

void flatten(const PythonValue& value, const std::string& name, std::vector<GivenArgument>& out) {
  if (value.kind != PythonValue::Kind::call) {
    GivenArgument given{name, name, value.text, value.line, {}};
    if (value.kind == PythonValue::Kind::computed) {
      given.unset.push_back(value.text);
      if (std::ranges::all_of(value.text, is_python_letter))
        given.value = "${" + value.text + "}";  // a definition goes in
    }
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

Expected<std::vector<GivenArgument>> read_python_config(std::string_view text, const std::string& where,
    const std::string& function, const std::map<std::string, std::string>& defined) {
  PythonConfigReader reader(text, where, defined);
  TRY(const auto config, reader.config_of(function));
  std::vector<GivenArgument> arguments;
  if (!config.text.ends_with("Config") && !config.text.ends_with("ConfigContainer"))  // a function of another file
    arguments.push_back({"config_base", "config_base", config.text, config.line, {}});
  flatten(config, "", arguments);
  arguments.insert(arguments.end(), reader.fallbacks().begin(), reader.fallbacks().end());
  return arguments;
}

}  // namespace stepcast::calibrate
