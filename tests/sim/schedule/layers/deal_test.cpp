// Dealing against every possible deal, on small cases that are drawn.
#include "sim/schedule/layers/deal.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "sim/schedule/schedule_table.h"
#include "sim/schedule/engine/engine.h"

namespace stepcast::sim {
namespace {

/// The makespan of 1F1B, of which backward is twice the forward.
double pipeline_time(const UnlikeStages& stages, const std::vector<int>& layers, int micro_batches) {
  StageTimes times;
  for (std::size_t stage = 0, first = 0; stage < layers.size(); first += layers[stage++]) {
    const PartitionProblem& costs = stages.kinds[stages.kind_of_stage[stage]];
    double cost = stage == 0 ? costs.embedding : 0;
    for (int layer = 0; layer < layers[stage]; ++layer) cost += costs.layers[first + layer];
    if (stage + 1 == layers.size()) cost += costs.head;
    times.forward.emplace_back(cost / 3);
    times.input_grad.emplace_back(cost / 3);
    times.weight_grad.emplace_back(cost / 3);
  }
  const auto order = make_order("1f1b", {static_cast<int>(layers.size()), 1, micro_batches});
  return run(*order, times)->makespan.value();
}

Expected<DealtStep> timed(const UnlikeStages& stages, const std::vector<int>& layers, int micro_batches) {
  return DealtStep{pipeline_time(stages, layers, micro_batches), {}};
}

void every_deal(int stages, int layers, std::vector<int>& deal, const std::function<void()>& look) {
  if (static_cast<int>(deal.size()) == stages - 1) {
    deal.push_back(layers);
    look();
    deal.pop_back();
    return;
  }
  for (int own = 1; own <= layers - (stages - 1 - static_cast<int>(deal.size())); ++own) {
    deal.push_back(own);
    every_deal(stages, layers - own, deal, look);
    deal.pop_back();
  }
}

/// Two kinds of speeds from 1 to 4, on two to four stages.
UnlikeStages drawn_stages(std::mt19937& random) {
  const auto draw = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
  const int parts = 2 + static_cast<int>(random() % 3), layers = parts + static_cast<int>(random() % 8);
  UnlikeStages stages;
  for (int kind = 0; kind < 2; ++kind) {
    PartitionProblem costs{{}, draw(0, 1), draw(0, 2), 0, parts};
    costs.layers.assign(static_cast<std::size_t>(layers), kind == 0 ? 1 : draw(1, 4));
    stages.kinds.push_back(costs);
  }
  for (int stage = 0; stage < parts; ++stage) stages.kind_of_stage.push_back(static_cast<int>(random() % 2));
  return stages;
}

TEST(DealLayers, NeverOnePercentWorseThanEveryDeal) {
  std::mt19937 random(29);
  const auto draw = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
  int uneven = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const int parts = 2 + trial % 3, layers = parts + static_cast<int>(random() % 8);
    const int micro_batches = 1 + static_cast<int>(random() % 16);
    UnlikeStages stages;
    for (int kind = 0; kind < 2; ++kind) {
      PartitionProblem costs{{}, draw(0, 1), draw(0, 2), 0, parts};
      const double speed = kind == 0 ? 1 : draw(1, 4);
      for (int layer = 0; layer < layers; ++layer) costs.layers.push_back(speed * (layer % 4 == 3 ? 1.5 : 1));
      stages.kinds.push_back(costs);
    }
    for (int stage = 0; stage < parts; ++stage) stages.kind_of_stage.push_back(static_cast<int>(random() % 2));
    const auto dealt =
        deal_layers(stages, [&](const std::vector<int>& counts) { return timed(stages, counts, micro_batches); });
    ASSERT_TRUE(dealt);
    ASSERT_EQ(std::accumulate(dealt->begin(), dealt->end(), 0), layers);
    double best = INFINITY;
    std::vector<int> deal;
    every_deal(parts, layers, deal, [&] { best = std::min(best, pipeline_time(stages, deal, micro_batches)); });
    EXPECT_LE(pipeline_time(stages, *dealt, micro_batches), 1.01 * best) << "trial " << trial;
    uneven += (*dealt)[0] != (*dealt)[1] ? 1 : 0;
  }
  EXPECT_GT(uneven, 50);
}

// A layer takes 1 s on the fast stage and 3 s on the slow one: of 8 layers 6 and 2 take 6 s each. With one micro-batch
// the sum counts alone, and the slow stage gets the one layer that it must have.
TEST(DealLayers, ManyMicroBatchesEvenOutAndOneTakesTheSum) {
  const std::vector<double> fast(8, 1), slow(8, 3);
  const UnlikeStages stages{{{fast, 0, 0, 0, 2}, {slow, 0, 0, 0, 2}}, {0, 1}};
  for (const auto& [micro_batches, expected] : {std::pair{32, std::vector<int>{6, 2}}, {1, std::vector<int>{7, 1}}}) {
    const auto dealt =
        deal_layers(stages, [&](const std::vector<int>& counts) { return timed(stages, counts, micro_batches); });
    EXPECT_EQ(*dealt, expected);
  }
}

// A layer takes 1 s on the fast stage and 4 s on the slow one: of 80 layers 64 and 16 take 64 s each, but each stage
// has room for 50. The even 40 and 40 take 160 s on the slow stage, and 50 and 30 take 120 s: the fastest that fits.
TEST(DealLayers, TheFastestThatFits) {
  const std::vector<double> fast(80, 1), slow(80, 4);
  const UnlikeStages stages{{{fast, 0, 0, 0, 2}, {slow, 0, 0, 0, 2}}, {0, 1}};
  const auto dealt = deal_layers(stages, [&](const std::vector<int>& layers) {
    return Expected<DealtStep>({pipeline_time(stages, layers, 32), {layers[0] - 50.0, layers[1] - 50.0}});
  });
  EXPECT_EQ(*dealt, (std::vector<int>{50, 30}));
}

// Each stage has room for 3 of 8 layers: 3 to 5 on the first lack 2, more lack 3, and of these 5 and 3 take 9 s at 1 s
// and 3 s a layer, 3 and 5 take 15 s.
TEST(DealLayers, WhereNothingFitsTheLeastIsLacking) {
  const std::vector<double> fast(8, 1), slow(8, 3);
  const UnlikeStages stages{{{fast, 0, 0, 0, 2}, {slow, 0, 0, 0, 2}}, {0, 1}};
  const auto dealt = deal_layers(stages, [&](const std::vector<int>& layers) {
    return Expected<DealtStep>({pipeline_time(stages, layers, 32), {layers[0] - 3.0, layers[1] - 3.0}});
  });
  EXPECT_EQ(*dealt, (std::vector<int>{5, 3}));
}

// A layer takes 1 byte, and as much again for each of the micro-batches that stage s of p keeps, p - s.
TEST(DealLayers, FitsWheneverAnyDealDoes) {
  std::mt19937 random(31);
  int tight = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const UnlikeStages stages = drawn_stages(random);
    const int parts = stages.kinds.front().stages, layers = static_cast<int>(stages.kinds.front().layers.size());
    const int micro_batches = 1 + static_cast<int>(random() % 16);
    std::vector<double> memory;  // of each kind, around what an even split needs
    for (int kind = 0; kind < 2; ++kind)
      memory.push_back(std::uniform_real_distribution(0.5, 2.0)(random) * layers / parts * (1 + parts * 0.5));
    const auto step = [&](const std::vector<int>& counts) {
      DealtStep dealt{pipeline_time(stages, counts, micro_batches), {}};
      for (int stage = 0; stage < parts; ++stage)
        dealt.over.push_back(counts[stage] * (1.0 + parts - stage) - memory[stages.kind_of_stage[stage]]);
      return dealt;
    };
    std::pair<double, double> best{INFINITY, INFINITY}, fastest = best;  // what lacks, then the time; time alone
    std::vector<int> deal;
    every_deal(parts, layers, deal, [&] {
      const DealtStep tried = step(deal);
      best = std::min(best, std::pair{tried.lacking(), tried.time});
      fastest = std::min(fastest, std::pair{tried.time, tried.lacking()});
    });
    const auto dealt =
        deal_layers(stages, [&](const std::vector<int>& counts) { return Expected<DealtStep>(step(counts)); });
    ASSERT_TRUE(dealt);
    EXPECT_NEAR(step(*dealt).lacking(), best.first, 1e-9) << "trial " << trial;
    EXPECT_LE(step(*dealt).time, 1.01 * best.second) << "trial " << trial;
    tight += best.first == 0 && fastest.second > 0 ? 1 : 0;
  }
  EXPECT_GT(tight, 50);  // where the fastest deal does not fit and another does
}

