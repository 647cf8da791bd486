// The fast price against the forecast of the same point: memory the same, the step no longer, in whatever order points
// are visited.
#include "studies/sweep/price/pricer.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "tests/studies/sweep/many_spaces.h"
#include "tests/studies/sweep/space/space_of.h"
#include "studies/sweep/price/costs.h"
#include "studies/sweep/price/legality.h"

namespace stepcast::sweep {
namespace {

using testing_sweep::small_spaces;
using testing_sweep::SmallSpace;

constexpr std::size_t visits = 120;

std::vector<Digits> legal_points(const Space& space, SpacePoints& points) {
  Legality legality(points);
  std::vector<Digits> legal;
  for (std::uint64_t index = 0; index < space.size(); ++index)
    if (const Digits digits = space.digits(index); legality.ask(digits, AxisId{}).reason < 0) legal.push_back(digits);
  return legal;
}

AxisId outermost_change(const Digits& a, const Digits& b) {
  return static_cast<AxisId>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
}

class PricedSpace : public testing::TestWithParam<SmallSpace> {
 protected:
  /// Visits points in this order with one pricer, forecasts each.
  void price(const std::vector<Digits>& order) {
    Pricer pricer(points_);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const FastPrice fast = pricer.price(order[i], i == 0 ? AxisId{} : outermost_change(order[i - 1], order[i]));
      if (fast.bounded) compare(order[i], fast);
      if (testing::Test::HasFailure()) return;
    }
  }

  void compare(const Digits& digits, const FastPrice& fast) {
    const auto prediction = forecast_points_.predict(digits);
    ASSERT_TRUE(prediction) << forecast_points_.command(digits) << ": " << to_text(prediction.error());
    const StepReport& step = prediction->step;
    const std::string command = forecast_points_.command(digits);
    ASSERT_NEAR(fast.memory_bytes, step.memory.peak.value(), 1e-9 * step.memory.peak.value()) << command;
    ASSERT_LE(fast.step_s, step.step_time.value() * (1 + 1e-9)) << command;
    ASSERT_GT(fast.step_s, 0.05 * step.step_time.value()) << command;
    ASSERT_NEAR(fast.kernel_s, step.kernel_time.value(), 1e-9 * step.kernel_time.value()) << command;
    ++compared_;
  }

