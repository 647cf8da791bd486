// Measured timelines: sizes from config.json, operations from starts and ends, order and durations into a replay.
#include "sim/schedule/files/primus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::primus_test {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::StartsWith;

// Two ranks, two micro-batches. Rank 0 by its own clock, from 100 ms: F 100-110, 110-120, B 150-170, 190-210.
// Rank 1 by its own, from 0: F 0-20, B 20-40, F 40-60, B 60-80.
constexpr const char* rank_0 = R"({"total": 120, "memory": 9, "fwd_start": [100, 110], "fwd_end": [110, 120],
  "bwd_start": [150, 190], "bwd_end": [170, 210]})";
constexpr const char* rank_1 = R"({"total": 80, "memory": 8, "fwd_start": [0, 40], "fwd_end": [20, 60],
  "bwd_start": [20, 60], "bwd_end": [40, 80]})";

std::string one_file(const std::string& first, const std::string& second, int v = 1, int m = 2) {
  return R"({"name": "x", "p": 2, "v": )" + std::to_string(v) + R"(, "m": )" + std::to_string(m) + R"(, "ranks": [)" +
         first + ", " + second + "]}";
}

std::string altered_rank(const char* rank, const std::string& from, const std::string& to) {
  std::string text = rank;
  return text.replace(text.find(from), from.size(), to);
}

std::string refused_timeline(const std::string& text) {
  const auto timeline = read_measured_timeline(text, "t.json");
  return timeline ? "read" : to_text(timeline.error());
}

TEST(Primus, OrderAndDurationsComeFromStartsAndEnds) {
  const auto timeline = read_measured_timeline(one_file(rank_0, rank_1), "t.json");
  ASSERT_TRUE(timeline) << to_text(timeline.error());
  EXPECT_EQ(pipelines::strings_of(timeline->timed.order, 0), "0F0 0F1 0B0 0B1");
  EXPECT_EQ(pipelines::strings_of(timeline->timed.order, 1), "1F0 1B0 1F1 1B1");
  EXPECT_THAT(timeline->timed.times.forward[0].value(), DoubleNear(0.010, 1e-12));
  EXPECT_THAT(timeline->timed.times.input_grad_each[3], DoubleNear(0.020, 1e-12));
  EXPECT_THAT(timeline->measured.value(), DoubleNear(0.110, 1e-12));
  // F 10, then 4 x 20 ms on rank 1, then B 20 on rank 0: all of the measured 110 ms.
  EXPECT_THAT(replay(timeline->timed)->single.makespan.value(), DoubleNear(0.110, 1e-12));
}

TEST(Primus, FilesPerRankGiveTheSame) {
  const auto size = read_primus_config(R"({"world_size": 2, "pp_size": 2, "vp_size": 1, "num_mbs": 2})", "config.json");
  ASSERT_TRUE(size) << to_text(size.error());
  const auto file = [](const char* rank) { return R"({"4": {}, "5": )" + std::string(rank) + "}"; };
  const std::vector<PrimusRank> ranks = {read_primus_rank(file(rank_0), "pp_rank_0.json", 5).value(),
      read_primus_rank(file(rank_1), "pp_rank_1.json", 5).value()};
  const auto timeline = primus_timeline(*size, ranks);
  ASSERT_TRUE(timeline) << to_text(timeline.error());
  EXPECT_THAT(timeline->measured.value(), DoubleNear(0.110, 1e-12));
  const auto absent = read_primus_rank(file(rank_0), "pp_rank_0.json", 7);
  ASSERT_FALSE(absent);
  EXPECT_EQ(to_text(absent.error()), "pp_rank_0.json: iteration 7 is not there (4 to 5)");
}

TEST(Primus, NewerFilesUseOtherNamesForSizes) {
  const auto size = read_primus_config(R"({"pp_size": 4, "vpp_size": 2, "micro_batches": 8})", "config.json");
  ASSERT_TRUE(size) << to_text(size.error());
  EXPECT_EQ(size->chunks, 2);
  EXPECT_EQ(size->micro_batches, 8);
}

