// Spaces as the command line and the study files of the project give them.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "studies/sweep/space/space.h"
#include "studies/sweep/sweep_flags.h"
#include "tests/studies/run_program.h"

namespace stepcast::sweep::testing_space {

/// As the program reads a command line; words are split at spaces.
inline Expected<Space> space_of(const std::string& line) {
  std::istringstream words(line);
  std::vector<std::string> typed;
  for (std::string word; words >> word;) typed.push_back(word);
  const auto arguments = parse_arguments(sweep_flags(), 0, 1, "sweep NETWORK", typed);
  if (!arguments) return tl::unexpected(arguments.error());
  return read_space(*arguments);
}

inline Space good(const std::string& line) {
  auto space = space_of(line);
  if (space) return std::move(*space);
  ADD_FAILURE() << line << ": " << to_text(space.error());
  return {};
}

inline std::string error(const std::string& line) {
  const auto space = space_of(line);
  return space ? "accepted" : to_text(space.error());
}

inline const std::vector<std::string>& values(const Space& space, AxisId axis) {
  return space.values[static_cast<std::size_t>(axis)];
}

/// A file of the running test with this text; gives "--space PATH".
inline std::string file_with(const std::string& text) {
  const std::string path = testing_program::own_path("space.json");
  std::ofstream(path) << text;
  return "--space " + path;
}

inline std::string shipped(const std::string& name) {
  return "--space " STEPCAST_SOURCE_DIR "/examples/spaces/" + name;
}

}  // namespace stepcast::sweep::testing_space