// Two fast pipelines at 1 s and two slow ones at 3 s for a micro-batch: 16 micro-batches are 6 + 6 + 2 + 2, all done
// after 6 s; evenly dealt the slow ones would take 12.
TEST(DealMicroBatches, BySpeed) {
  EXPECT_EQ(deal_micro_batches({{2, 0, 1}, {2, 0, 3}}, 16), (std::vector<std::int64_t>{6, 2}));
  EXPECT_EQ(deal_micro_batches({{2, 0, 1}, {2, 100, 3}}, 16), (std::vector<std::int64_t>{7, 1}));  // each has one
}

TEST(DealMicroBatches, NoDealEndsEarlier) {
  std::mt19937 random(5);
  const auto draw = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<UnlikePipelines> kinds;
    for (int kind = 0; kind < 2; ++kind)
      kinds.push_back({1 + static_cast<std::int64_t>(random() % 4), draw(0, 5), draw(1, 5)});
    const std::int64_t all = kinds[0].count + kinds[1].count + static_cast<std::int64_t>(random() % 40);
    const auto end = [&](std::size_t kind, std::int64_t own) {
      return kinds[kind].fixed + kinds[kind].each * static_cast<double>(own);
    };
    const auto dealt = deal_micro_batches(kinds, all);
    ASSERT_GE(dealt[0] * kinds[0].count + dealt[1] * kinds[1].count, all);
    double best = INFINITY;
    for (std::int64_t own = 1; own <= all; ++own) {
      const std::int64_t left =
          std::max<std::int64_t>(1, (all - own * kinds[0].count + kinds[1].count - 1) / kinds[1].count);
      best = std::min(best, std::max(end(0, own), end(1, left)));
    }
    EXPECT_LE(std::max(end(0, dealt[0]), end(1, dealt[1])), best * (1 + 1e-9)) << "trial " << trial;
  }
}

}  // namespace
}  // namespace stepcast::sim
