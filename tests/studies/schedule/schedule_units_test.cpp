// stepcast schedule --times with a time for every micro-batch.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::schedule {
namespace {

using testing::HasSubstr;
using UnitsJson = nlohmann::json;

class ScheduleUnits : public testing::Test {
 protected:
  static std::string file(const std::string& text) {
    const std::string name = testing_program::own_path("schedule_units.json");
    std::ofstream(name) << text;
    return name;
  }
  static UnitsJson shown(const std::string& words) {
    const auto ran = testing_program::run_line("schedule " + words + " --json");
    EXPECT_EQ(ran.code, 0) << words << "\n" << ran.err;
    return ran.code == 0 ? UnitsJson::parse(ran.out) : UnitsJson{};
  }
};

/// Rank 0: F 0-2, 2-6; rank 1: F 2-3, 6-11, B 11-12, 12-13; rank 0: B 12-13, 13-14. Means of 3 and 3: 12.
constexpr const char* each_forward = R"({"forward": [[2, 4], [1, 5]], "input_grad": [1, 1], "weight_grad": [0, 0]})";

TEST_F(ScheduleUnits, AListOfAStageHasATimePerMicroBatch) {
  const auto json = shown("gpipe --stages 2 --micro-batches 2 --times " + file(each_forward));
  EXPECT_EQ(json.at("makespan"), 14);
  EXPECT_EQ(json.at("replay").at("makespan_of_stage_means"), 12);
  EXPECT_THAT(json.at("replay").at("warning").get<std::string>(), HasSubstr("14.3 % shorter"));
  const auto hops = shown("gpipe --stages 2 --micro-batches 2 --p2p 1 --times " + file(each_forward));
  EXPECT_EQ(hops.at("makespan"), 16);
}

TEST_F(ScheduleUnits, AStageMayHaveOneTimeForAllBesideAnotherWithItsOwn) {
  const auto json = shown("gpipe --stages 2 --micro-batches 2 --times " +
                          file(R"({"forward": ["2 ms", ["1 ms", "5 ms"]], "input_grad": ["1 ms", ["1 ms", "3 ms"]],
                                   "weight_grad": [0, 0]})"));
  // F 0-2, 2-4; F 2-3, 4-9, B 9-10, 10-13; B 10-11, 13-14.
  EXPECT_NEAR(json.at("makespan"), 0.014, 1e-12);
}

TEST_F(ScheduleUnits, KindsThatLookAtTimesLookAtTheMeans) {
  const auto even = shown("zb-1p --stages 2 --micro-batches 4 --times " +
                          file(R"({"forward": [2, 2], "input_grad": [2, 2], "weight_grad": [2, 2]})"));
  const auto each = shown("zb-1p --stages 2 --micro-batches 4 --times " +
                          file(R"({"forward": [[1, 3, 1, 3], 2], "input_grad": [2, 2], "weight_grad": [2, 2]})"));
  EXPECT_EQ(each.at("ranks")[0].at("order"), even.at("ranks")[0].at("order"));
  EXPECT_EQ(each.at("replay").at("makespan_of_stage_means"), even.at("makespan"));
  EXPECT_EQ(each.at("ranks")[0].at("busy"), 4 * 6);
}

TEST_F(ScheduleUnits, ASliceTakesItsPartAndTheSecondCopyReadsTheListsAgain) {
  const auto sliced = shown("seq-1f1b --stages 1 --micro-batches 2 --seq-splits 2 --times " +
                            file(R"({"forward": [[2, 4]], "input_grad": [2], "weight_grad": [2]})"));
  EXPECT_EQ(sliced.at("makespan"), 2 + 4 + 2 * 4);
  const auto both = shown("chimera --stages 2 --micro-batches 2 --times " +
                          file(R"({"forward": [[1, 10], [2, 20]], "input_grad": [1, 1], "weight_grad": [1, 1]})"));
  // Micro-batch 0 goes one way and takes 1 on rank 0; micro-batch 1 goes the other and takes 20 there, as its stage 1.
  EXPECT_EQ(both.at("ranks")[0].at("busy"), 1 + 20 + 4);
  EXPECT_EQ(both.at("ranks")[1].at("busy"), 2 + 10 + 4);
}

TEST_F(ScheduleUnits, AllKindsSideBySideSayWhatMeansWouldHide) {
  const std::string words = "--compare --stages 2 --micro-batches 2 --times " + file(each_forward);
  const auto report = shown(words);
  for (const auto& row : report.at("schedules")) EXPECT_TRUE(row.contains("replay")) << row.at("schedule");
  const auto text = testing_program::run_line("schedule " + words);
  EXPECT_THAT(text.out, HasSubstr("by stage means"));
  EXPECT_THAT(text.out, HasSubstr("warning: stage means make the step"));
  const auto plain = testing_program::run_line(
      "schedule --compare --stages 2 --micro-batches 2 --forward 1 --input-grad 1 --weight-grad 1");
  EXPECT_THAT(plain.out, testing::Not(HasSubstr("stage means")));
}

TEST_F(ScheduleUnits, AFileOfAnOrderGoesWithThem) {
  const std::string csv = testing_program::own_path("schedule_units.csv");
  std::ofstream(csv) << "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n";
  EXPECT_EQ(shown("--from " + csv + " --times " + file(each_forward)).at("makespan"), 14);
  const auto wrong = testing_program::run_line(
      "schedule --from " + csv + " --times " +
      file(R"({"forward": [[2, 4], [1, 5, 6]], "input_grad": [1, 1], "weight_grad": [0, 0]})"));
  EXPECT_THAT(wrong.err, HasSubstr("/forward/1: 3 times for 2 micro-batches"));
}

TEST_F(ScheduleUnits, WrongEntriesAreRefusedWithTheirPlace) {
  const auto refusal = [](const std::string& forward) {
    const auto ran = testing_program::run_line(
        "schedule gpipe --stages 2 --micro-batches 2 --times " +
        file(R"({"forward": )" + forward + R"(, "input_grad": [1, 1], "weight_grad": [1, 1]})"));
    EXPECT_EQ(ran.code, 2) << forward;
    return ran.err;
  };
  EXPECT_THAT(refusal("[[1, 1], [1]]"), HasSubstr("/forward/1: 1 times for 2 micro-batches"));
  EXPECT_THAT(refusal("[[1, 1], []]"), HasSubstr("/forward/1: the list is empty"));
  EXPECT_THAT(refusal("[[1, 1], [1, -2]]"), HasSubstr("/forward/1/1: -2 is a negative time"));
  EXPECT_THAT(refusal("[[1, 1], [1, \"1 ms\"]]"), HasSubstr("/forward/1/1: 1 ms has a unit"));
  EXPECT_THAT(refusal("[[1, 1], [1, [2]]]"), HasSubstr("/forward/1/1: found array"));
  EXPECT_THAT(refusal("[1, true]"), HasSubstr("/forward/1: found boolean"));
  EXPECT_THAT(refusal("7"), HasSubstr("/forward: found a number"));
}

}  // namespace
}  // namespace stepcast::schedule
