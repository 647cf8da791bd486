// What must hold for any text that somebody hands in as a launch: it is answered without being run, an error has words,
// and arguments have names, lines of the text and values that it can be made of.
#pragma once

#include <algorithm>
#include <string>

#include "calibrate/import/config/config_text.h"
#include "calibrate/import/scripts/launch_arguments.h"

namespace stepcast::calibrate {

inline std::string complaint_about_arguments(const std::vector<GivenArgument>& arguments, std::size_t lines) {
  constexpr std::size_t most_value = 512 * 1024;
  for (const GivenArgument& argument : arguments) {
    if (argument.name.empty() || argument.spelled.empty()) return "an argument without a name";
    if (argument.line > lines) return "a line that the text does not have";
    if (argument.value.size() > most_value) return "a value that grew without end";
  }
  return {};
}

/// "" or what is wrong.
inline std::string complaint_about_launch(const std::string& text) {
  const std::size_t lines = 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  const auto launches = find_launches(text, "f", {{"1", "a"}, {"X", "$X"}});
  if (!launches && (launches.error().where.empty() || launches.error().what.empty())) return "an error without words";
  if (launches)
    for (const LaunchLine& launch : *launches)
      if (const std::string found = complaint_about_arguments(launch.given, lines); !found.empty()) return found;
  const auto config = read_config_arguments(text, "f");
  if (!config) return config.error().where.empty() || config.error().what.empty() ? "an error without words" : "";
  for (const GivenArgument& argument : *config)
    if (argument.line < 1 || argument.line > lines + 1) return "a line that the file does not have";
  return {};
}

}  // namespace stepcast::calibrate
