// stepcast schedule --from: every form of file, what single durations say beside stage means, and what is refused.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::schedule {
namespace {

using testing::HasSubstr;
using FromJson = nlohmann::json;

/// GPipe on two ranks, two micro-batches.
constexpr const char* from_order = R"({"micro_batches": 2, "rank_of": [0, 1],
  "ranks": [{"order": ["0F0", "0F1", "0B0", "0B1"]}, {"order": ["1F0", "1F1", "1B0", "1B1"]}])";
/// Rank 0: F 0-1, 1-4; rank 1: F 1-2, 4-5, B 5-6, 6-7; rank 0: B 6-7, 7-8.
/// Means: F 0-2, 2-4; F 2-3, 4-5; then the same.
constexpr const char* uneven_forwards = R"([{"forward": [1, 3], "input_grad": [1, 1], "weight_grad": [0, 0]},
                                   {"forward": [1, 1], "input_grad": [1, 1], "weight_grad": [0, 0]}])";
/// Rank 0: F 0-2, 2-6; rank 1: F 2-3, 6-11, B 11-12, 12-13; rank 0: B 12-13, 13-14.
/// Means of 3 and 3: F 0-3, 3-6; F 3-6, 6-9, B 9-10, 10-11; B 10-11, 11-12.
constexpr const char* slow_forwards = R"([{"forward": [2, 4], "input_grad": [1, 1], "weight_grad": [0, 0]},
                                 {"forward": [1, 5], "input_grad": [1, 1], "weight_grad": [0, 0]}])";

std::string with_durations(const std::string& more) { return std::string(from_order) + ", " + more + "}"; }

class ScheduleFrom : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing_program::own_path("schedule_from/");
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + name) << text;
    return folder_ + name;
  }
  static FromJson shown(const std::string& words) {
    const auto ran = testing_program::run_line("schedule " + words + " --json");
    EXPECT_EQ(ran.code, 0) << words << "\n" << ran.err;
    return ran.code == 0 ? FromJson::parse(ran.out) : FromJson{};
  }
  static std::string refusal(const std::string& words) {
    const auto ran = testing_program::run_line("schedule " + words);
    EXPECT_EQ(ran.code, 2) << words << "\n" << ran.out;
    return ran.err;
  }
  std::string folder_;
};

constexpr const char* one_each = " --forward 1 --input-grad 1 --weight-grad 1";

TEST_F(ScheduleFrom, AnOrderWithoutDurationsTakesThemFromFlags) {
  const std::string name = write("o.json", std::string(from_order) + "}");
  const auto json = shown("--from " + name + one_each);
  EXPECT_EQ(json.at("makespan"), 1 + 2 + 4 + 2);  // F, two F, two B of 2 each, B
  EXPECT_FALSE(json.contains("replay"));
  EXPECT_EQ(json.at("ranks")[1].at("order")[2], "1B0");
  EXPECT_THAT(refusal("--from " + name), HasSubstr("--forward: is missing: "));
  EXPECT_THAT(refusal("--from " + name), HasSubstr("o.json has an order without durations"));
  EXPECT_THAT(refusal("--from " + name + " --forward 1 --input-grad 1"), HasSubstr("--weight-grad: is missing"));
}

TEST_F(ScheduleFrom, DurationsOfAFileAreRunAndHeldAgainstTheirMeans) {
  const std::string name = write("o.json", with_durations(std::string("\"durations\": ") + slow_forwards));
  const auto json = shown("--from " + name);
  EXPECT_EQ(json.at("makespan"), 14);
  EXPECT_EQ(json.at("time_unit"), "abstract");
  const auto& replay = json.at("replay");
  EXPECT_EQ(replay.at("makespan"), 14);
  EXPECT_EQ(replay.at("makespan_of_stage_means"), 12);
  EXPECT_NEAR(replay.at("means_gap"), -2.0 / 14, 1e-12);
  EXPECT_THAT(replay.at("warning").get<std::string>(), HasSubstr("14.3 % shorter"));
  for (const char* absent : {"measured", "error", "tail", "step", "copies", "slowest_copy"})
    EXPECT_FALSE(replay.contains(absent)) << absent;
  EXPECT_EQ(shown("--from " + name + " --p2p 1").at("makespan"), 16);
  EXPECT_LE(json.at("lower_bound"), 14);
}

TEST_F(ScheduleFrom, WhereMeansSayTheSameNothingIsWarnedOf) {
  const std::string name = write("o.json", with_durations(std::string("\"durations\": ") + uneven_forwards));
  const auto json = shown("--from " + name);
  EXPECT_EQ(json.at("replay").at("makespan"), 8);
  EXPECT_EQ(json.at("replay").at("makespan_of_stage_means"), 8);
  EXPECT_FALSE(json.at("replay").contains("warning"));
}

