// Micro-batches of documents, and who gets which: figures to redo by hand, and what is conserved.
#include "sim/job/unit_costs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace stepcast::sim {
namespace {

double sum_of(const std::vector<UnitCost>& units, double UnitCost::*part) {
  return std::accumulate(
      units.begin(), units.end(), 0.0, [&](double sum, const UnitCost& unit) { return sum + unit.*part; });
}

TEST(UnitCosts, DocumentsOfOneLength) {
  Draws draws(1);
  // Two sequences of 1,000 tokens: of documents of 250 each has 4 x 250^2 = a quarter of 1,000^2.
  for (const Fill fill : {Fill::packed, Fill::balanced})
    for (const UnitCost& unit : filled_units({{250}, fill, 1000, 2}, 8, draws)) {
      EXPECT_EQ(unit.linear, 1);
      EXPECT_NEAR(unit.quadratic, 0.25, 1e-12);
    }
  const UnitCost padded = filled_units({{250}, Fill::padded, 1000, 2}, 1, draws).front();
  EXPECT_EQ(padded.linear, 0.25);
  EXPECT_EQ(padded.quadratic, 0.0625);
  // What is longer than a sequence is cut: the even step.
  const UnitCost whole = filled_units({{5000}, Fill::packed, 1000, 1}, 1, draws).front();
  EXPECT_EQ(whole.with(0.5), 1);
  EXPECT_NEAR((UnitCost{1, 0.25}.with(0.4)), 0.7, 1e-12);
}

TEST(UnitCosts, PaddedOnesTakeTheLongest) {
  // Of 100 and 1,000 with equal chance the longer of two is 1,000 three times in four.
  Draws draws(2);
  const auto units = filled_units({{100, 1000}, Fill::padded, 1000, 2}, 40'000, draws);
  EXPECT_NEAR(sum_of(units, &UnitCost::linear) / 40'000, 0.75 + 0.25 * 0.1, 0.005);
}

TEST(UnitCosts, BalancedPackingEvensPairsOut) {
  const std::vector<double> lengths{50, 80, 120, 700, 900};
  Draws one(3), other(3);
  const auto spread = [](const std::vector<UnitCost>& units) {
    const auto [least, most] = std::ranges::minmax(units, {}, &UnitCost::quadratic);
    return most.quadratic - least.quadratic;
  };
  const auto packed = filled_units({lengths, Fill::packed, 1000, 4}, 64, one);
  const auto balanced = filled_units({lengths, Fill::balanced, 1000, 4}, 64, other);
  ASSERT_EQ(balanced.size(), 64U);
  EXPECT_LT(spread(balanced), 0.3 * spread(packed));
  // Fewer documents are cut, so that more pairs are left.
  const double left = sum_of(balanced, &UnitCost::quadratic) / sum_of(packed, &UnitCost::quadratic);
  EXPECT_GT(left, 1);
  EXPECT_LT(left, 1.25);
}

TEST(UnitCosts, DealingKeepsAllAndEvensPipelinesOut) {
  // 8, 7, ... 1 to two pipelines of four: sorted 8 6 4 2 and 7 5 3 1; balanced 8 5 4 1 and 7 6 3 2, 18 each.
  std::vector<UnitCost> units;
  for (int cost = 1; cost <= 8; ++cost) units.push_back({static_cast<double>(cost), static_cast<double>(cost)});
  const auto first = [](const std::vector<UnitCost>& dealt) {
    return dealt[0].linear + dealt[1].linear + dealt[2].linear + dealt[3].linear;
  };
  auto sorted = units, balanced = units, kept = units;
  deal(sorted, 2, 0, Dealing::sorted), deal(balanced, 2, 0, Dealing::balanced), deal(kept, 2, 0, Dealing::as_they_come);
  EXPECT_EQ(first(sorted), 20);
  EXPECT_EQ(first(balanced), 18);
  EXPECT_EQ(first(kept), 10);
  EXPECT_EQ(sum_of(balanced, &UnitCost::linear), 36);
}

}  // namespace
}  // namespace stepcast::sim
