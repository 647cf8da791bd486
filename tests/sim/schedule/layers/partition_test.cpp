#include "sim/schedule/layers/partition.h"

#include <random>

#include <gtest/gtest.h>

namespace stepcast::sim {
namespace {

using Counts = std::vector<int>;

Counts counts_of(const Expected<Partition>& split) {
  if (!split) ADD_FAILURE() << to_text(split.error());
  return split->layers;
}

TEST(Partition, EqualLayersAreSplitEvenly) {
  EXPECT_EQ(counts_of(split_layers({.layers = std::vector<double>(8, 1.0), .stages = 4})), (Counts{2, 2, 2, 2}));
}

// 10 layers of 1, an embedding of 1 and a head of 2 are 13 on 4 stages: no stage can be below 4 (3.25 rounded up).
TEST(Partition, EmbeddingAndHeadTakeThePlaceOfLayers) {
  const auto split =
      split_layers({.layers = std::vector<double>(10, 1.0), .embedding = 1, .head = 1.5, .loss = 0.5, .stages = 4});
  ASSERT_TRUE(split);
  EXPECT_DOUBLE_EQ(split->most, 4);
  EXPECT_DOUBLE_EQ(split->mean, 3.25);
  EXPECT_DOUBLE_EQ(split->imbalance(), 4 / 3.25);
}

// Evenly: 3, 3, 2, 2 layers cost 4, 3, 2, 4; the least squares under a maximum of 4 are those of 4, 3, 3, 3.
TEST(Partition, AmongEqualMaximaTheLeastSumOfSquares) {
  const PartitionProblem problem{.layers = std::vector<double>(10, 1.0), .embedding = 1, .head = 2, .stages = 4};
  const auto best = split_layers(problem), even = split_evenly(problem);
  ASSERT_TRUE(best && even);
  double squares = 0;
  for (const double cost : best->cost) squares += cost * cost;
  EXPECT_DOUBLE_EQ(squares, 16 + 9 + 9 + 9);
  EXPECT_EQ(even->layers, (Counts{3, 3, 2, 2}));
  EXPECT_EQ(even->cost, (std::vector<double>{4, 3, 2, 4}));
}

// A head that costs as much as 4 layers leaves the last stage 4 fewer.
TEST(Partition, AHeavyHeadEmptiesTheLastStage) {
  const PartitionProblem problem{.layers = std::vector<double>(32, 1.0), .head = 4, .stages = 4};
  const auto best = split_layers(problem);
  const auto even = split_evenly(problem);
  EXPECT_EQ(counts_of(best), (Counts{9, 9, 9, 5}));
  EXPECT_DOUBLE_EQ(best->most, 9);
  EXPECT_DOUBLE_EQ(even->most, 12);
}

TEST(Partition, BareEndsHoldEmbeddingOrHeadAlone) {
  PartitionProblem problem{.layers = {1, 1}, .embedding = 3, .head = 3, .stages = 4};
  EXPECT_FALSE(split_layers(problem));
  problem.bare_ends = true;
  EXPECT_EQ(counts_of(split_layers(problem)), (Counts{0, 1, 1, 0}));
}

/// The least maximum over all ways to cut `layers` from `first` on into `stages`, by trying each.
double least_maximum(const PartitionProblem& problem, int stage, std::size_t first) {
  if (stage == problem.stages) return first == problem.layers.size() ? 0 : 1e300;
  const bool end = stage == 0 || stage == problem.stages - 1;
  double best = 1e300, cost = stage == 0 ? problem.embedding : 0;
  if (stage == problem.stages - 1) cost += problem.head + problem.loss;
  if (problem.bare_ends && end) best = std::max(cost, least_maximum(problem, stage + 1, first));
  for (std::size_t last = first; last < problem.layers.size(); ++last) {
    cost += problem.layers[last];
    best = std::min(best, std::max(cost, least_maximum(problem, stage + 1, last + 1)));
  }
  return best;
}

// Layers of all costs, some of which are large against the rest, with stages that may hold none at the ends.
TEST(Partition, NoCutHasALowerMaximum) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> costs(0.5, 1.5);
  for (int i = 0; i < 300; ++i) {
    PartitionProblem problem;
    problem.stages = 1 + static_cast<int>(random() % 5);
    problem.bare_ends = random() % 2 == 0;
    for (int layers = problem.stages + static_cast<int>(random() % 5); layers > 0; --layers)
      problem.layers.push_back(costs(random) * (random() % 4 == 0 ? 10 : 1));
    problem.embedding = static_cast<double>(random() % 3) * costs(random);
    problem.head = static_cast<double>(random() % 9) * costs(random);
    const auto split = split_layers(problem);
    ASSERT_TRUE(split);
    const double least = least_maximum(problem, 0, 0);
    EXPECT_NEAR(split->most, least, 1e-9 * least);
  }
}

TEST(Partition, IsExact) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    PartitionProblem problem;
    problem.stages = 1 + static_cast<int>(random() % 4);
    for (int layers = problem.stages + static_cast<int>(random() % 6); layers > 0; --layers) {
      problem.layers.push_back(1 + static_cast<double>(random() % 9));
    }
    problem.embedding = static_cast<double>(random() % 5);
    problem.head = static_cast<double>(random() % 12);
    const auto split = split_layers(problem);
    ASSERT_TRUE(split);
    EXPECT_DOUBLE_EQ(split->most, least_maximum(problem, 0, 0));
    EXPECT_LE(split->most, split_evenly(problem)->most);
  }
}

TEST(Partition, RefusesWhatCannotBe) {
  EXPECT_EQ(split_layers({.layers = {1, 1}, .stages = 3}).error().hint, "at most 2 stages");
  EXPECT_FALSE(split_layers({.layers = {1, -1}, .stages = 2}));
  EXPECT_FALSE(split_layers({.layers = {1, 1}, .head = -1, .stages = 2}));
  EXPECT_FALSE(split_layers({.layers = {1}, .stages = 0}));
  EXPECT_FALSE(split_as({.layers = {1, 1}, .stages = 2}, {1, 2}));
  EXPECT_FALSE(split_as({.layers = {1, 1}, .stages = 2}, {3, -1}));
}

}  // namespace
}  // namespace stepcast::sim
