// NVIDIA/NeMo@8cfedd7203: scripts/llm, tutorials/llm and the docs' examples, which take a recipe of
// nemo/collections/llm/recipes and set parts of it.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/config/python_blocks.h"
#include "calibrate/import/config/python_lists.h"
#include "calibrate/import/config/python_text.h"
#include "model/base/text.h"
#include "calibrate/import/config/python_calls.h"
#include "studies/launch/dialects/python_recipes.h"
#include "studies/launch/jobs/nemo_executors.h"

namespace stepcast::launch {
namespace {

using calibrate::calls_in, calibrate::FoundCall, calibrate::handed_values, calibrate::without_calls, calibrate::is_list,
    calibrate::is_python_letter, calibrate::may_change_list, calibrate::may_set_name, calibrate::mentions_name,
    calibrate::python_parameters, calibrate::python_statements, calibrate::python_value, calibrate::PythonParameter,
    calibrate::PythonNames, calibrate::PythonStatement, calibrate::PythonValue;

/// "recipe" of "recipe = llm.llama3_8b.pretrain_recipe(...)", and the call; "" where it is given back at once.
struct TakenRecipe {
  std::string variable, recipe;
  bool tunes = false;
  PythonValue call;
  std::size_t place = 0;  ///< among the statements
};

std::string_view assigned(std::string_view text, std::string_view& value) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || text.substr(equals).starts_with("==")) return {};
  value = stripped(text.substr(equals + 1));
  const std::string_view target = stripped(text.substr(0, equals));
  const bool name = std::ranges::all_of(target, [](char c) { return is_python_letter(c) || c == '.'; });
  return name ? target : std::string_view{};
}

std::vector<TakenRecipe> taken_recipes(const std::vector<PythonStatement>& statements) {
  std::vector<TakenRecipe> taken;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    constexpr std::string_view returns = "return ";
    std::string_view value;
    const bool given = statements[i].text.starts_with(returns);
    const std::string_view target = given ? std::string_view{} : assigned(statements[i].text, value);
    if (given) value = stripped(std::string_view(statements[i].text).substr(returns.size()));
    if ((target.empty() && !given) || value.find("_recipe(") == value.npos) continue;
    PythonValue call = python_value(value, statements[i].line, {});
    std::string_view function = call.text;
    const bool pretrains = function.ends_with(".pretrain_recipe"), tunes = function.ends_with(".finetune_recipe");
    if (call.kind != PythonValue::Kind::call || (!pretrains && !tunes)) continue;
    function = function.substr(0, function.rfind('.'));
    taken.push_back(
        {std::string(target), std::string(function.substr(function.rfind('.') + 1)), tunes, std::move(call), i});
  }
  return taken;
}

/// A name that nothing sets, a parameter of the function, is a variable that --define sets.
GivenArgument argument_of(const std::string& name, const PythonValue& value, std::size_t line) {
  GivenArgument given{name, name, value.text, line, {}};
  if (value.kind == PythonValue::Kind::literal) return given;
  given.unset.push_back(value.text);
  if (std::ranges::all_of(value.text, is_python_letter)) given.value = "${" + value.text + "}";
  return given;
}

/// "run.py:7: what is not read".
void leave_unfollowed(Launch& launch, std::size_t line, std::string_view what) {
  launch.unfollowed.push_back(fmt::format("{}:{}: {}", launch.where, line, what));
}

/// What the function of a recipe is told; a folder and a name come first.
void take_keywords(Launch& launch, const TakenRecipe& taken) {
  constexpr std::size_t named_by_place = 2;
  const std::string_view function = taken.tunes ? "finetune_recipe" : "pretrain_recipe";
  std::size_t place = 0;
  for (const auto& [key, value] : taken.call.keywords) {
    if (key.empty() && ++place > named_by_place)
      leave_unfollowed(launch, taken.call.line,
          fmt::format(
              "argument {} of {}, {:.40}, stands without its name, and is not read", place, function, value.text));
    if (key.empty() || key == "dir" || key == "name") continue;
    const std::string name = key == "num_nodes"           ? "trainer.num_nodes"
                             : key == "num_gpus_per_node" ? "trainer.devices"
                                                          : key;
    launch.arguments.push_back(argument_of(name, value, taken.call.line));
  }
}

/// Parts that hold what a recipe has by default: one that is made anew loses them.
constexpr std::string_view whole_parts[] = {
    "model", "model.config", "trainer", "trainer.strategy", "trainer.strategy.ddp", "trainer.callbacks", "optim"};
bool is_whole_part(std::string_view name) { return std::ranges::find(whole_parts, name) != std::end(whole_parts); }

