// How hops and ranks behave: flags of the schedule command, by hand and against the lower bound.
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/schedule/schedule_table.h"
#include "studies/schedule/run.h"
#include "tests/studies/run_program.h"

namespace stepcast::schedule {
namespace {

using testing::HasSubstr;
using KnobJson = nlohmann::json;

KnobJson knob_json(const std::string& words) {
  const auto ran = testing_program::run_line("schedule " + words + " --json");
  EXPECT_EQ(ran.code, 0) << words << "\n" << ran.err;
  return ran.code == 0 ? KnobJson::parse(ran.out) : KnobJson{};
}

const std::string knob_times = " --forward 1 --input-grad 1 --weight-grad 1";

TEST(ScheduleKnobs, BlockingHopsHoldBothRanks) {
  // Two ranks, one micro-batch: 1, hop, 1 + 2, hop, 2. Rank 0 is held to send and to receive.
  const std::string words = "1f1b --stages 2 --micro-batches 1 --p2p 0.5" + knob_times;
  const auto free = knob_json(words), held = knob_json(words + " --p2p-mode blocking");
  EXPECT_EQ(free.at("makespan"), 7);
  EXPECT_EQ(held.at("makespan"), 7);
  EXPECT_EQ(free.at("p2p_mode"), "overlapped");
  EXPECT_EQ(held.at("p2p_mode"), "blocking");
  EXPECT_EQ(free.at("ranks")[0].at("hop_wait"), 0);
  EXPECT_EQ(held.at("ranks")[0].at("hop_wait"), 1);
  EXPECT_EQ(held.at("ranks")[1].at("hop_wait"), 0.5);  // its last send delays none of its actions
  // GPipe: forwards of rank 0 at 0, 1.5 and 3, for a send follows each; rank 1's third at 4.5, its backwards at 5.5, 8
  // and 10.5; the last gradient is there at 13. Overlapped: forwards at 1.5 to 4.5, backwards to 10.5, and 0.5 + 2.
  const std::string many = "gpipe --stages 2 --micro-batches 3 --p2p 0.5" + knob_times;
  EXPECT_EQ(knob_json(many + " --p2p-mode blocking").at("makespan"), 15);
  EXPECT_EQ(knob_json(many).at("makespan"), 13);
  EXPECT_EQ(knob_json(many).at("makespan"), knob_json(many + " --p2p-mode overlapped").at("makespan"));
}

TEST(ScheduleKnobs, ASlowRankTakesLonger) {
  // GPipe on two ranks; the second at half speed: 1, three forwards of 2, three backwards of 4, the first's last 2.
  const auto json = knob_json("gpipe --stages 2 --micro-batches 3 --rank-speed 1,0.5" + knob_times);
  EXPECT_EQ(json.at("makespan"), 1 + 6 + 12 + 2);
  EXPECT_EQ(json.at("ranks")[0].at("busy"), 9);
  EXPECT_EQ(json.at("ranks")[1].at("busy"), 18);
}

TEST(ScheduleKnobs, BlanksBesideCommasAreTaken) {
  const auto ran = testing_program::run_line({"schedule", "gpipe", "--stages", "2", "--micro-batches", "3", "--forward",
      "1", "--input-grad", "1", "--weight-grad", "1", "--rank-speed", "1, 0.5", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(KnobJson::parse(ran.out).at("makespan"), 21);
}

TEST(ScheduleKnobs, TheTextHasAColumnForHops) {
  const auto ran = testing_program::run_line("schedule 1f1b --stages 2 --micro-batches 3 --p2p 1"
                                             " --p2p-mode blocking" +
                                             knob_times);
  EXPECT_THAT(ran.out, HasSubstr("in hops"));
}

TEST(ScheduleKnobs, KindsThatGoByTimesKnowTheSpeeds) {
  // A rank of half the speed is a stage of twice the times.
  const std::string size = "--stages 4 --micro-batches 8";
  const std::string name = testing_program::own_path("knob_times.json");
  std::ofstream(name) << R"({"forward": [1, 1, 2, 1], "input_grad": [1, 1, 2, 1], "weight_grad": [1, 1, 2, 1]})";
  for (const std::string& how : {"zb-auto " + size + " --memory-cap 4", "--auto --chunks 1 " + size})
    EXPECT_EQ(knob_json(how + " --rank-speed 1,1,0.5,1" + knob_times).at("makespan"),
        knob_json(how + " --times " + name).at("makespan"))
        << how;
}

TEST(ScheduleKnobs, TheyGoWithFilesAndTheComparison) {
  const std::string name = testing_program::own_path("knob_order.csv");
  std::ofstream(name) << "0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1F1,1F2,1B0,1B1,1B2\n";
  EXPECT_EQ(knob_json("--from " + name + " --rank-speed 1,0.5" + knob_times).at("makespan"), 21);
  const auto wrong = testing_program::run_line("schedule --from " + name + " --rank-speed 1" + knob_times);
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--rank-speed: 1 speed for 2 ranks"));
  const auto all =
      knob_json("--compare --stages 2 --micro-batches 4 --rank-speed 1,0.5 --p2p-mode blocking" + knob_times);
  EXPECT_FALSE(all.at("schedules").empty());
  for (const auto& row : all.at("schedules")) EXPECT_EQ(row.at("p2p_mode"), "blocking");
}

TEST(ScheduleKnobs, TheComparisonHoldsAllKindsToTheSameMemory) {
  const std::string words = "--compare --stages 4 --micro-batches 8" + knob_times;
  bool v = false;
  const auto four = knob_json(words + " --memory-cap 4");
  for (const auto& row : four.at("schedules")) {
    EXPECT_LE(row.at("peak_micro_batches"), 4) << row.at("schedule");
    v = v || row.at("schedule") == "zb-v";
  }
  EXPECT_TRUE(v);  // holds 8 halves
  // 8 chunks of half a rank are the same.
  EXPECT_EQ(knob_json(words + " --memory-cap 8 --chunks 2").at("schedules"), four.at("schedules"));
  const auto ran = testing_program::run_line("schedule " + words + " --memory-cap 3");
  EXPECT_THAT(ran.out, HasSubstr("zb-v: --memory-cap: zb-v holds 8 activations on rank 0, above 6"
                                 " (--memory-cap 4 or more"));
}

/// Any kind, size and times, hops of both modes, ranks of any speed.
std::optional<ScheduleRun> drawn_run(std::mt19937& random) {
  const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  const auto kinds = schedule_kinds();
  const ScheduleKind& kind = kinds[random() % kinds.size()];
  ScheduleRequest request;
  request.size = {.ranks = 1 + up_to(5),
      .chunks = kind.takes_chunks ? 1 + up_to(2) : 1,
      .micro_batches = 1 + up_to(15),
      .slices = kind.takes_slices ? 1 + up_to(2) : 1};
  request.forward = 1 + up_to(9), request.input_grad = 1 + up_to(9), request.weight_grad = up_to(9);
  request.hop = up_to(4);
  request.blocking_hops = up_to(1) == 0;
  for (int r = 0; r < request.size.ranks; ++r) request.rank_slowdown.push_back(1 / (0.5 + 0.1 * up_to(10)));
  if (auto run = run_schedule(kind.id, request)) return std::move(*run);
  return {};
}

TEST(ScheduleKnobs, NoRunIsBelowItsBounds) {
  std::mt19937 random(7);
  int blocking = 0, overlapped = 0;
  for (int i = 0; i < 2500; ++i) {
    const auto run = drawn_run(random);
    if (!run) continue;
    ++(run->blocking_hops ? blocking : overlapped);
    EXPECT_GE(run->gap_to_bound(), -1e-9) << run->id;
    EXPECT_GE(run->gap(), -1e-9) << run->id;
    EXPECT_LE(run->lower_bound, run->lower_bound_at_peak_memory * (1 + 1e-9)) << run->id;
  }
  EXPECT_GT(blocking, 500);
  EXPECT_GT(overlapped, 500);
}

struct RefusedKnob {
  const char *words, *reason;
};
constexpr RefusedKnob refused_knobs[] = {
    {"--p2p-mode blockin", "did you mean 'blocking'?"},
    {"--rank-speed 1,1", "2 speeds for 4 ranks"},
    {"--rank-speed 1,1,,1", "'' is no speed"},
    {"--rank-speed 1,1,0,1", "'0' is no speed"},
    {"--rank-speed 1,1,-1,1", "'-1' is no speed"},
    {"--rank-speed 1,1,inf,1", "'inf' is no speed"},
    {"--rank-speed 1,1,fast,1", "'fast' is no speed"},
    {"--rank-speed 1,1,1,1,", "'' is no speed"},
};

TEST(ScheduleKnobs, RefusedWithTheReason) {
  for (const RefusedKnob& row : refused_knobs) {
    const auto ran =
        testing_program::run_line("schedule 1f1b --stages 4 --micro-batches 8 " + std::string(row.words) + knob_times);
    EXPECT_EQ(ran.code, 2) << row.words;
    EXPECT_THAT(ran.err, HasSubstr(row.reason)) << row.words;
  }
}

}  // namespace
}  // namespace stepcast::schedule
