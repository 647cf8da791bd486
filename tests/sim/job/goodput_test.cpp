// Goodput in closed form: published values, limits, and what first-order formulas are good for.
#include "sim/job/goodput.h"

#include <cmath>

#include <gtest/gtest.h>

#include "sim/job/interval.h"

namespace stepcast::sim {
namespace {

constexpr double hour = 3600;

FailureCosts plain_failures(Seconds between, Seconds restart) {
  FailureCosts failures;
  failures.per_second = 1 / between.value(), failures.restart = restart;
  return failures;
}

/// Goodput at Young's interval of a job that fails every 3.093 h (Llama 3's 419 interruptions in 54 days), save d and
/// restart R. The same table stands, rounded to three digits, in public models of that job.
struct KnownGoodput {
  double save_s, restart_min, value, young_min;
};
constexpr KnownGoodput known_goodput[] = {{10, 2, .9479, 7.87}, {10, 5, .9327, 7.87}, {10, 10, .9079, 7.87},
    {30, 2, .9184, 13.62}, {30, 5, .9037, 13.62}, {30, 10, .8797, 13.62}, {60, 2, .8901, 19.27}, {60, 5, .8758, 19.27},
    {60, 10, .8525, 19.27}};

TEST(Goodput, TheTableOfKnownValues) {
  const Seconds between(3.093 * hour);
  const IntervalLaw& young = interval_laws()[0];
  for (const KnownGoodput& known : known_goodput) {
    const Seconds save(known.save_s), restart(60 * known.restart_min);
    const Seconds interval = young.interval(between, save, restart);
    EXPECT_NEAR(interval.value() / 60, known.young_min, 0.005) << known.save_s;
    const double value = goodput(plain_failures(between, restart), {interval, save, {}, 1, {}});
    EXPECT_NEAR(value, known.value, 1e-4) << known.save_s << " " << known.restart_min;
  }
}

TEST(Goodput, OfOneLevelIsThePoissonLaw) {
  // t / (M e^(R/M) (e^((t+d)/M) - 1)) with M = 1000, t = 90, d = 10, R = 50.
  const double expected = 90 / (1000 * std::exp(0.05) * std::expm1(0.1));
  EXPECT_NEAR(
      goodput(plain_failures(Seconds(1000), Seconds(50)), {Seconds(90), Seconds(10), {}, 1, {}}), expected, 1e-12);
}

TEST(Goodput, WhatIsNotSafeYetCostsAsLongerRestartsDo) {
  // A save that settles for b is lost with the chance of a failure in b: the law with R + b.
  const Saves settling{Seconds(90), Seconds(10), Seconds(40), 1, {}}, at_once{Seconds(90), Seconds(10), {}, 1, {}};
  EXPECT_NEAR(goodput(plain_failures(Seconds(1000), Seconds(50)), settling),
      goodput(plain_failures(Seconds(1000), Seconds(90)), at_once), 1e-12);
}

TEST(Goodput, SharesSumToOneAndAreWhatTheyShould) {
  FailureCosts failures = plain_failures(Seconds(1000), Seconds(30));
  failures.detect = Seconds(20), failures.soft = 0.6, failures.soft_restart = Seconds(5);
  const UpShares shares = up_shares(failures, {Seconds(40), Seconds(10), Seconds(15), 4, Seconds(1)});
  EXPECT_NEAR(shares.useful + shares.saving + shares.lost + shares.detecting + shares.restarting, 1, 1e-12);
  EXPECT_NEAR(shares.saving / shares.useful, (10 + 3 * 1) / 160.0, 1e-12);
  EXPECT_NEAR(shares.detecting, 1 - std::exp(-0.02), 1e-12);
  EXPECT_GT(shares.lost, 0);
}

TEST(Goodput, TwoLevelsMeetTheOneLevelLawWhereTheyAreOne) {
  // Only soft failures: the law of saves to memory, with the stored one longer. All saves alike: any per_stored.
  FailureCosts soft = plain_failures(Seconds(1000), Seconds(50));
  soft.soft = 1, soft.soft_restart = Seconds(50);
  const Saves one{Seconds(90), Seconds(10), {}, 1, {}}, three{Seconds(90), Seconds(10), {}, 3, Seconds(10)};
  EXPECT_NEAR(goodput(soft, three), goodput(soft, one), 1e-12);
  EXPECT_NEAR(goodput(soft, one), goodput(plain_failures(Seconds(1000), Seconds(50)), one), 1e-12);
  // Nearly only soft ones are near that.
  soft.soft = 1 - 1e-9;
  EXPECT_NEAR(goodput(soft, three), goodput(soft, one), 1e-6);
}

TEST(Goodput, WithoutFailuresOnlySavesCost) {
  const UpShares shares = up_shares({}, {Seconds(90), Seconds(10), {}, 1, {}});
  EXPECT_EQ(shares.useful, 0.9);
  EXPECT_EQ(shares.saving, 0.1);
}

TEST(Goodput, MetasFormulaInItsRange) {
  // 2,048 nodes at 6.5 failures per 1,000 node-days; restart 5 min, interval 20 min, save 1 min.
  const double per_second = 2048 * 0.0065 / 86400;
  const auto first = first_order_goodput(per_second, Seconds(1200), Seconds(60), Seconds(300));
  EXPECT_NEAR(first.value, (1 - 2048 * 0.0065 * 15 / 1440) / 1.05, 1e-12);
  EXPECT_TRUE(first.in_range());
  // 131,072 GPUs: -0.10, which is no share of anything.
  const auto beyond = first_order_goodput(8 * per_second, Seconds(1200), Seconds(60), Seconds(300));
  EXPECT_NEAR(beyond.value, -0.10, 0.005);
  EXPECT_FALSE(beyond.in_range());
}

TEST(Goodput, MetasFormulaIsWithinThreePointsInItsRange) {
  int inside = 0;
  for (double between = 600; between < 1e6; between *= 1.3)
    for (double interval = 60; interval < 7200; interval *= 1.7)
      for (double save = 1; save <= interval / 4; save *= 3)
        for (const double restart : {10.0, 120.0, 600.0}) {
          const auto first = first_order_goodput(1 / between, Seconds(interval), Seconds(save), Seconds(restart));
          if (!first.in_range()) continue;
          ++inside;
          const double exact = goodput(
              plain_failures(Seconds(between), Seconds(restart)), {Seconds(interval), Seconds(save), {}, 1, {}});
          EXPECT_NEAR(first.value, exact, 0.03) << between << " " << interval << " " << save << " " << restart;
        }
  EXPECT_GT(inside, 1000);
}

}  // namespace
}  // namespace stepcast::sim
