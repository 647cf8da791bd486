#include <fstream>
#include <set>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/catalog.h"
#include "studies/help.h"
#include "tests/studies/run_program.h"

namespace stepcast::studies {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_program::run_line;

TEST(ListCommand, EveryKindAsTextAndJson) {
  for (const char* kind : {"networks", "machines", "gpus", "profiles", "stacks", "schedules"}) {
    const auto text = run_line(std::string("list ") + kind);
    EXPECT_EQ(text.code, 0) << text.err;
    const json rows = json::parse(run_line(std::string("list ") + kind + " --json").out).at(kind);
    EXPECT_FALSE(rows.empty()) << kind;
    for (const json& row : rows) EXPECT_THAT(text.out, HasSubstr(row.at("id").get<std::string>()));
  }
}

TEST(ShowCommand, WhatItPrintsIsAFileThatWorks) {
  const std::string path = testing_program::own_path("stepcast_shown.json");
  const auto shown = [&](const std::string& what) {
    const auto ran = run_line("show " + what + " --json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::ofstream(path) << ran.out;
    return path;
  };
  EXPECT_EQ(run_line("predict " + shown("network llama3-8b") + " --gpus 8").code, 0);
  EXPECT_EQ(run_line("predict llama3-8b --machine " + shown("machine dgx-a100")).code, 0);
  EXPECT_EQ(run_line("predict llama3-8b --stack " + shown("stack megatron-core")).code, 0);
  EXPECT_EQ(run_line("predict llama3-8b --profile " + shown("profile h100-sxm")).code, 0);
  EXPECT_EQ(run_line("predict llama3-8b --profile " + shown("profile h100-sxm") + " --json").out.empty(), false);
}

TEST(ShowCommand, TextOfEveryRow) {
  for (const NetworkSpec& row : built_in().networks) {
    const auto ran = run_line("show network " + row.id);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(" parameters\n"));
  }
  for (const Machine& row : built_in().machines) EXPECT_EQ(run_line("show machine " + row.id).code, 0) << row.id;
  for (const Gpu& row : built_in().gpus) EXPECT_EQ(run_line("show gpu " + row.id).code, 0) << row.id;
  for (const Profile& row : built_in().profiles) EXPECT_EQ(run_line("show profile " + row.id).code, 0) << row.id;
  for (const Stack& row : built_in().stacks) EXPECT_EQ(run_line("show stack " + row.id).code, 0) << row.id;
  EXPECT_THAT(run_line("show schedule 1f1b").out, HasSubstr("arXiv 2006.09503"));
}

TEST(Help, EveryCommandsExamplesRun) {
  std::filesystem::current_path(STEPCAST_SOURCE_DIR);  // examples name files of the project
  for (const Command& command : commands()) {
    const auto help = run_line(std::string(command.name) + " --help");
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr("Usage: stepcast"));
    for (const std::string_view example : command.examples) {
      EXPECT_THAT(help.out, HasSubstr(std::string(example)));
      const auto ran = run_line(std::string(example.substr(std::string_view("stepcast ").size())));
      EXPECT_EQ(ran.code, 0) << example << "\n" << ran.err;
    }
  }
}

/// A command that takes flags of two others has no name twice: the second would say what the first means.
TEST(Help, NoFlagOfACommandStandsTwice) {
  for (const Command& command : commands()) {
    std::set<std::string_view> names;
    for (const Flag& flag : command.flags)
      for (const std::string_view name : {std::string_view(flag.name), std::string_view(flag.alias)})
        EXPECT_TRUE(name.empty() || names.insert(name).second) << command.name << " " << name;
  }
}

TEST(Help, ProgramHelpVersionAndNothing) {
  EXPECT_EQ(run_line("--help").code, 0);
  EXPECT_THAT(run_line("--help").out, HasSubstr("predict"));
  EXPECT_THAT(run_line("--version").out, testing::ContainsRegex("^stepcast [0-9.]+ \\(.*CUDA.*\\)\n$"));
  EXPECT_EQ(run_line(std::vector<std::string>{}).code, 2);
}

/// A stream that takes nothing, like a full disk.
class FullDisk : public std::streambuf {};

TEST(ExitCode, OneWhenTheOutputCannotBeWritten) {
  FullDisk disk;
  std::ostream out(&disk);
  std::ostringstream err;
  Console console{out, err, false, true};
  EXPECT_EQ(run_program({"list", "networks"}, console), 1);
  EXPECT_THAT(err.str(), HasSubstr("could not be written"));
}

}  // namespace
}  // namespace stepcast::studies
