// What the command line told stands in the JSON: each flag of each command, and through the commands themselves.
#include "studies/cli/told.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/command_flags.h"
#include "studies/commands.h"
#include "tests/studies/run_program.h"

namespace stepcast::told_test {
namespace {

using TestedJson = nlohmann::json;

TEST(Told, EachFlagOfACommandStandsUnderItsName) {
  constexpr std::string_view with_told[] = {"predict", "infer", "serve", "job"};
  std::size_t tried = 0;
  for (const cli::Command& command : studies::commands()) {
    if (std::ranges::find(with_told, command.name) == std::end(with_told)) continue;
    for (const cli::Flag& flag : command.flags) {
      cli::Arguments arguments;
      const bool toggle = flag.kind == cli::FlagKind::toggle;
      arguments.flags[std::string(flag.name)] = toggle ? "" : "a \"value\"";
      const auto json = TestedJson::parse(cli::with_told("{\n  \"first\": 1\n}\n", arguments));
      EXPECT_EQ(json.at("first"), 1);
      if (flag.name == "--json") {
        EXPECT_FALSE(json.contains("told"));
        continue;
      }
      const TestedJson& told = json.at("told").at(std::string(flag.name));
      if (toggle) EXPECT_EQ(told, true) << flag.name;
      else EXPECT_EQ(told, "a \"value\"") << flag.name;
      ++tried;
    }
  }
  EXPECT_GT(tried, 150U);
}

TEST(Told, DocumentsOfCommandsHaveIt) {
  for (const auto& [line, flag, value] :
      {std::tuple{"predict llama3-8b --zero 3 --loader-time 3s --json", "--loader-time", "3s"},
          {"predict llama3-8b --zero 3 --imbalance ranks=2% --json", "--imbalance", "ranks=2%"},
          {"predict llama3-8b --machine dgx-h100:8,dgx-a100:8 --between 1GB/s,50ms --json", "--between", "1GB/s,50ms"},
          {"job llama3-8b --zero 3 --gpus 64 --days 30d --lives 100 --json", "--days", "30d"},
          {"infer llama3-8b --prompt 100 --output 10 --batch 2 --json", "--batch", "2"},
          {"serve llama3-8b --input 100 --output 10 --concurrency 1 --seed 3 --json", "--seed", "3"}}) {
    const auto ran = testing_program::run_line(line);
    ASSERT_EQ(ran.code, 0) << line << "\n" << ran.err;
    EXPECT_EQ(TestedJson::parse(ran.out).at("told").at(flag), value) << line;
  }
}

TEST(Told, HeadlinesHaveTheStepWithAllAroundIt) {
  const auto ran = testing_program::run_line("predict llama3-8b --zero 3 --loader-time 3s --imbalance ranks=2%");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto uneven = ran.out.find("with uneven work"), all = ran.out.find("with all around it"),
             tokens = ran.out.find("Tokens/s/GPU");
  EXPECT_LT(uneven, all);
  EXPECT_LT(all, tokens);
  const auto mixed = testing_program::run_line(
      "predict llama3-8b --machine dgx-h100:8,dgx-a100:8 --between 1GB/s,50ms --loader-time 9s");
  EXPECT_LT(mixed.out.find("with all around it"), mixed.out.find("Tokens/s"));
  EXPECT_THAT(mixed.out, testing::HasSubstr("50.0 ms more latency"));
}

}  // namespace
}  // namespace stepcast::told_test