TEST_F(ScheduleFrom, TheSlowestCopyIsShownAndTheStepIsHeldAgainstTheMeasuredOne) {
  const std::string copies = std::string(R"("copies": [{"durations": )") + uneven_forwards + R"(}, {"durations": )" +
                             slow_forwards + R"(}], "tail": 2, "measured": 20, "time_unit": "s")";
  const std::string name = write("o.json", with_durations(copies));
  const auto json = shown("--from " + name);
  EXPECT_EQ(json.at("makespan"), 14);
  EXPECT_EQ(json.at("time_unit"), "s");
  const auto& replay = json.at("replay");
  EXPECT_EQ(replay.at("copies"), 2);
  EXPECT_EQ(replay.at("slowest_copy"), 1);
  EXPECT_EQ(replay.at("step"), 16);
  EXPECT_EQ(replay.at("measured"), 20);
  EXPECT_NEAR(replay.at("error"), -0.2, 1e-12);
  // Means over both: F 2.5 and 2. F 0-2.5, 2.5-5; F 2.5-4.5, 5-7, B 7-8, 8-9; B 8-9, 9-10.
  EXPECT_EQ(replay.at("makespan_of_stage_means"), 10);
  const auto text = testing_program::run_line("schedule --from " + name);
  EXPECT_THAT(text.out, testing::StartsWith("o.json: 2 ranks"));
  EXPECT_THAT(text.out, HasSubstr("copy 1 is the slowest of 0 to 1"));
  EXPECT_THAT(text.out, HasSubstr("this is 20.00 % below it"));
  EXPECT_THAT(text.out, HasSubstr("warning: stage means make the step 28.6 % shorter"));
}

// One step of one of three public Megatron jobs (job ST, step 535; ByteDance-Seed/StragglerAnalysis 8efcd7f): eight
// GPUs, two copies of four stages. 1.2 ms is the median of a hop there.
TEST_F(ScheduleFrom, TheStepOfARealJobIsMetWithinTwoPercent) {
  const auto json = shown("--from " STEPCAST_SOURCE_DIR "/examples/measured_step.json --p2p 1.2ms");
  EXPECT_NEAR(json.at("replay").at("step").get<double>() / json.at("replay").at("measured").get<double>(), 1, 0.02);
  EXPECT_EQ(json.at("replay").at("copies"), 2);
}

// Milliseconds, on each rank's own clock. Rank 0: F 10 and 20 long, B 10 and 10; rank 1: all 10. The step took 62.
constexpr const char* from_rank_0 = R"({"fwd_start": [0, 10], "fwd_end": [10, 30], "bwd_start": [41, 52],
                                        "bwd_end": [51, 62]})";
constexpr const char* from_rank_1 = R"({"fwd_start": [0, 20], "fwd_end": [10, 30], "bwd_start": [10, 30],
                                        "bwd_end": [20, 40]})";

TEST_F(ScheduleFrom, AMeasuredTimelineIsReplayedInSeconds) {
  const std::string name =
      write("t.json", std::string(R"({"p": 2, "v": 1, "m": 2, "ranks": [)") + from_rank_0 + ", " + from_rank_1 + "]}");
  const auto json = shown("--from " + name);
  // 1F1B: rank 0 F 0-10, 10-30; rank 1 F 10-20, B 20-30, F 30-40, B 40-50; rank 0 B 30-40, 50-60.
  EXPECT_NEAR(json.at("makespan"), 0.060, 1e-12);
  EXPECT_EQ(json.at("time_unit"), "s");
  EXPECT_NEAR(json.at("replay").at("measured"), 0.062, 1e-12);
  EXPECT_NEAR(json.at("replay").at("error"), 60.0 / 62 - 1, 1e-9);
  EXPECT_NEAR(shown("--from " + name + " --p2p 1ms").at("makespan"), 0.062, 1e-12);
  EXPECT_THAT(refusal("--from " + name + " --p2p 1"), HasSubstr("--p2p: has no unit, but the durations of"));
  EXPECT_THAT(refusal("--from " + name + one_each), HasSubstr("t.json has the duration of every action"));
  EXPECT_THAT(refusal("--from " + name + " --iteration 3"), HasSubstr("does not go with a measured timeline"));
}

TEST_F(ScheduleFrom, AFolderOfPrimusIsReplayedAtOneIteration) {
  write("config.json", R"({"pp_size": 2, "vp_size": 1, "num_mbs": 2})");
  const auto rank = [](const std::string& text, const std::string& others) {
    return R"({"9": )" + text + R"(, "4": )" + text + others + "}";
  };
  write("pp_rank_0.json", rank(from_rank_0, std::string(R"(, "10": )") + from_rank_0));
  write("pp_rank_1.json", rank(from_rank_1, R"(, "10": {})"));
  const auto json = shown("--from " + folder_);
  EXPECT_NEAR(json.at("makespan"), 0.060, 1e-12);
  EXPECT_EQ(json.at("notes")[0], "iteration 9; all ranks have 4, 9");
  EXPECT_EQ(shown("--from " + folder_ + " --iteration 4").at("notes")[0], "iteration 4; all ranks have 4, 9");
  EXPECT_THAT(refusal("--from " + folder_ + " --iteration 10"), HasSubstr("10 is not there on all ranks"));
  EXPECT_THAT(refusal("--from " + folder_ + " --iteration 10"), HasSubstr("4, 9"));
  write("pp_rank_1.json", "{}");
  EXPECT_THAT(refusal("--from " + folder_), HasSubstr("the ranks have no iteration in common"));
  std::filesystem::remove(folder_ + "pp_rank_1.json");
  EXPECT_THAT(refusal("--from " + folder_), HasSubstr("pp_rank_1.json"));
  std::filesystem::remove(folder_ + "config.json");
  EXPECT_THAT(refusal("--from " + folder_), HasSubstr("a folder of Primus (config.json"));
}