/// A part that is read where a call makes it with these keywords.
struct MadePart {
  std::string_view name;
  std::array<std::string_view, 3> keywords;
};
constexpr MadePart made_parts[] = {
    {"data", {"seq_length", "global_batch_size", "micro_batch_size"}}, {"peft", {"dim"}}};

/// Is a part that a call makes known by its keywords?
bool is_read(const std::string& name, const PythonValue& call) {
  if ((call.text != "run.Config" && call.text != "run.Partial") || is_whole_part(name)) return false;
  const auto row = std::ranges::find(made_parts, name, &MadePart::name);
  return row == std::end(made_parts) || std::ranges::all_of(row->keywords, [&](std::string_view wanted) {
    return wanted.empty() ||
           std::ranges::any_of(call.keywords, [&](const auto& keyword) { return keyword.first == wanted; });
  });
}

/// False where it is made in a way that is not read.
bool take_part(Launch& launch, const std::string& name, const PythonValue& value, std::size_t line) {
  const bool computed = value.kind == PythonValue::Kind::computed;
  const bool made = std::ranges::find(made_parts, name, &MadePart::name) != std::end(made_parts);
  if (value.kind != PythonValue::Kind::call) {
    if (is_whole_part(name) || (made && computed)) return false;
    return launch.arguments.push_back(argument_of(name, value, line)), true;
  }
  if (!is_read(name, value)) return false;
  return std::ranges::all_of(value.keywords, [&](const auto& keyword) {
    return keyword.first.empty() || take_part(launch, name + "." + keyword.first, keyword.second, line);
  });
}

/// Is the recipe no more than an argument of the call that is the statement? Its parts may be, but none is called, and
/// no call inside is handed any.
bool only_hands_it_on(std::string_view text, std::string_view variable) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    if (depth == 0 && text[at] == ')' && at + 1 < text.size()) return false;
    const bool whole = text.substr(at).starts_with(variable) && (at == 0 || !is_python_letter(text[at - 1]));
    if (!whole) continue;
    const std::string_view behind = text.substr(at + variable.size());
    if (!behind.empty() && is_python_letter(behind.front())) continue;
    const auto end = std::ranges::find_if_not(behind, [](char c) { return is_python_letter(c) || c == '.'; });
    const std::string_view before = stripped(text.substr(0, at)), rest = stripped(std::string_view(end, behind.end()));
    const bool argument = !before.empty() && std::string_view("(,={").find(before.back()) != std::string_view::npos &&
                          !rest.empty() && std::string_view(",)}").find(rest.front()) != std::string_view::npos;
    if (depth != 1 || !argument) return false;  // nor is it part of a condition
  }
  return true;
}

/// "executor = local(nodes=recipe.trainer.num_nodes)": of the recipe no more than numbers and names is handed on, which
/// change nothing in it.
bool reads_numbers(std::string_view text, std::string_view variable) {
  constexpr std::string_view parts[] = {".trainer.num_nodes", ".trainer.devices", ".trainer.max_steps", ".log.name"};
  for (std::size_t at = text.find(variable); at != text.npos; at = text.find(variable, at + 1)) {
    std::string_view behind = text.substr(at + variable.size());
    if ((at > 0 && (is_python_letter(text[at - 1]) || text[at - 1] == '.')) ||
        (!behind.empty() && is_python_letter(behind.front())))
      continue;  // another name
    const auto part = std::ranges::find_if(parts, [&](std::string_view one) { return behind.starts_with(one); });
    if (part == std::end(parts)) return false;
    behind = stripped(behind.substr(part->size()));
    if (!behind.empty() && std::string_view(",)]}").find(behind.front()) == std::string_view::npos) return false;
  }
  return true;
}

/// What is done with a recipe that leaves it as it is: it is given back, run, or printed.
bool leaves_it(std::string_view text, std::string_view variable) {
  constexpr std::string_view returns = "return ";
  if (text.starts_with(returns)) return stripped(text.substr(returns.size())) == variable;
  constexpr std::string_view starts[] = {"run.run(", "run.cli.main(", "exp.add(", "exp.run(", "print("};
  return only_hands_it_on(text, variable) &&
         std::ranges::any_of(starts, [&](std::string_view start) { return text.starts_with(start); });
}

/// Words of documentation.
bool is_string(std::string_view text) {
  return (text.starts_with('"') && text.ends_with('"')) || (text.starts_with('\'') && text.ends_with('\''));
}

