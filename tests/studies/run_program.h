// Runs the program in process, as main does, on strings.
#pragma once

#include <gtest/gtest.h>

#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

#include "studies/commands.h"

// Tests of commands see the names of all folders.
namespace stepcast {
using namespace studies;
}

namespace stepcast::testing_program {

struct Ran {
  int code = 0;
  std::string out, err;
};

inline Ran run_line(const std::vector<std::string>& arguments, bool color = false) {
  std::ostringstream out, err;
  cli::Console console{out, err, color, true};
  const int code = studies::run_program(arguments, console);
  return {code, out.str(), err.str()};
}

/// A path below the temporary folder that only the running test has: tests run beside each other.
inline std::string own_path(const std::string& name) {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  return testing::TempDir() + "stepcast_" + test->test_suite_name() + "_" + test->name() + "_" + name;
}

/// Words split at spaces, but for what stands in double quotes.
inline Ran run_line(const std::string& line) {
  std::istringstream words(line);
  std::vector<std::string> arguments;
  for (std::string word; words >> std::quoted(word);) arguments.push_back(word);
  return run_line(arguments);
}

}  // namespace stepcast::testing_program
