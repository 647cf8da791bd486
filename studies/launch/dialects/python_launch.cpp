#include "studies/launch/dialects/python_launch.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/config/config_python.h"
#include "studies/launch/dialects/python_recipes.h"
#include "studies/launch/facts/torchtitan_models.h"

namespace stepcast::launch {
namespace {

using Definitions = std::map<std::string, std::string>;

/// Parameters of the function that nobody told become a note.
void note_parameters(Launch& launch, const std::string& function) {
  constexpr std::string_view parameter = "config_parameter.";
  std::string told;
  for (const GivenArgument& given : launch.arguments)
    if (given.name.starts_with(parameter))
      told += fmt::format("{}{} {:.40}", told.empty() ? "" : ", ", given.name.substr(parameter.size()), given.value);
  std::erase_if(launch.arguments, [&](const GivenArgument& given) { return given.name.starts_with(parameter); });
  if (!told.empty())
    launch.notes.push_back(fmt::format("{}: as {} has it unless told (--define NAME=VALUE)", told, function));
}

bool has_section(const Launch& launch, std::string_view name) {
  return std::any_of(launch.arguments.begin(), launch.arguments.end(), [&](const GivenArgument& given) {
    return given.name == name || (given.name.starts_with(name) && given.name[name.size()] == '.');
  });
}

/// "--config", "recipe=NAME": does a word behind -- choose the function?
bool chooses_function(std::string_view word) {
  word = word.substr(0, word.find('='));
  while (word.starts_with('-')) word.remove_prefix(1);
  return word == "config" || word == "recipe";
}

/// The function that --config names behind --, or the only one.
Expected<std::string> chosen_function(
    std::string_view text, const std::string& where, const std::vector<std::string>& words) {
  const std::vector<std::string> functions = python_config_functions(text);
  for (const GivenArgument& given : launch_of_words(words).given)
    if (chooses_function(given.name)) return given.value;
  if (functions.size() == 1) return functions.front();
  return fail(where, fmt::format("{} configurations: {}", functions.size(), fmt::join(functions, ", ")),
      fmt::format("-- --config {} at the end of the command", functions.front()));
}

/// Megatron-Bridge's recipes are functions that give a ConfigContainer; the words behind -- that choose one are no
/// argument of it.
Expected<Launch> launch_of_recipe(
    const std::string& text, const std::string& where, std::vector<std::string>& words, const Definitions& defined) {
  TRY(const std::string function, chosen_function(text, where, words));
  Launch launch;
  launch.where = where;
  TRY(launch.arguments, read_python_config(text, where, function, defined));
  note_parameters(launch, function);
  TRY(open_bridge_recipe(launch, function, launch_of_words(words).given));
  for (auto word = words.begin(); word != words.end();) {
    const bool bare = word->find('=') == std::string::npos;
    if (!chooses_function(*word) || (bare && !word->starts_with('-'))) ++word;
    else word = words.erase(word, word + (bare && word + 1 != words.end() ? 2 : 1));
  }
  return launch;
}

Expected<Launch> launch_of_nemo_script(const std::string& text, const std::string& where, const Definitions& defined) {
  Launch launch;
  launch.where = where;
  TRY(open_nemo_script(launch, text, defined));
  return launch;
}

/// torchtitan's configurations of 2026 are functions, each called by its network's module and flavor.
Expected<Launch> launch_of_torchtitan(const std::string& text, const std::string& where,
    const std::vector<std::string>& words, const Definitions& defined) {
  TRY(const std::string function, chosen_function(text, where, words));
  TRY(Launch launch, open_torchtitan_function(text, where, function, defined));
  launch.arguments.push_back({"config", "config", function, 0, {}});
  for (const TorchtitanModel& model : torchtitan_models())
    if (function.starts_with(fmt::format("{}_", model.name)) && launch.find("module") == nullptr)
      launch.arguments.push_back({"module", "module", std::string(model.name), 0, {}});
  return launch;
}

}  // namespace

bool is_python_launch(const std::string& text) { return is_python_config(text) || is_nemo_script(text); }

Expected<Launch> open_python_launch(
    const std::string& text, const std::string& where, std::vector<std::string>& words, const Definitions& defined) {
  if (!is_python_config(text)) return launch_of_nemo_script(text, where, defined);
  return text.find("ConfigContainer") == text.npos ? launch_of_torchtitan(text, where, words, defined)
                                                   : launch_of_recipe(text, where, words, defined);
}

Expected<Launch> open_torchtitan_function(
    const std::string& text, const std::string& where, const std::string& function, const Definitions& defined) {
  Launch launch;
  launch.where = where;
  TRY(launch.arguments, read_python_config(text, where, function, defined));
  note_parameters(launch, function);
  if (!has_section(launch, "activation_checkpoint"))  // torchtitan/trainer.py
    launch.arguments.push_back({"activation_checkpoint.class", "activation_checkpoint.class", "SelectiveAC", 0, {}});
  return launch;
}

}  // namespace stepcast::launch
