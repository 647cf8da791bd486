// The schedule command's figures, by hand on small pipelines, and what it refuses.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::schedule {
namespace {

using testing::HasSubstr;
using ScheduleRecord = nlohmann::json;

constexpr const char* unit_times = " --forward 1 --input-grad 1 --weight-grad 1";

ScheduleRecord scheduled(const std::string& words) {
  const auto ran = testing_program::run_line("schedule " + words + " --json");
  EXPECT_EQ(ran.code, 0) << words << "\n" << ran.err;
  return ran.code == 0 ? ScheduleRecord::parse(ran.out) : ScheduleRecord{};
}

ScheduleRecord of_ranks(const ScheduleRecord& json, const char* key) {
  ScheduleRecord values = ScheduleRecord::array();
  for (const auto& rank : json.at("ranks")) values.push_back(rank.at(key));
  return values;
}

TEST(ScheduleCommand, OneForwardOneBackwardByHand) {
  const auto json = scheduled(std::string("1f1b --stages 4 --micro-batches 8") + unit_times);
  EXPECT_EQ(json.at("makespan"), 33);  // (m + p - 1) (F + I + W)
  EXPECT_EQ(json.at("span"), 33);
  EXPECT_NEAR(json.at("bubble_fraction"), 9.0 / 33, 1e-12);  // 24 of 33 busy
  EXPECT_NEAR(json.at("bubble_fraction_span"), 9.0 / 33, 1e-12);
  EXPECT_EQ(json.at("p2p_messages"), 48);  // 8 each way over 3 hops
  EXPECT_EQ(json.at("weight_copies"), 1);
  EXPECT_EQ(json.at("lower_bound"), 27);  // the last rank waits 3 F, and then the first needs 24 of work
  EXPECT_LE(json.at("lower_bound"), json.at("lower_bound_at_peak_memory"));
  EXPECT_LE(json.at("lower_bound_at_peak_memory"), json.at("makespan"));
  EXPECT_EQ(of_ranks(json, "peak_activations"), (ScheduleRecord{4, 3, 2, 1}));
  EXPECT_EQ(of_ranks(json, "peak_activations_freed_at_input_grad"), (ScheduleRecord{4, 3, 2, 1}));
  EXPECT_EQ(of_ranks(json, "peak_pending_weight_grads"), (ScheduleRecord{0, 0, 0, 0}));
  EXPECT_EQ(of_ranks(json, "busy"), (ScheduleRecord{24, 24, 24, 24}));
  EXPECT_EQ(of_ranks(json, "start"), (ScheduleRecord{0, 1, 2, 3}));
  EXPECT_EQ(of_ranks(json, "end"), (ScheduleRecord{33, 31, 29, 27}));
  const auto& last = json.at("ranks")[3].at("order");
  EXPECT_EQ(last[0], "3F0");
  EXPECT_EQ(last[1], "3B0");
  EXPECT_EQ(last.size(), 16U);
}

TEST(ScheduleCommand, SplittingTheBackwardSavesAWeightGradientPerHop) {
  const auto json = scheduled(std::string("zb-h1 --stages 4 --micro-batches 8") + unit_times);
  EXPECT_EQ(json.at("makespan"), 27);  // 8 x 3 + 3 (F + I - W)
  EXPECT_EQ(of_ranks(json, "peak_activations"), (ScheduleRecord{4, 4, 4, 4}));
  EXPECT_EQ(json.at("ranks")[0].at("order").size(), 24U);
}

TEST(ScheduleCommand, HopsDelayAndOccupyNobody) {
  // 1F1B with hops of 1: 33 + 1 x (2 x 3 (1 + 7 / 4) + 2 (7 mod 4 - 1)), divisions whole.
  const auto json = scheduled(std::string("1f1b --stages 4 --micro-batches 8 --p2p 1") + unit_times);
  EXPECT_EQ(json.at("makespan"), 33 + 12 + 4);
  EXPECT_EQ(of_ranks(json, "busy"), (ScheduleRecord{24, 24, 24, 24}));
}

TEST(ScheduleCommand, AVKindHasTwoChunksWithoutBeingTold) {
  const auto json = scheduled(std::string("zb-v --stages 4 --micro-batches 8") + unit_times);
  EXPECT_EQ(json.at("span"), 24);          // no bubble
  EXPECT_EQ(json.at("makespan"), 25.5);    // the last rank starts 3 chunks of F = 1/2 late
  EXPECT_EQ(json.at("p2p_messages"), 96);  // the V turns on one rank: 6 hops each way
  EXPECT_EQ(of_ranks(json, "peak_activations"), (ScheduleRecord{8, 8, 8, 8}));
  EXPECT_EQ(json.at("ranks")[0].at("order").size(), 48U);
}

TEST(ScheduleCommand, DualPipeCountsBothDirections) {
  const std::string size = "dualpipe --stages 4 --micro-batches 8";
  const auto json = scheduled(size + unit_times);
  EXPECT_EQ(json.at("makespan"), 26);  // 8 x 3 + (p/2 - 1) (3 + 2 - 3)
  EXPECT_EQ(json.at("weight_copies"), 2);
  EXPECT_EQ(json.at("p2p_messages"), 48);
  EXPECT_EQ(of_ranks(json, "busy"), (ScheduleRecord{24, 24, 24, 24}));
  EXPECT_EQ(of_ranks(json, "peak_activations"), (ScheduleRecord{5, 5, 5, 5}));
  EXPECT_EQ(json.at("ranks")[0].at("order")[7], "(0F3;7B5)OVERLAP_F_B");
  const auto faster = scheduled(size + unit_times + " --overlap-factor 0.5");
  EXPECT_LT(faster.at("makespan"), json.at("makespan"));
  EXPECT_EQ(faster.at("ranks")[0].at("busy"), 24 - 3 * 1.5);  // three pairs of 3
}

/// A factor of pairs moves the bound of a kind that has none: it is refused, and --compare leaves it to those with
/// pairs.
TEST(ScheduleCommand, AFactorOfPairsIsOfKindsWithPairs) {
  int paired = 0, others = 0;
  const std::string size = " --stages 4 --micro-batches 8" + std::string(unit_times);
  const auto plain = scheduled("--compare" + size), faster = scheduled("--compare" + size + " --overlap-factor 0.8");
  for (const auto& row : plain.at("schedules")) {
    const std::string id = row.at("schedule");
    const auto ran = testing_program::run_line("schedule " + id + size + " --overlap-factor 0.8");
    const auto alone = testing_program::run_line("schedule " + id + size + " --csv");
    if (alone.code != 0) continue;  // it needs chunks or slices, and --compare gives them
    if (alone.out.find("OVERLAP_F_B") != std::string::npos) {
      EXPECT_EQ(ran.code, 0) << id << ran.err;
      ++paired;
      continue;
    }
    EXPECT_EQ(ran.code, 2) << id;
    EXPECT_THAT(ran.err, HasSubstr("--overlap-factor: no forward and backward are fused")) << id;
    for (const auto& other : faster.at("schedules"))
      if (other.at("schedule") == id) EXPECT_EQ(other, row) << id;
    ++others;
  }
  EXPECT_GT(paired, 0);
  EXPECT_GT(others, 5);
}

TEST(ScheduleCommand, SlicesAndChunksTakeTheirPart) {
  // Seq1F1B: (m n + p - 1) units of 3/2.
  EXPECT_EQ(
      scheduled(std::string("seq-1f1b --stages 4 --micro-batches 8 --seq-splits 2") + unit_times).at("makespan"), 28.5);
  // Interleaved: (m + (p - 1) / v) x 3.
  EXPECT_EQ(
      scheduled(std::string("interleaved-1f1b --stages 4 --micro-batches 8 --chunks 2") + unit_times).at("makespan"),
      28.5);
}

TEST(ScheduleCommand, UnitsGiveSeconds) {
  const auto json =
      scheduled("1f1b --stages 4 --micro-batches 8 --forward 10ms --input-grad 10ms --weight-grad 10ms --p2p 0");
  EXPECT_NEAR(json.at("makespan"), 0.33, 1e-12);
  EXPECT_EQ(json.at("time_unit"), "s");
}

class ScheduleTimes : public testing::Test {
 protected:
  std::string file(const std::string& text) {
    const std::string name = testing_program::own_path("schedule_times.json");
    std::ofstream(name) << text;
    return name;
  }
};

TEST_F(ScheduleTimes, ListsAreOnePerVirtualStage) {
  const std::string name = file(R"({"forward": [1, 3], "input_grad": [1, 1], "weight_grad": [1, 1]})");
  // GPipe on two ranks: 1, then three forwards of 3 on the second rank, its backwards 2 each, the first's last 2.
  const auto json = scheduled("gpipe --stages 2 --micro-batches 3 --times " + name);
  EXPECT_EQ(json.at("makespan"), 1 + 9 + 6 + 2);
  EXPECT_EQ(of_ranks(json, "busy"), (ScheduleRecord{9, 15}));
}

TEST_F(ScheduleTimes, BothDirectionsShareAListOfOneCopy) {
  const std::string name =
      file(R"({"forward": [1, 2, 3, 4], "input_grad": [1, 1, 1, 1], "weight_grad": [1, 1, 1, 1]})");
  const auto json = scheduled("dualpipe --stages 4 --micro-batches 8 --times " + name);
  // Half of the micro-batches pass stage r on a rank, half stage 3 - r: 4 (1 + 4) or 4 (2 + 3), and 16 of backward.
  EXPECT_EQ(of_ranks(json, "busy"), (ScheduleRecord{36, 36, 36, 36}));
}

TEST_F(ScheduleTimes, TextWithUnitsIsTaken) {
  const std::string name =
      file(R"({"forward": ["1 ms", "1 ms"], "input_grad": ["1 ms", "1 ms"], "weight_grad": ["1 ms", "1 ms"]})");
  EXPECT_NEAR(scheduled("gpipe --stages 2 --micro-batches 3 --times " + name).at("makespan"), 0.012, 1e-12);
  const auto mixed = testing_program::run_line("schedule gpipe --stages 2 --micro-batches 3 --p2p 1 --times " + name);
  EXPECT_EQ(mixed.code, 2);
  EXPECT_THAT(mixed.err, HasSubstr("--p2p"));
  EXPECT_THAT(mixed.err, HasSubstr("has no unit"));
}

TEST_F(ScheduleTimes, WrongListsAreRefused) {
  const std::string size = "schedule gpipe --stages 2 --micro-batches 3 --times ";
  const auto refusal = [&](const std::string& text) {
    const auto ran = testing_program::run_line(size + file(text));
    EXPECT_EQ(ran.code, 2) << text;
    return ran.err;
  };
  EXPECT_THAT(refusal(R"({"forward": [1, 1], "input_grad": [1, 1], "weight_grad": [1]})"),
      HasSubstr("1 times for the 2 virtual stages of gpipe"));
  EXPECT_THAT(refusal(R"({"forward": [1, 1], "input_grad": [1, 1]})"), HasSubstr("weight_grad"));
  EXPECT_THAT(refusal(R"({"forward": [1, -1], "input_grad": [1, 1], "weight_grad": [1, 1]})"),
      HasSubstr("/forward/1: -1 is a negative time"));
  EXPECT_THAT(
      refusal(R"({"forward": [1, 1], "input_grad": [1, 1], "weight_grad": [1, 1], "wgrad": 1})"), HasSubstr("wgrad"));
  const auto both = testing_program::run_line(
      size + file(R"({"forward": [1, 1], "input_grad": [1, 1], "weight_grad": [1, 1]})") + " --forward 1");
  EXPECT_THAT(both.err, HasSubstr("does not go with --times"));
}

struct RefusedWords {
  const char *words, *reason;
};
constexpr RefusedWords refused_words[] = {
    {"zbh1 --stages 4 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1", "did you mean 'zb-h1'?"},
    {"--stages 4 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1", "KIND is missing"},
    {"1f1b --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1", "--stages: is missing"},
    {"1f1b --stages 4 --micro-batches 8 --forward 1 --input-grad 1", "--weight-grad: is missing"},
    {"1f1b --stages 0 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1", "--stages: 0 is out of range"},
    {"dualpipe --stages 3 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1", "--stages 2 or 4"},
    {"interleaved-1f1b --stages 4 --micro-batches 6 --chunks 2 --forward 1 --input-grad 1 --weight-grad 1",
        "--micro-batches: interleaved-1f1b"},
    {"1f1b --stages 4 --micro-batches 8 --chunks 2 --forward 1 --input-grad 1 --weight-grad 1", "--chunks 1, or"},
    {"zb-v --stages 4 --micro-batches 8 --chunks 3 --forward 1 --input-grad 1 --weight-grad 1", "--chunks: "},
    {"1f1b --stages 4 --micro-batches 8 --seq-splits 2 --forward 1 --input-grad 1 --weight-grad 1",
        "--seq-splits 1, or"},
    {"1f1b --stages 4 --micro-batches 8 --forward -1 --input-grad 1 --weight-grad 1", "-1 is a negative time"},
    {"1f1b --stages 4 --micro-batches 8 --forward -1ms --input-grad 1ms --weight-grad 1ms", "-1ms is a negative time"},
    {"1f1b --stages 4 --micro-batches 8 --forward 1ms --input-grad 1 --weight-grad 1ms", "--input-grad: 1 has no unit"},
    {"1f1b --stages 4 --micro-batches 8 --forward nan --input-grad 1 --weight-grad 1", "nan is no time"},
    {"1f1b --stages 4 --micro-batches 8 --forward 0 --input-grad 0 --weight-grad 0", "all work takes no time"},
    {"1f1b --stages 4 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1 --overlap-factor 0", "no factor"},
    {"1f1b --stages 4 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1 --overlap-factor 0.4", "from 0.5"},
    {"1f1b --stages 4 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1 --memory-cap 3",
        "--memory-cap 4 or more"},
    {"1f1b --stages 4 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1 --csv --json", "--csv"},
    {"1f1b --compare --stages 4 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1", "--compare"},
    {"--compare --stages 4 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1 --csv", "--csv"},
};

TEST(ScheduleCommand, RefusesWithTheReason) {
  for (const RefusedWords& row : refused_words) {
    const auto ran = testing_program::run_line(std::string("schedule ") + row.words);
    EXPECT_EQ(ran.code, 2) << row.words;
    EXPECT_THAT(ran.err, HasSubstr(row.reason)) << row.words;
    EXPECT_EQ(ran.out, "");
  }
}

}  // namespace
}  // namespace stepcast::schedule
