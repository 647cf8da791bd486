// stepcast dataflow --search through the public command.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::notation {
namespace {

using testing::HasSubstr;

std::string searched_file(const std::string& name, const std::string& text) {
  const std::string path = testing_program::own_path(name);
  std::ofstream(path) << text;
  return path;
}

const std::string kFree =
    "arch dram { glb cap:1 KiB { pe[4x4] { rf cap:32 B } } }\ndim m:16 n:16 k:16\np: O[m,n] += I[m,k] * W[k,n]\n";

TEST(DataflowSearch, TheMappingPastedBackHasTheSameFigures) {
  const std::string file = searched_file("search_free.flow", kFree);
  const auto ran = testing_program::run_line({"dataflow", file, "--search", "energy", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto found = nlohmann::json::parse(ran.out);
  EXPECT_TRUE(found["search"]["complete"]);
  EXPECT_EQ(found["search"]["lower_bound"], found["search"]["value"]);
  const std::string pasted = searched_file("search_pasted.flow", found["search"]["mapping"]);
  const auto again = testing_program::run_line({"dataflow", pasted, "--json"});
  ASSERT_EQ(again.code, 0) << again.err;
  const auto counted = nlohmann::json::parse(again.out);
  EXPECT_EQ(counted["levels"], found["levels"]);
  EXPECT_EQ(counted["energy_pj"], found["search"]["value"]);
}

TEST(DataflowSearch, LeastTimeFillsTheArray) {
  const std::string file = searched_file("search_time.flow", kFree);
  const auto ran = testing_program::run_line({"dataflow", file, "--search", "time", "--threads", "2", "--seed", "3"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("search for least time: 256 cycles; nothing better exists"));  // 16^3 over 16 units
  EXPECT_THAT(ran.out, HasSubstr("arch dram { glb cap:1 KiB { pe[4x4] { rf cap:32 B } } }"));
}

TEST(DataflowSearch, StatedLinesAndWrongOnes) {
  const std::string file = searched_file("search_stated.flow", kFree + "pe: par k:4 on x\nglb: for n:3\n");
  const auto ran = testing_program::run_line({"dataflow", file, "--search", "traffic"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr(":5:1"));
  EXPECT_THAT(ran.err, HasSubstr("'for n:3' at glb does not divide 16"));
}

TEST(DataflowSearch, WrongFlags) {
  const std::string file = searched_file("search_flags.flow", kFree);
  const auto objective = testing_program::run_line({"dataflow", file, "--search", "enegry"});
  EXPECT_EQ(objective.code, 2);
  EXPECT_THAT(objective.err, HasSubstr("did you mean 'energy'?"));
  const auto lonely = testing_program::run_line({"dataflow", file, "--budget", "10"});
  EXPECT_EQ(lonely.code, 2);
  EXPECT_THAT(lonely.err, HasSubstr("only means something with --search"));
  const auto no_arch = searched_file("search_no_arch.flow", "dim m:4\np: Y[m] = gelu X[m]\n");
  const auto bare = testing_program::run_line({"dataflow", no_arch, "--search", "time"});
  EXPECT_EQ(bare.code, 2);
  EXPECT_THAT(bare.err, HasSubstr("no arch to search on"));
}

}  // namespace
}  // namespace stepcast::notation
