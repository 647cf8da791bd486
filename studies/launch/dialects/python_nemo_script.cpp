// NVIDIA/NeMo@8cfedd7203: scripts/llm, tutorials/llm and the docs' examples, which take a recipe of
// nemo/collections/llm/recipes and set parts of it.
#include <algorithm>
#include <initializer_list>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/config/python_text.h"
#include "model/base/text.h"
#include "studies/launch/dialects/python_recipes.h"

namespace stepcast::launch {
namespace {

using calibrate::is_python_letter, calibrate::python_statements, calibrate::python_value, calibrate::PythonNames,
    calibrate::PythonStatement, calibrate::PythonValue;

/// "recipe" of "recipe = llm.llama3_8b.pretrain_recipe(...)", and the call.
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
    std::string_view value;
    const std::string_view target = assigned(statements[i].text, value);
    if (target.empty() || value.find("_recipe(") == value.npos) continue;
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

/// What the function of a recipe is told.
void take_keywords(Launch& launch, const TakenRecipe& taken) {
  for (const auto& [key, value] : taken.call.keywords) {
    if (key == "dir" || key == "name") continue;
    const std::string name = key == "num_nodes"           ? "trainer.num_nodes"
                             : key == "num_gpus_per_node" ? "trainer.devices"
                                                          : key;
    launch.arguments.push_back(argument_of(name, value, taken.call.line));
  }
}

/// Parts that hold what a recipe has by default: one that is made anew loses them.
constexpr std::string_view whole_parts[] = {"model", "trainer", "trainer.strategy", "optim"};

bool has_keywords(const PythonValue& call, std::initializer_list<std::string_view> wanted) {
  return std::ranges::all_of(wanted, [&](std::string_view name) {
    return std::ranges::any_of(call.keywords, [&](const auto& keyword) { return keyword.first == name; });
  });
}

/// Is a part that a call makes known by its keywords?
bool is_read(const std::string& name, const PythonValue& call) {
  if (call.text != "run.Config" && call.text != "run.Partial") return false;
  if (std::ranges::find(whole_parts, name) != std::end(whole_parts)) return false;
  return name != "data" || has_keywords(call, {"seq_length", "global_batch_size", "micro_batch_size"});
}

bool mentions(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1))
    if ((at == 0 || !is_python_letter(text[at - 1])) &&
        (at + name.size() == text.size() || !is_python_letter(text[at + name.size()])))
      return true;
  return false;
}

/// False where it is made in a way that is not read.
bool take_part(Launch& launch, const std::string& name, const PythonValue& value, std::size_t line) {
  if (value.kind != PythonValue::Kind::call) return launch.arguments.push_back(argument_of(name, value, line)), true;
  if (!is_read(name, value)) return false;
  return std::ranges::all_of(value.keywords, [&](const auto& keyword) {
    return keyword.first.empty() || take_part(launch, name + "." + keyword.first, keyword.second, line);
  });
}

/// What is done with a recipe that leaves it as it is: it is handed on, run, or printed.
bool leaves_it(std::string_view text) {
  constexpr std::string_view starts[] = {"return ", "run.run(", "run.cli.", "exp.add(", "exp.run(", "print(", "with "};
  return std::ranges::any_of(starts, [&](std::string_view start) { return text.starts_with(start); });
}

/// Statements behind the recipe, until its function ends.
void take_changes(Launch& launch, const std::vector<PythonStatement>& statements, const TakenRecipe& taken) {
  const std::size_t indent = statements[taken.place].indent;
  const std::string dot = taken.variable + ".";
  PythonNames names;
  for (std::size_t i = taken.place + 1; i < statements.size() && statements[i].indent >= indent; ++i) {
    const PythonStatement& statement = statements[i];
    std::string_view value;
    const std::string_view target = assigned(statement.text, value);
    const bool sets = target.starts_with(dot) && statement.indent == indent;
    if (sets && take_part(launch, std::string(target.substr(dot.size())), python_value(value, statement.line, names),
                    statement.line))
      continue;
    if (mentions(statement.text, taken.variable)) {
      if (!leaves_it(statement.text))
        launch.unfollowed.push_back(fmt::format(
            "{}:{}: what '{:.80}' does to the recipe is not read", launch.where, statement.line, statement.text));
    } else if (!target.empty() && statement.indent == indent) {
      PythonValue known = python_value(value, statement.line, names);
      if (known.kind == PythonValue::Kind::literal) names[std::string(target)] = std::move(known);
    }
  }
}

/// "configure" of the function that the recipe is taken in; "" where it is in none.
std::string function_around(const std::vector<PythonStatement>& statements, std::size_t place) {
  constexpr std::string_view def = "def ";
  for (std::size_t i = place; i-- > 0;) {
    const PythonStatement& statement = statements[i];
    if (statement.indent < statements[place].indent && statement.text.starts_with(def))
      return statement.text.substr(def.size(), statement.text.find('(') - def.size());
  }
  return {};
}

/// What is done with the recipe where its function is called.
void take_callers(Launch& launch, const std::vector<PythonStatement>& statements, const TakenRecipe& taken) {
  const std::string function = function_around(statements, taken.place);
  for (std::size_t i = 0; i < statements.size() && !function.empty(); ++i) {
    std::string_view value;
    const std::string_view target = assigned(statements[i].text, value);
    if (target.empty() || !value.starts_with(function + "(")) continue;
    if (value != function + "()")
      launch.unfollowed.push_back(fmt::format(
          "{}:{}: {:.80}: what it is told is not read", launch.where, statements[i].line, statements[i].text));
    take_changes(launch, statements, {std::string(target), taken.recipe, taken.tunes, taken.call, i});
  }
}

}  // namespace

bool is_nemo_script(std::string_view text) {
  return text.find("_recipe(") != text.npos && !taken_recipes(python_statements(text)).empty();
}

Expected<void> open_nemo_script(Launch& launch, std::string_view text) {
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
  return {};
}

}  // namespace stepcast::launch
