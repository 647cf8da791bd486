// Lives drawn failure by failure against the closed form: random settings, every kind of saving, spares, replicas.
#include "sim/job/life.h"

#include <cmath>

#include <gtest/gtest.h>

#include "sim/job/draws.h"
#include "sim/job/interval.h"

namespace stepcast::sim {
namespace {

constexpr double day = 86400;
constexpr Seconds forever(1e15);

double log_between(Draws& draws, double low, double high) { return low * std::pow(high / low, draws.unit()); }

/// Of a job that fails some hundred to some ten thousand times.
LifeSettings random_settings(Draws& draws) {
  LifeSettings settings;
  const double between = log_between(draws, 600, 1e6);
  settings.failures.per_second = 1 / between;
  settings.failures.detect = Seconds(log_between(draws, 1e-4, 0.03) * between);
  settings.failures.restart = Seconds(log_between(draws, 1e-3, 0.2) * between);
  const double save = log_between(draws, 1e-4, 0.03) * between;
  settings.saves = {
      exact_interval(Seconds(between), Seconds(save)) * log_between(draws, 0.5, 2), Seconds(save), {}, 1, {}};
  if (draws.unit() < 0.5) settings.saves.settle = (settings.saves.interval + settings.saves.store) * draws.unit();
  if (draws.unit() < 0.5) {
    settings.failures.soft = draws.unit();
    settings.failures.soft_restart = settings.failures.restart * draws.unit();
    settings.saves.per_stored = 1 + static_cast<std::int64_t>(10 * draws.unit());
    settings.saves.keep = settings.saves.store * draws.unit();
    settings.saves.interval = settings.saves.interval / static_cast<double>(settings.saves.per_stored);
    settings.saves.settle = settings.saves.settle * draws.unit();
  }
  if (draws.unit() < 0.3) settings.planned_every = Seconds(between * 10), settings.planned_stop = Seconds(between);
  // Failures enough that drawn lives are 0.14 % off the law in the mean: the loss per failure varies by about itself.
  const double useful = goodput(settings.failures, settings.saves);
  const double failures = std::max(40'000.0, std::pow((1 - useful) / useful / 0.0014, 2));
  settings.work = Seconds(between * failures * useful);
  return settings;
}

TEST(Life, AgreesWithTheExactLawOverRandomSettings) {
  Draws draws(29);
  constexpr int count = 500;
  for (int index = 0; index < count; ++index) {
    const LifeSettings settings = random_settings(draws);
    const LifeTimes life = draw_life(settings, static_cast<std::uint64_t>(index), forever);
    const LifeTimes law = expected_life(settings);
    EXPECT_NEAR(life.goodput() / law.goodput(), 1, 0.005) << index;
    EXPECT_NEAR(life.saving / life.whole(), law.saving / law.whole(), 0.005) << index;
    EXPECT_NEAR(life.lost / life.whole(), law.lost / law.whole(), 0.005) << index;
    EXPECT_NEAR(life.detecting / life.whole(), law.detecting / law.whole(), 0.005) << index;
    EXPECT_NEAR(life.restarting / life.whole(), law.restarting / law.whole(), 0.005) << index;
    EXPECT_NEAR(life.failures / law.failures, 1, 0.025) << index;
  }
}

/// 128 nodes that fail every 20 days each and are repaired in 5: a load of 32 nodes.
LifeSettings pooled(std::int64_t spares) {
  LifeSettings settings;
  settings.failures.per_second = 128 / (20 * day);
  settings.failures.restart = Seconds(300);
  settings.saves = {Seconds(900), Seconds(20), {}, 1, {}};
  settings.pool = NodePool{128, spares, settings.failures.per_second, Seconds(5 * day), 0};
  settings.work = Seconds(1000 * day);
  return settings;
}

double mean_goodput(const LifeSettings& settings, std::int64_t count) {
  double useful = 0, whole = 0;
  for (const LifeTimes& life : draw_lives(settings, count, 7, forever))
    useful += life.useful.value(), whole += life.whole().value();
  return useful / whole;
}

TEST(Life, WaitsForNodesAsErlangSaysWhateverTheSpreadOfRepairs) {
  for (const std::int64_t spares : {24, 32, 40})
    for (const double spread : {0.0, 0.7, 1.5}) {
      LifeSettings settings = pooled(spares);
      settings.repair_spread = spread;
      EXPECT_NEAR(mean_goodput(settings, 40) / expected_life(settings).goodput(), 1, 0.01) << spares << " " << spread;
    }
}

// A short job begins with its nodes: most of its lives never wait, a few for long, and the mean is the law's all the
// same. Taking the pool as it is at any moment, waiting or not, would give three times the waiting here.
TEST(Life, ShortJobsWithoutSparesAreTheLawInTheMean) {
  LifeSettings settings = pooled(0);
  settings.failures.per_second = 8 / (100 * day);
  settings.pool = NodePool{8, 0, settings.failures.per_second, Seconds(5 * day), 0};
  settings.repair_spread = 1;
  settings.work = Seconds(2 * day);
  constexpr int count = 60'000;
  double wait = 0, squares = 0, never = 0;
  for (const LifeTimes& life : draw_lives(settings, count, 3, forever)) {
    const double days = life.waiting.value() / day;
    wait += days / count, squares += days * days / count;
    if (days == 0) never += 1.0 / count;
  }
  const double law = expected_life(settings).waiting.value() / day;
  EXPECT_NEAR(wait, law, 4 * std::sqrt(squares / count));
  EXPECT_LT(4 * std::sqrt(squares / count), 0.08 * law);
  EXPECT_GT(never, 0.8);
}

TEST(Life, ProgressFallsBackToWhatIsStored) {
  // Saves of 10 s of work that take nothing: at a failure work is `open` s ahead of a multiple of 10 and falls to it.
  LifeSettings settings;
  settings.failures.per_second = 0.01, settings.failures.restart = Seconds(5);
  settings.saves = {Seconds(10), Seconds(0), {}, 1, {}}, settings.work = Seconds(2000);
  const auto path = draw_progress(settings, 1, forever);
  const LifeTimes life = draw_life(settings, 1, forever);
  ASSERT_EQ(
      path.size(), 2 + 2 * static_cast<std::size_t>(life.failures) - [&] {
        std::size_t joined = 0;  // failures during a restart have no points of their own
        for (std::size_t at = 2; at < path.size(); at += 2)
          joined += path[at].time - path[at - 1].time > Seconds(5.001);
        return 2 * joined;
      }());
  for (std::size_t at = 1; at + 1 < path.size(); at += 2) {
    EXPECT_NEAR(path[at + 1].work.value(), std::floor(path[at].work.value() / 10) * 10, 1e-6);
    EXPECT_GE(path[at + 1].time - path[at].time, Seconds(5 - 1e-9));
  }
  EXPECT_EQ(path.back().work, Seconds(2000));
}

TEST(Life, GoesOnOnFewerReplicas) {
  for (const std::int64_t spares : {0, 16, 32})
    for (const std::int64_t replica : {1, 2, 8}) {
      LifeSettings settings = pooled(spares);
      settings.pool->replica_nodes = replica;
      const LifeTimes law = expected_life(settings);
      EXPECT_NEAR(mean_goodput(settings, 30) / law.goodput(), 1, 0.01) << spares << " " << replica;
      LifeSettings waiting = pooled(spares);
      EXPECT_GT(law.goodput(), expected_life(waiting).goodput()) << "to wait is never better here";
    }
}

TEST(Life, PlannedStopsAreASixth) {
  LifeSettings settings;
  settings.work = Seconds(1000), settings.saves = {Seconds(2000), Seconds(1), {}, 1, {}};
  settings.planned_every = Seconds(60), settings.planned_stop = Seconds(10);
  const LifeTimes life = draw_life(settings, 0, forever);
  EXPECT_EQ(life.planned, Seconds(200));  // 1,000 s of work in pieces of 50
  EXPECT_EQ(life.whole(), Seconds(1200));
}

TEST(Life, WithoutFailuresThereIsWorkAndSaves) {
  LifeSettings settings;
  settings.work = Seconds(100), settings.saves = {Seconds(10), Seconds(1), {}, 1, {}};
  const LifeTimes life = draw_life(settings, 0, forever);
  EXPECT_EQ(life.whole(), Seconds(109));  // no save behind the last step
  EXPECT_EQ(life.failures, 0);
}

TEST(Life, TheLawCountsWholeSaves) {
  // Without failures: nine saves of 1 s in 100 s of work, none where the job is shorter than an interval; of five saves
  // one stored in 3 s and the others kept in 1 s: 8 x 1 + 3.
  LifeSettings settings;
  settings.work = Seconds(100), settings.saves = {Seconds(10), Seconds(1), {}, 1, {}};
  EXPECT_NEAR(expected_life(settings).whole().value(), 109, 1e-9);
  settings.saves.interval = Seconds(200);
  EXPECT_NEAR(expected_life(settings).whole().value(), 100, 1e-9);
  settings.saves = {Seconds(10), Seconds(3), {}, 5, Seconds(1)};
  EXPECT_NEAR(expected_life(settings).whole().value(), 111, 1e-9);
  EXPECT_NEAR(draw_life(settings, 0, forever).whole().value(), 111, 1e-9);
  // With a failure each 1,000 s and a restart of 50 s, 250 s of work with a save of 10 s behind each 100 s: two pieces
  // of 110 s and one of 50 s, each M e^(R/M) (e^(piece/M) - 1). The drawn mean is held to 4 sigma of 20,000 lives.
  settings.failures.per_second = 1e-3, settings.failures.restart = Seconds(50);
  settings.work = Seconds(250), settings.saves = {Seconds(100), Seconds(10), {}, 1, {}};
  const double whole = 1000 * std::exp(0.05) * (2 * std::expm1(0.11) + std::expm1(0.05));
  EXPECT_NEAR(expected_life(settings).whole().value(), whole, 1e-9);
  constexpr int count = 20'000;
  double sum = 0, squares = 0;
  for (const LifeTimes& life : draw_lives(settings, count, 5, forever)) {
    const double time = life.whole().value();
    sum += time / count, squares += time * time / count;
  }
  EXPECT_NEAR(sum, whole, 4 * std::sqrt((squares - sum * sum) / count));
}

TEST(Life, PartsSumToTheWholeAndTheSeedDecides) {
  const LifeSettings settings = pooled(30);
  const LifeTimes one = draw_life(settings, 5, forever), same = draw_life(settings, 5, forever);
  EXPECT_EQ(one.whole(), same.whole());
  EXPECT_NE(one.whole(), draw_life(settings, 6, forever).whole());
  EXPECT_NEAR(one.useful.value(), settings.work.value(), 1e-6 * settings.work.value());
  EXPECT_GE(one.lost.value(), 0);
}

TEST(Life, WhatNeverEndsHasNoGoodput) {
  LifeSettings settings = pooled(40);
  settings.failures.restart = Seconds(1e9);  // 74,000 times the time between failures
  const LifeTimes law = expected_life(settings);
  EXPECT_EQ(law.goodput(), 0);
  EXPECT_TRUE(std::isinf(law.whole().value()));
}

TEST(Life, WhatNeverEndsStopsAtTheMost) {
  LifeSettings settings = pooled(40);
  settings.failures.restart = Seconds(40 * day);  // 256 times the time between failures
  const LifeTimes life = draw_life(settings, 1, Seconds(1e7));
  EXPECT_GE(life.whole(), Seconds(1e7));
  EXPECT_LT(life.goodput(), 0.01);
}

}  // namespace
}  // namespace stepcast::sim
