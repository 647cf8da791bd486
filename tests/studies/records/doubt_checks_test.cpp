// Checks name what contradicts itself or its group, in lists that nobody knows by name.
#include "studies/records/doubt_checks.h"

#include <gtest/gtest.h>

namespace stepcast::records {
namespace {

CheckedRun checked(const char* id, double seconds, double forecast, std::int64_t micro_batch = 1) {
  return {id, "network, software, GPU", id, micro_batch, seconds, forecast, 4e14, 1e15};
}

TEST(DoubtChecks, ARateAboveTheChipsIsNoMeasurement) {
  CheckedRun fast = checked("fast", 1, 2.5);
  fast.flops_per_s = 1.2e15;
  EXPECT_EQ(doubts_found({fast}).at("fast"), "its time means 1200 TFLOP/s on each GPU, which has 1000");
  fast.peak_flops_per_s = 0;  // not known: nothing to say
  EXPECT_TRUE(doubts_found({fast}).empty());
}

TEST(DoubtChecks, ASplitThatIsNotStatedIsNoneToJudgeBy) {
  CheckedRun run = checked("x", 10, 10);
  run.untold = "over how many ranks its experts are split (parallel/ep)";
  EXPECT_EQ(doubts_found({run}).at("x"), "does not say over how many ranks its experts are split (parallel/ep)");
  run.untold.clear();
  EXPECT_TRUE(doubts_found({run}).empty());
}

TEST(DoubtChecks, ATimeThatItsOwnTokensDenyIsNoMeasurement) {
  CheckedRun run = checked("x", 2, 2);
  run.seconds_by_tokens = 2.08;  // 2 / 2.08 = -3.8 %
  EXPECT_TRUE(doubts_found({run}).empty());
  run.seconds_by_tokens = 1;
  EXPECT_EQ(doubts_found({run}).at("x"), "says 2 s, and its tokens per second mean 1 s");
}

TEST(DoubtChecks, ARepeatedFigureIsNoSecondMeasurement) {
  std::vector<CheckedRun> runs = {checked("a", 12.34, 12), checked("b", 12.34, 12), checked("c", 12.35, 12)};
  EXPECT_TRUE(doubts_found(runs).empty()) << "other sizes may take as long";
  for (CheckedRun& run : runs) run.sizes = "8 GPUs";
  const auto found = doubts_found(runs);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found.at("b").find("12.34 s of a"), std::string::npos);
  runs[0].seconds = runs[1].seconds = 12.3;
  EXPECT_TRUE(doubts_found(runs).empty()) << "three digits may agree";
}

TEST(DoubtChecks, OneThatContradictsItsGroupIsNamed) {
  // Measured over forecast 1.01, 1.02, 1.00, 1.01 and 1.50: the middle is 1.01, 1.50 / 1.01 = +49 %.
  std::vector<CheckedRun> runs = {checked("a", 10.1, 10), checked("b", 10.2, 10), checked("c", 10, 10),
      checked("d", 5.05, 5), checked("e", 15, 10)};
  const auto found = doubts_found(runs);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.at("e"), "measured over forecast is +49 % away from the middle of its group of 5 runs");
  runs[4].seconds = 11.9;  // 1.19 / 1.01 = +18 %
  EXPECT_TRUE(doubts_found(runs).empty());
  // A forecast that is 50 % off for the whole group says nothing against any of them.
  for (CheckedRun& run : runs) run.forecast_s *= 1.5;
  EXPECT_TRUE(doubts_found(runs).empty());
  EXPECT_TRUE(doubts_found({runs[0], runs[1], checked("e", 15, 10)}).empty()) << "three are no group";
}

TEST(DoubtChecks, AGroupThatScattersNamesNobody) {
  EXPECT_TRUE(doubts_found(
      {checked("a", 7, 10), checked("b", 13, 10), checked("c", 10, 10), checked("d", 16, 10), checked("e", 8, 10)})
                  .empty());
}

TEST(DoubtChecks, MicroBatchesOfOneSplitLieOnALine) {
  std::vector<CheckedRun> runs = {checked("1", 10, 10, 1), checked("2", 11.5, 10, 2), checked("4", 10.2, 10, 4)};
  for (CheckedRun& run : runs) run.sizes = "one split";
  // Halfway between 1 and 1.02 lies 1.01: 1.15 / 1.01 = +14 %.
  const auto found = doubts_found(runs);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.at("2"), "+14 % off what micro-batches of 1 and 4 say of one of 2");
  runs[1].sizes = "another split";
  EXPECT_TRUE(doubts_found(runs).empty());
}

TEST(DoubtChecks, ForecastsNameATenthOfAGroupAtMost) {
  std::vector<CheckedRun> runs;
  for (int i = 0; i < 20; ++i) runs.push_back(checked(std::to_string(i).c_str(), 10 + 0.01 * i, 10));
  for (const int i : {3, 8, 12, 15}) runs[static_cast<std::size_t>(i)].seconds = 15 + i;
  const auto found = doubts_found(runs);
  ASSERT_EQ(found.size(), 2U);  // the two farthest: 27 and 30 s
  EXPECT_TRUE(found.contains("12") && found.contains("15"));
}

}  // namespace
}  // namespace stepcast::records
