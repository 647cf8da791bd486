// What the sweep tests share: a sweep as a user types it, and the forecast of a printed command.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::sweep::testing_sweep {

using nlohmann::json;
using testing_program::Ran;
using testing_program::run_line;

inline json swept(const std::string& line, int code = 0) {
  const Ran ran = run_line("sweep " + line + " --json");
  EXPECT_EQ(ran.code, code) << line << "\n" << ran.err;
  const json answer = json::parse(ran.out, nullptr, false);
  EXPECT_FALSE(answer.is_discarded()) << line << ran.out;
  return answer;
}

/// Words as a shell parts them; the only quotes in use are single ones.
inline std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '\'') quoted = !quoted;
    else if (c == ' ' && !quoted) words.emplace_back();
    else words.back() += c;
  }
  return words;
}

/// Runs the command of a row as it is printed.
inline void expect_same_forecast(const json& row) {
  std::vector<std::string> words = shell_words(row["command"]);
  ASSERT_EQ(words[0], "stepcast");
  words.erase(words.begin());
  words.insert(words.begin() + 1, "--json");  // a launch's own words may stand at the end
  const Ran ran = run_line(words);
  ASSERT_EQ(ran.code, 0) << row["command"] << ran.err;
  const json forecast = json::parse(ran.out);
  EXPECT_EQ(forecast["step_time_s"], row["report"]["step_time_s"]) << row["command"];
  EXPECT_EQ(
      std::round(forecast["memory"]["peak_bytes"].get<double>()), row["report"]["memory_peak_bytes"].get<double>())
      << row["command"];
}

}  // namespace stepcast::sweep::testing_sweep