  Space space_ = testing_space::good(GetParam().line);
  SpacePoints points_ = SpacePoints::make(space_).value(), forecast_points_ = SpacePoints::make(space_).value();
  int compared_ = 0;
};

TEST_P(PricedSpace, JumpsAtRandom) {
  std::mt19937 random(4);
  std::vector<Digits> points = legal_points(space_, points_);
  std::shuffle(points.begin(), points.end(), random);
  points.resize(std::min(points.size(), visits));
  price(points);
  EXPECT_GT(compared_, 10);
}

/// As a sweep walks, with gaps: most steps change inner axes only.
TEST_P(PricedSpace, WalksWithGaps) {
  std::mt19937 random(5);
  const std::vector<Digits> points = legal_points(space_, points_);
  std::vector<Digits> walked;
  std::size_t at = random() % 7;
  for (; at < points.size() && walked.size() < visits;
       at += 1 + random() % std::max<std::size_t>(2, 2 * points.size() / visits))
    walked.push_back(points[at]);
  price(walked);
}

INSTANTIATE_TEST_SUITE_P(Of, PricedSpace, testing::ValuesIn(testing_sweep::tried_spaces()),
    [](const auto& tested) { return std::string(tested.param.name); });

/// More parts than a pricer keeps at once: what it forgot it makes again.
TEST(Pricer, ForgetsPartsAndMakesThemAgain) {
  const Space space = testing_space::good("llama3-8b --machine dgx-h100 --gpus 16..512*2 --global-batch 2048 --seq "
                                          "8192 --tp 1,2,4,8 --pp 1,2,4,8 --order all --micro-batch 1,2,4,8 "
                                          "--recompute none,full --zero 1,2 --chunks 1 --precision bf16,fp8");
  constexpr std::size_t few_parts = 300;
  SpacePoints points = SpacePoints::make(space, few_parts).value(), fresh = SpacePoints::make(space).value();
  Legality legality(points);
  Pricer pricer(points);
  Digits before{};
  bool begun = false;
  std::uint64_t priced = 0;
  for (std::uint64_t index = 0; index < space.size(); index += 2) {
    const Digits digits = space.digits(index);
    if (legality.ask(digits, AxisId{}).reason >= 0) continue;
    const FastPrice fast = pricer.price(digits, begun ? outermost_change(before, digits) : AxisId{});
    before = digits, begun = true;
    if (++priced % 150 != 0) continue;
    Pricer own(fresh);
    const FastPrice alone = own.price(digits, AxisId{});
    ASSERT_TRUE(fast.bounded);
    ASSERT_NEAR(fast.memory_bytes, alone.memory_bytes, 1e-9 * alone.memory_bytes) << points.command(digits);
    ASSERT_NEAR(fast.step_s, alone.step_s, 1e-9 * alone.step_s) << points.command(digits);
  }
  EXPECT_GT(priced, 4500U);
}

/// What fits has the price that it has without limits; of what does not, the memory is the same.
TEST(Pricer, LimitsLeaveOutTimesAlone) {
  const Space space = testing_space::good("llama3-70b --machine dgx-h100 --gpus 64 --global-batch 256 --tp 2,4,8 --pp "
                                          "1,2,4 --recompute none,full --micro-batch 1,2,4 --chunks 1,2 --zero 1,3 "
                                          "--layout even,balanced");
  SpacePoints points = SpacePoints::make(space).value(), limited_points = SpacePoints::make(space).value();
  Pricer pricer(points), limited(limited_points);
  const double fits = points.setting(Digits{}).scenario.machine.row.gpu.memory.value(), asked = 1.5 * fits;
  int fitting = 0, above = 0, far_above = 0;
  for (const Digits& digits : legal_points(space, points)) {
    const FastPrice whole = pricer.price(digits, AxisId{}), part = limited.price(digits, AxisId{}, {asked, fits});
    ASSERT_TRUE(whole.bounded && part.bounded) << points.command(digits);
    if (part.too_large) EXPECT_GT(whole.memory_bytes, asked) << points.command(digits);
    else EXPECT_EQ(part.memory_bytes, whole.memory_bytes) << points.command(digits);
    const bool fitted = whole.memory_bytes <= fits;
    EXPECT_EQ(part.step_s, fitted ? whole.step_s : 0) << points.command(digits);
    ++(fitted ? fitting : part.too_large ? far_above : above);
  }
  EXPECT_GE(std::min({fitting, above, far_above}), 5);
}

/// The figures that a sweep can be after are bounded by what a fast price knows of them.
/// Where layers by price and even ones both fit, neither is chosen: what is told is no more than the chosen one's.
TEST(Pricer, OpenLayersAreNoDearerThanThoseChosen) {
  const Space space = testing_space::good("llama3.2-1b --machine l40s-server --gpus 16 --global-batch 64 --seq 8192 "
                                          "--tp 1,2 --pp 2,4,8 --recompute none,full --micro-batch 1,2,4 --chunks 1,2 "
                                          "--schedule auto,zb-v --zero 1,2 --layout balanced,even");
  SpacePoints points = SpacePoints::make(space).value(), open_points = SpacePoints::make(space).value();
  Pricer pricer(points), open(open_points);
  const double fits = points.setting(Digits{}).scenario.machine.row.gpu.memory.value(), asked = 1.2 * fits;
  int less = 0, fitting = 0, above = 0, far_above = 0;
  for (const Digits& digits : legal_points(space, points)) {
    const FastPrice chosen = pricer.price(digits, AxisId{}, {asked, fits});
    const FastPrice least = open.price(digits, AxisId{}, {asked, fits, true});
    ASSERT_TRUE(chosen.bounded && least.bounded) << points.command(digits);
    const bool too_large = chosen.too_large || chosen.memory_bytes > asked;
    if (least.too_large || too_large) {
      EXPECT_TRUE(too_large) << points.command(digits);
      EXPECT_TRUE(least.too_large || least.memory_bytes == chosen.memory_bytes) << points.command(digits);
      ++far_above;
      continue;
    }
    EXPECT_EQ(least.memory_bytes <= fits, chosen.memory_bytes <= fits) << points.command(digits);
    EXPECT_LE(least.memory_bytes, chosen.memory_bytes) << points.command(digits);
    EXPECT_LE(least.step_s, chosen.step_s) << points.command(digits);
    EXPECT_LE(least.kernel_s, chosen.kernel_s) << points.command(digits);
    if (chosen.memory_bytes > fits) EXPECT_EQ(least.memory_bytes, chosen.memory_bytes) << points.command(digits);
    ++(chosen.memory_bytes > fits ? above : fitting);
    less += least.step_s < chosen.step_s ? 1 : 0;
  }
  EXPECT_GE(std::min({less, fitting, above, far_above}), 1);
}

TEST(Pricer, CostsAreBoundedInEachFigure) {
  Space space = testing_space::good(small_spaces[0].line);
  space.price_per_gpu_hour = 3;
  SpacePoints points = SpacePoints::make(space).value();
  Pricer pricer(points);
  std::mt19937 random(6);
  std::vector<Digits> legal = legal_points(space, points);
  std::shuffle(legal.begin(), legal.end(), random);
  for (std::size_t i = 0; i < 60; ++i) {
    const FastPrice fast = pricer.price(legal[i], AxisId{});
    const Scenario scenario = points.scenario(legal[i]).value();
    const Figures figures =
        figures_of(scenario, points.wishes(legal[i]), run::predict(scenario).value(), space.price_per_gpu_hour);
    for (const FigureRow& row : figure_rows()) {
      const CostRule rule(row.figure, {}, points);
      const double least = rule.at_least(fast, points.setting(legal[i])).of[0], cost = rule.of(figures).of[0];
      EXPECT_LE(least, cost + 1e-9 * std::abs(cost)) << row.name;
    }
  }
}

TEST(Pricer, KnowsNothingOfTwoCopiesAndTimedOrders) {
  const Space space =
      testing_space::good("llama2-13b --machine dgx-h100 --gpus 16 --global-batch 32 --tp 2 --pp 4 --micro-batch 1 "
                          "--chunks 1 --recompute none --schedule 1f1b,dualpipe,zb-auto "
                          "--layout even,balanced");
  SpacePoints points = SpacePoints::make(space).value();
  Pricer pricer(points);
  for (std::uint64_t index = 0; index < space.size(); ++index) {
    const Digits digits = space.digits(index);
    const bool known = space.value(digits, AxisId::schedule) == "1f1b";
    EXPECT_EQ(pricer.price(digits, AxisId{}).bounded, known) << points.command(digits);
  }
}

}  // namespace
}  // namespace stepcast::sweep
