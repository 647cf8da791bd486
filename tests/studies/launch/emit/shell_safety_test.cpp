// What a launch only quoted is run by no script that is written of it: the scripts are given to a shell, with torchrun
// as a function that prints its words.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/megatron_emission.h"

namespace stepcast::launch {
namespace {

namespace fs = std::filesystem;
using namespace emit_tests;

struct ShellRun {
  std::vector<std::string> words;  ///< of torchrun
  bool touched = false;            ///< did anything of the launch run?
};

/// Runs the script in a folder of its own, with OPEN set to "put in" and all other variables empty.
ShellRun run_script(std::string script) {
  if (const std::size_t at = script.find("set -euo"); at != script.npos) script.replace(at, 8, "set -eo");
  const fs::path folder = fs::path(testing::TempDir()) / "emitted_script";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "run.sh") << "torchrun() { printf '%s\\0' \"$@\"; }\n" << script;
  const std::string command = "cd '" + folder.string() + "' && OPEN='put in' bash run.sh > words 2> errors";
  EXPECT_EQ(std::system(command.c_str()), 0) << script;
  ShellRun run;
  std::ifstream words(folder / "words", std::ios::binary);
  for (std::string word; std::getline(words, word, '\0');) run.words.push_back(word);
  run.touched = fs::exists(folder / "TOUCHED");
  fs::remove_all(folder);
  return run;
}

/// Pieces that a shell would run, open or cut, were they not quoted.
std::string hostile_value(std::mt19937& random) {
  std::string value;
  for (int parts = any_of(random, {1, 2, 3, 4}); parts > 0; --parts)
    value += any_of<const char*>(
        random, {"$(touch TOUCHED)", "`touch TOUCHED`", "${OPEN}", "$OPEN", "${X:-$(touch TOUCHED)}", "$((1+1))", "'",
                    "\"", "\\", "; touch TOUCHED;", "a b", "\n touch TOUCHED\n", "$", "${", "&& touch TOUCHED",
                    "<(touch TOUCHED)", "!", "*", "~", "x"});
  return value;
}

TEST(EmittedScripts, RunNothingThatALaunchQuoted) {
  Scenario scenario = emit_scenario("llama3-8b");
  ASSERT_TRUE(take_wishes(scenario, megatron_wishes()));
  std::mt19937 random(23);
  for (int i = 0; i < 150; ++i) {
    Launch like;
    like.framework = find_framework("megatron-lm");
    like.where = "old.sh";
    const std::string closed = hostile_value(random), open = hostile_value(random) + "${OPEN}";
    like.arguments = {{"save", "--save", closed, 1, {}}, {"load", "--load", open, 2, {"OPEN"}},
        {"my_own", "--my-own", hostile_value(random), 3, {"OPEN"}},
        {"data_path", "--data-path", hostile_value(random), 4, {"OPEN", "$(touch TOUCHED)"}}};
    like.environment = {{"NCCL_DEBUG", hostile_value(random)}, {"CUDA_X", hostile_value(random) + "${OPEN}"}};
    const ShellRun run = run_script(emitted(scenario, &like).text);
    EXPECT_FALSE(run.touched) << closed << "\n" << open;
    const auto save = std::find(run.words.begin(), run.words.end(), "--save");
    ASSERT_NE(save, run.words.end());
    EXPECT_EQ(*(save + 1), closed);  // to the letter, as nothing in it was a variable
  }
}

TEST(EmittedScripts, VariablesThatTheLaunchTookFromOutsideArePutIn) {
  Scenario scenario = emit_scenario("llama3-8b");
  ASSERT_TRUE(take_wishes(scenario, megatron_wishes()));
  Launch like;
  like.framework = find_framework("megatron-lm");
  like.where = "old.sh";
  like.arguments = {{"save", "--save", "${OPEN}/$OTHER/\"x\"", 1, {"OPEN"}}};
  const ShellRun run = run_script(emitted(scenario, &like).text);
  EXPECT_THAT(run.words, testing::Contains("put in/$OTHER/\"x\""));
}

/// Its reader knows no difference between YAML's references and a shell's variables.
TEST(EmittedScripts, ValuesOfYamlAreNoCommands) {
  const auto launch = read_launch_text("#!/bin/bash\nA='$(touch TOUCHED)'\ntorchrun pretrain_gpt.py --num-layers 32 "
                                       "--save \"$A${OPEN}\" --load \"$A\"\n",
      "run.sh", {});
  ASSERT_TRUE(launch) << to_text(launch.error());
  Scenario scenario = emit_scenario("llama3-8b");
  ASSERT_TRUE(take_wishes(scenario, megatron_wishes()));
  const ShellRun run = run_script(emitted(scenario, &*launch).text);
  EXPECT_FALSE(run.touched);
  EXPECT_THAT(run.words, testing::Contains("$(touch TOUCHED)"));
}

}  // namespace
}  // namespace stepcast::launch