/// Where a recipe is taken: the body of a function, of what runs where the file is the program, or the file.
struct Body {
  std::size_t begin = 0, end = 0;  ///< among the statements
  std::size_t indent = 0;
  std::string_view function;  ///< "configure"; "" where it is in none
};

Body body_around(const std::vector<PythonStatement>& statements, std::size_t place) {
  constexpr std::string_view def = "def ";
  Body body{0, statements.size(), 0, {}};
  std::size_t indent = statements[place].indent;
  for (std::size_t i = place; i-- > 0;) {
    if (statements[i].indent >= indent) continue;
    indent = statements[i].indent;
    const std::string_view text = statements[i].text;
    const bool function = text.starts_with(def);
    if (!function && !text.starts_with("if __name__")) continue;
    body.begin = i + 1, body.indent = statements[i + 1].indent;
    if (!function) return body;
    body.function = stripped(text.substr(def.size(), text.find('(') - def.size()));
    for (body.end = place; body.end < statements.size() && statements[body.end].indent > indent;) ++body.end;
    return body;
  }
  return body;
}

/// "mods.append(4)", "mods += [4]" and "extend(mods)": lists that were as the changed one may be the same, and what the
/// recipe was given of it changes with it. Names that are given in a block of its own are not followed.
void forget_changed_lists(
    Launch& launch, const PythonStatement& statement, std::string_view target, bool follows, PythonNames& names) {
  std::vector<std::string> changed;
  for (const auto& [name, known] : names)
    if (name != target && is_list(known) &&
        (may_change_list(statement.text, name) || (!follows && statement.text.ends_with("= " + name))))
      changed.push_back(known.text);
  for (const std::string& list : changed) {
    std::erase_if(names, [&](const auto& name) { return name.second.text == list; });
    if (std::ranges::find(launch.arguments, list, &GivenArgument::value) != launch.arguments.end())
      leave_unfollowed(launch, statement.line,
          fmt::format("'{:.80}' may change a list that the recipe was given, which is not read", statement.text));
  }
}

/// Statements behind the recipe, until its function ends.
void take_changes(Launch& launch, const std::vector<PythonStatement>& statements, const TakenRecipe& taken) {
  if (taken.variable.empty()) return;
  const Body body = body_around(statements, taken.place);
  const std::string dot = taken.variable + ".";
  if (statements[taken.place].indent != body.indent)
    leave_unfollowed(launch, statements[taken.place].line,
        fmt::format("'{:.80}' stands in a block of its own, and under which condition is not read",
            statements[taken.place].text));
  PythonNames names;
  for (std::size_t i = taken.place + 1; i < body.end; ++i) {
    const PythonStatement& statement = statements[i];
    std::string_view value;
    const std::string_view target = assigned(statement.text, value);
    const bool follows = statement.indent == body.indent;
    if (target.starts_with(dot) && follows &&
        take_part(
            launch, std::string(target.substr(dot.size())), python_value(value, statement.line, names), statement.line))
      continue;
    if (is_string(statement.text)) continue;
    if (mentions_name(statement.text, taken.variable) && !leaves_it(statement.text, taken.variable) &&
        !reads_numbers(statement.text, taken.variable))
      leave_unfollowed(
          launch, statement.line, fmt::format("what '{:.80}' does to the recipe is not read", statement.text));
    PythonValue known = python_value(value, statement.line, names);
    forget_changed_lists(launch, statement, target, follows, names);
    std::erase_if(names, [&](const auto& name) { return may_set_name(statement.text, name.first); });
    if (!target.empty() && follows && known.kind == PythonValue::Kind::literal)
      names[std::string(target)] = std::move(known);
  }
}

/// "(4, gpus=8)" where all calls of the function outside its own body hand it that, "()" where there is none; nothing
/// where two differ, or where it has no such parameters.
std::optional<std::string> only_call(
    const std::vector<PythonStatement>& statements, const Body& body, std::string_view function) {
  std::optional<std::string> only;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    if (i + 1 >= body.begin && i < body.end) continue;  // with its "def"
    for (const FoundCall& call : calls_in(statements[i].text, function)) {
      if (only && *only != call.brackets) return std::nullopt;
      only = call.brackets;
    }
  }
  if (!only) return "()";
  const PythonStatement& definition = statements[body.begin - 1];
  const PythonValue call = python_value(std::string(function) + *only, definition.line, {});
  return handed_values(python_parameters(definition.text), call) ? only : std::nullopt;
}

