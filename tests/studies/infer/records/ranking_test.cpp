// Orders of splits, by hand.
#include "studies/infer/records/ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::infer {
namespace {

using testing::ElementsAre;

/// 100 and 98 are closer than 3 %: they share ranks 1 and 2.
TEST(Ranking, CloseValuesShareARank) {
  EXPECT_THAT(ranks_of({50, 100, 98, 70}, 0.03), ElementsAre(4, 1.5, 1.5, 3));
  EXPECT_THAT(ranks_of({50, 100, 98, 70}, 0), ElementsAre(4, 1, 2, 3));
}

/// The same order is 1, the reverse -1; of three with two swapped, 1 - 6 x 2 / (3 x 8) = 0.5.
TEST(Ranking, OrdersAreCorrelated) {
  EXPECT_DOUBLE_EQ(spearman_of({{10, 1}, {20, 2}, {30, 3}}), 1);
  EXPECT_DOUBLE_EQ(spearman_of({{10, 3}, {20, 2}, {30, 1}}), -1);
  EXPECT_DOUBLE_EQ(spearman_of({{10, 1}, {20, 3}, {30, 2}}), 0.5);
  EXPECT_DOUBLE_EQ(spearman_of({{10, 1}, {20, 1}, {30, 1}}), 0) << "a forecast that sees no difference";
  EXPECT_DOUBLE_EQ(spearman_of({{10, 1}, {10, 1}, {10.1, 1}}), 1) << "and there is none";
}

/// The first choice of the second job makes 20 where 40 could be made: half is lost, and nothing in the first.
TEST(Ranking, AWrongChoiceCostsWhatTheBestMakesMore) {
  const Ranking ranking = rank(
      {{"a", {{10, 1}, {20, 2}, {30, 3}}}, {"b", {{10, 1}, {20, 3}, {40, 2}}}, {"two splits alone", {{1, 2}, {2, 1}}}});
  EXPECT_EQ(ranking.jobs, 2);
  EXPECT_DOUBLE_EQ(ranking.spearman, 0.75);
  EXPECT_DOUBLE_EQ(ranking.regret, 0.25);
}

/// Measured three times it is one split of two, by its mean, and two are not ranked; with a third the order is 30, 20,
/// 10 of both.
TEST(Ranking, ASplitThatWasMeasuredAgainIsOne) {
  const std::vector<RankedSplit> again = {{19, 2, "tp 2"}, {20, 2, "tp 2"}, {21, 2, "tp 2"}, {10, 1, "tp 4"}};
  EXPECT_EQ(rank({{"two", again}}).jobs, 0);
  std::vector<RankedSplit> three = again;
  three.push_back({30, 3, "tp 1"});
  const Ranking ranking = rank({{"three", three}});
  EXPECT_EQ(ranking.jobs, 1);
  EXPECT_DOUBLE_EQ(ranking.spearman, 1);
  EXPECT_DOUBLE_EQ(ranking.regret, 0);
}

}  // namespace
}  // namespace stepcast::infer
