// Tells what kind of text a launch is handed in as: by its first words, and by the tables in it.
#pragma once

#include <string>
#include <string_view>

#include "model/base/error.h"

namespace stepcast::launch {

/// What a launch may be, for hints.
inline constexpr std::string_view launch_forms = "a script with the launch, JSON, YAML, TOML, or arguments behind --";

/// Error: a byte that no text has, with its line.
Expected<void> check_launch_bytes(std::string_view text, const std::string& where);
/// The first line that says something.
std::string_view first_words(std::string_view text);
/// Assignments of a script without a launch look like TOML, and so do tables that it writes into a file.
bool is_script_like_toml(const std::string& text, const std::string& where);
/// Arguments alone, one after the other.
bool is_argument_file(std::string_view first);
/// Does the script take as many of its own arguments as it is given? Then "2" need not stand in it.
bool takes_any_argument(std::string_view text, std::string_view name);

}  // namespace stepcast::launch