/// What is done with the recipe where the function that gives it is called.
void take_callers(
    Launch& launch, const std::vector<PythonStatement>& statements, const TakenRecipe& taken, int depth = 0) {
  constexpr int deepest = 8;
  const Body body = body_around(statements, taken.place);
  bool gives = taken.variable.empty();
  for (std::size_t i = taken.place; i < body.end; ++i) gives |= statements[i].text == "return " + taken.variable;
  if (body.function.empty() || !gives) return;
  const std::string function(body.function), brackets = only_call(statements, body, function).value_or("()");
  std::size_t callers = 0;
  const std::size_t before = launch.arguments.size();
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const PythonStatement& statement = statements[i];
    const bool own = i + 1 >= body.begin && i < body.end;  // with its "def"
    if (own || is_string(statement.text) || !mentions_name(statement.text, function)) continue;
    std::string_view value;
    const std::string_view target = assigned(statement.text, value);
    if (target.empty() || target == function || without_calls(std::string(value), function, brackets) != function ||
        value == function || depth == deepest) {
      if (statement.text.starts_with("return ") ||
          !leaves_it(without_calls(statement.text, function, brackets), function))
        leave_unfollowed(launch, statement.line,
            fmt::format("'{:.80}': what is done with the recipe that {} gives is not read", statement.text, function));
      continue;
    }
    const TakenRecipe again{std::string(target), taken.recipe, taken.tunes, taken.call, i};
    take_changes(launch, statements, again);
    take_callers(launch, statements, again, depth + 1);
    if (++callers > 1 && launch.arguments.size() > before)
      leave_unfollowed(launch, statement.line,
          fmt::format("'{:.80}': the recipe is taken again, and which one is run is not read", statement.text));
  }
}

/// Parameters of the function that takes the recipe: as its calls hand them, which must all be the same, else as the
/// function has them. Its own statements must give them no other value.
void take_parameters(Launch& launch, const std::vector<PythonStatement>& statements, const TakenRecipe& taken,
    const std::map<std::string, std::string>& defined) {
  const Body body = body_around(statements, taken.place);
  if (body.function.empty()) return;
  const auto brackets = only_call(statements, body, body.function);
  if (!brackets) return;
  const std::size_t line = statements[body.begin - 1].line;
  const auto parameters = python_parameters(statements[body.begin - 1].text);
  const auto handed = handed_values(parameters, python_value(std::string(body.function) + *brackets, line, {}));
  if (!handed) return;
  std::string told;
  for (const PythonParameter& parameter : parameters) {
    const auto by_call = handed->find(parameter.name);
    const bool called = by_call != handed->end();
    const PythonValue value = called ? by_call->second : python_value(parameter.fallback, line, {});
    bool open = (!called && parameter.fallback.empty()) || value.kind != PythonValue::Kind::literal ||
                defined.contains(parameter.name);
    for (std::size_t i = body.begin; i < body.end; ++i) open |= may_set_name(statements[i].text, parameter.name);
    bool used = false;
    for (GivenArgument& given : launch.arguments)
      if (!open && given.unset == std::vector{parameter.name} && given.value == "${" + parameter.name + "}")
        given.value = value.text, given.unset.clear(), used = true;
    if (used && !called) told += fmt::format("{}{} {:.40}", told.empty() ? "" : ", ", parameter.name, value.text);
  }
  if (!told.empty())
    launch.notes.push_back(fmt::format("{}: as {} has it unless told (--define NAME=VALUE)", told, body.function));
}

}  // namespace

bool is_nemo_script(std::string_view text) {
  return text.find("_recipe(") != text.npos && !taken_recipes(python_statements(text)).empty();
}

Expected<void> open_nemo_script(
    Launch& launch, std::string_view text, const std::map<std::string, std::string>& defined) {
  const std::vector<PythonStatement> statements = python_statements(text);
  const std::vector<TakenRecipe> taken = taken_recipes(statements);
  if (taken.size() != 1) {
    std::vector<std::string> recipes;
    for (const TakenRecipe& one : taken) recipes.push_back(fmt::format("{} in line {}", one.recipe, one.call.line));
    return fail(launch.where, fmt::format("{} recipes: {}", taken.size(), fmt::join(recipes, ", ")),
        "a copy of the script with one of them");
  }
  const TakenRecipe& recipe = taken.front();
  launch.program = recipe.tunes ? "nemo llm finetune" : "nemo llm pretrain";
  launch.arguments.push_back({"factory", "factory", recipe.recipe, recipe.call.line, {}});
  take_keywords(launch, recipe);
  take_changes(launch, statements, recipe);
  take_callers(launch, statements, recipe);
  take_parameters(launch, statements, recipe, defined);
  take_nemo_executors(launch, text);
  return {};
}

}  // namespace stepcast::launch