TEST_F(ScheduleFrom, FilesOfNoKnownFormListTheForms) {
  for (const char* text : {"hello", "", "[1, 2]", R"({"layers": 3})"}) {
    const std::string message = refusal("--from " + write("x", text) + one_each);
    EXPECT_THAT(message, HasSubstr("no order that is known")) << text;
    EXPECT_THAT(message, HasSubstr("PyTorch's CSV")) << text;
    EXPECT_THAT(message, HasSubstr("a folder of Primus")) << text;
  }
  EXPECT_THAT(refusal("--from " + write("x", "{,") + one_each), HasSubstr("x:1:2"));
  EXPECT_THAT(refusal("--from " + folder_ + "none" + one_each), HasSubstr("none"));
}

TEST_F(ScheduleFrom, FlagsThatAFormDoesNotTakeAreRefused) {
  const std::string bare = write("o.json", std::string(from_order) + "}");
  const std::string full = write("d.json", with_durations(std::string("\"durations\": ") + slow_forwards));
  EXPECT_THAT(
      refusal("--from " + bare + one_each + " --csv-dialect older"), HasSubstr("--csv-dialect: does not go with"));
  EXPECT_THAT(refusal("--from " + bare + one_each + " --seq-splits 2"), HasSubstr("--seq-splits: does not go with"));
  EXPECT_THAT(refusal("--from " + full + " --forward 1"), HasSubstr("--forward"));
  EXPECT_THAT(refusal("--from " + full + " --p2p 1ms"), HasSubstr("--p2p: has a unit, but the durations"));
  EXPECT_THAT(refusal(std::string("gpipe --stages 2 --micro-batches 2 --iteration 1") + one_each),
      HasSubstr("--iteration: is about the file of --from"));
  const std::string idle = R"([{"forward": [0, 0], "input_grad": [0, 0], "weight_grad": [0, 0]},
                               {"forward": [0, 0], "input_grad": [0, 0], "weight_grad": [0, 0]}])";
  EXPECT_THAT(refusal("--from " + write("i.json", with_durations("\"durations\": " + idle))),
      HasSubstr("all work takes no time"));
}

TEST_F(ScheduleFrom, AWrittenOrderComesBackWithTheSameTimes) {
  const std::string size = " --stages 4 --micro-batches 8";
  const std::string name = folder_ + "order.json";
  for (const std::string& words :
      {"1f1b" + size + " --forward 10 --input-grad 12 --weight-grad 7", "zb-h1" + size + one_each,
          "zb-v" + size + " --forward 3ms --input-grad 3ms --weight-grad 1ms", "dualpipe" + size + one_each,
          "interleaved-1f1b --chunks 2" + size + one_each, "seq-1f1b --seq-splits 2" + size + one_each}) {
    const std::string hop = words.find("ms") != std::string::npos ? " --p2p 2ms" : " --p2p 2";
    const auto json = shown(words + hop + " --order " + name);
    const auto again = shown("--from " + name + hop);
    for (const char* same : {"makespan", "span", "time_unit", "p2p_messages", "weight_copies"})
      EXPECT_EQ(again.at(same), json.at(same)) << words << " " << same;
    EXPECT_EQ(again.at("ranks"), json.at("ranks")) << words;
    EXPECT_NEAR(again.at("replay").at("means_gap"), 0, 1e-12) << words;
  }
}

TEST_F(ScheduleFrom, ASlowRankIsInTheDurationsOfAWrittenOrder) {
  const std::string name = folder_ + "order.json";
  const std::string words = std::string("gpipe --stages 2 --micro-batches 3") + one_each;
  const auto json = shown(words + " --rank-speed 1,0.5 --order " + name);
  EXPECT_EQ(json.at("makespan"), 1 + 6 + 12 + 2);  // F; three F and B of the slow rank; B of the first
  EXPECT_EQ(shown("--from " + name).at("makespan"), 21);
}

TEST_F(ScheduleFrom, AnOrderIsWrittenWhereThatIsPossible) {
  const std::string words = std::string("gpipe --stages 2 --micro-batches 3") + one_each;
  EXPECT_THAT(refusal(words + " --order " + folder_ + "none/o.json"), HasSubstr("--order: "));
  EXPECT_THAT(refusal("--compare --stages 2 --micro-batches 2 --order " + folder_ + "o.json" + one_each),
      HasSubstr("--order: shows one schedule"));
}

}  // namespace
}  // namespace stepcast::schedule
