// What stands side by side in --compare is one model.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::schedule {
namespace {

using testing::HasSubstr;
using ComparedJson = nlohmann::json;

/// Eight times of 1 for each part.
std::string eight_ones() {
  const std::string file = testing_program::own_path("compared_times.json");
  const std::vector<int> ones(8, 1);
  std::ofstream(file) << ComparedJson{{"forward", ones}, {"input_grad", ones}, {"weight_grad", ones}}.dump();
  return file;
}

// Two stages of 3 on each of 4 ranks: 8 micro-batches take 48 at least. A copy of the model in DualPipe would have half
// as much work on each rank.
TEST(ScheduleCompare, TwoTimesPerRankAreChunksOfOneModel) {
  const std::string words = " --stages 4 --micro-batches 8 --json --times " + eight_ones();
  const auto ran = testing_program::run_line("schedule --compare" + words);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto compared = ComparedJson::parse(ran.out);
  EXPECT_GT(compared.at("schedules").size(), 4U);
  for (const auto& row : compared.at("schedules")) EXPECT_GE(row.at("makespan"), 48) << row.at("schedule");
  int named = 0;
  for (const auto& row : compared.at("refused")) {
    if (row.at("schedule") != "dualpipe" && row.at("schedule") != "chimera") continue;
    ++named;
    EXPECT_THAT(row.at("reason").get<std::string>(), HasSubstr("8 times are two chunks on each of 4 ranks here"));
  }
  EXPECT_EQ(named, 2);
  EXPECT_EQ(testing_program::run_line("schedule dualpipe" + words).code, 0);
}

/// What would need gigabytes is refused at once, and the size that the hint names is not.
TEST(ScheduleCompare, SizesBeyondTheMemoryAreRefusedWithOneThatWorks) {
  const std::string times = " --forward 1 --input-grad 1 --weight-grad 1";
  for (const char* words : {"--compare --stages 512 --micro-batches 4096", "1f1b --stages 4096 --micro-batches 8192",
           "gpipe --stages 1048576 --micro-batches 1048576", "--auto --stages 2048 --micro-batches 2048 --chunks 2",
           "interleaved-1f1b --stages 64 --micro-batches 65536 --chunks 16"}) {
    const auto ran = testing_program::run_line("schedule " + std::string(words) + times);
    EXPECT_EQ(ran.code, 2) << words;
    EXPECT_THAT(ran.err, HasSubstr("need gigabytes and minutes")) << words;
    EXPECT_THAT(ran.err, HasSubstr(" or less")) << words;
  }
}

}  // namespace
}  // namespace stepcast::schedule
