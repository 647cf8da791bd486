// What --explain prints as the mapping is a mapping: given back with --mapping it is the same run.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::predict {
namespace {

using ExplainedJson = nlohmann::json;

TEST(ExpandedMapping, IsTakenBackForEveryKindOfNetwork) {
  const char* const splits[] = {"--tp 2 --pp 2", "--tp 4 --sp on --zero 3", "--cp 2 --zero 1"};
  int taken = 0;
  for (const char* network : {"llama2-7b", "gpt3-6.7b", "mixtral-8x7b", "deepseek-v2-lite"})
    for (const char* split : splits) {
      const std::string run = std::string("predict ") + network + " --machine dgx-h100 --gpus 16 --global-batch 64";
      const auto first = testing_program::run_line(run + " --explain --json " + split);
      if (first.code != 0) continue;  // a split that the network refuses
      const auto told = ExplainedJson::parse(first.out);
      const std::string file = testing_program::own_path("given_back.flow");
      std::ofstream(file) << told.at("explanation").at("mapping").get<std::string>();
      const auto again = testing_program::run_line(run + " --json --mapping " + file);
      EXPECT_EQ(again.code, 0) << network << ' ' << split << '\n' << again.err;
      ++taken;
    }
  EXPECT_GE(taken, 6);
}

}  // namespace
}  // namespace stepcast::predict