TEST(Primus, SplitBackwardIsInputAndWeightGradient) {
  const std::string split = altered_rank(rank_1, R"("bwd_start": [20, 60], "bwd_end": [40, 80])",
      R"("bwd_start": [20, 60], "bwd_end": [30, 70],
                                            "wgrad_start": [30, 70], "wgrad_end": [40, 80])");
  const auto timeline = read_measured_timeline(one_file(rank_0, split), "t.json");
  ASSERT_TRUE(timeline) << to_text(timeline.error());
  EXPECT_EQ(pipelines::strings_of(timeline->timed.order, 1), "1F0 1I0 1W0 1F1 1I1 1W1");
  EXPECT_THAT(timeline->timed.times.weight_grad[1].value(), DoubleNear(0.010, 1e-12));
}

TEST(Primus, ChunksFollowMegatronsTableUnlessTheFileNamesThem) {
  // Two ranks, two chunks, two micro-batches; four forwards, then four backwards, 10 ms each.
  const std::string lanes = R"({"fwd_start": [0, 10, 20, 30], "fwd_end": [10, 20, 30, 40],
                                "bwd_start": [40, 50, 60, 70], "bwd_end": [50, 60, 70, 80])";
  const auto table = read_measured_timeline(one_file(lanes + "}", lanes + "}", 2), "t.json");
  ASSERT_TRUE(table) << to_text(table.error());
  EXPECT_EQ(pipelines::strings_of(table->timed.order, 1), "1F0 1F1 3F0 3F1 3B0 3B1 1B0 1B1");
  const std::string names = R"(, "fwd_minibatch": [0, 0, 1, 1], "fwd_chunk": [0, 1, 0, 1],
                                "bwd_minibatch": [0, 0, 1, 1], "bwd_chunk": [1, 0, 1, 0]})";
  const auto named = read_measured_timeline(one_file(lanes + names, lanes + names, 2), "t.json");
  ASSERT_TRUE(named) << to_text(named.error());
  EXPECT_EQ(pipelines::strings_of(named->timed.order, 1), "1F0 3F0 1F1 3F1 3B0 1B0 3B1 1B1");
}

TEST(Primus, TimelinesThatAreNotAStepAreRefused) {
  const auto with = [](const std::string& from, const std::string& to) {
    return refused_timeline(one_file(rank_0, altered_rank(rank_1, from, to)));
  };
  EXPECT_THAT(with("[0, 40]", "[0]"), StartsWith("t.json:/ranks/1: 1 starts and 2 ends of forward (2 of each"));
  EXPECT_THAT(with("\"fwd_end\": [20, 60]", "\"fwd_end\": [20, 39]"),
      HasSubstr("forward 1 ends at 39 ms, before its start at 40 ms"));
  EXPECT_THAT(with("\"bwd_start\": [20, 60]", "\"bwd_start\": [20, 30]"), HasSubstr("B(s=1, mb=1) comes too early"));
  EXPECT_THAT(
      with("\"total\"", "\"fwd_minibatch\": [0, 5], \"total\""), HasSubstr("F(s=1, mb=5) is outside of the step"));
  EXPECT_THAT(
      with("\"total\"", "\"fwd_chunk\": [0], \"total\""), HasSubstr("not every forward has its micro-batch and chunk"));
  EXPECT_THAT(refused_timeline(one_file(rank_0, rank_1, 2, 1)), HasSubstr("group"));
  EXPECT_THAT(refused_timeline(R"({"p": 2, "v": 1, "m": 1, "ranks": []})"), HasSubstr("0 ranks are there"));
  EXPECT_THAT(refused_timeline(one_file("{}", rank_1)), HasSubstr("t.json:/ranks/0"));
}

}  // namespace
}  // namespace stepcast::sim::primus_test
