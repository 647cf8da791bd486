// Runs the program in process, as main does, on strings.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "studies/commands.h"

namespace stepcast::testing_program {

struct Ran { int code = 0; std::string out, err; };

inline Ran run(const std::vector<std::string>& arguments, bool color = false) {
  std::ostringstream out, err;
  Console console{out, err, color, true};
  const int code = run_program(arguments, console);
  return {code, out.str(), err.str()};
}

/// Words split at spaces.
inline Ran run(const std::string& line) {
  std::istringstream words(line);
  std::vector<std::string> arguments;
  for (std::string word; words >> word;) arguments.push_back(word);
  return run(arguments);
}

}  // namespace stepcast::testing_program
