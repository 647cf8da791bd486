// What a word of a command line is: an option, an override, a program, the name of an argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "calibrate/import/shell/words.h"

namespace stepcast::calibrate {

/// "--num-layers" -> "num_layers".
std::string argument_name(std::string_view written);
/// Letters that names of arguments have: letters, digits, _ . and -.
bool is_argument_letter(char c);
/// How many GPUs CUDA_VISIBLE_DEVICES names; a comma may stand behind the last. 0: a name is empty or no number.
std::int64_t visible_devices(std::string_view names);
/// How many nodes or ranks a word says; 0 where it says none, or more than any job has.
std::int64_t launch_count(std::string_view text);

/// "--lr" and "-N", and no "-1" or "-.5".
bool is_option(std::string_view word);
/// "+model.x=4" and "train.y=1", but no paths or URLs with a query.
bool is_override(std::string_view word);
/// "${@:2}": part of the script's own arguments, where nobody gives any.
bool hands_on(const ShellWord& word);
/// A file of Python, or a program that has a name of its own.
bool is_program(std::string_view word);
/// torchtune's `tune run` takes torchrun's options and the name of a recipe.
bool is_recipe(std::string_view word);
/// "swift sft": what such a program does is its first word.
bool starts_command(std::span<const ShellWord> words);

}  // namespace stepcast::calibrate
