// What a worker counts, however the space is cut, against each point by itself.
#include "studies/sweep/search/worker.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "tests/studies/sweep/many_spaces.h"
#include "tests/studies/sweep/space/space_of.h"

namespace stepcast::sweep {
namespace {

using testing_sweep::small_spaces;
using testing_sweep::SmallSpace;

/// Point by point: by its own verdict, by its whole forecast.
SweepTally counted_alone(const Space& space) {
  SpacePoints points = SpacePoints::make(space).value();
  Legality legality(points);
  SweepTally tally;
  for (std::uint64_t index = 0; index < space.size(); ++index) {
    const Digits digits = space.digits(index);
    const Legality::Verdict verdict = legality.ask(digits, AxisId{});
    if (verdict.reason >= 0) {
      ++tally.illegal[std::string(legality.reasons()[static_cast<std::size_t>(verdict.reason)])];
      continue;
    }
    const auto prediction = points.predict(digits);
    EXPECT_TRUE(prediction) << points.command(digits);
    const MemoryReport& memory = prediction->step.memory;
    if (memory.fits) continue;
    SweepTally one;
    one.does_not_fit = 1;
    one.smallest_overflow_bytes = std::round((memory.peak - memory.capacity).value());
    one.smallest_overflow_index = index;
    tally.add(one);
  }
  tally.enumerated = space.size();
  return tally;
}

void expect_equal(const SweepTally& a, const SweepTally& b) {
  EXPECT_EQ(a.enumerated, b.enumerated);
  EXPECT_EQ(a.illegal, b.illegal);
  EXPECT_EQ(a.does_not_fit, b.does_not_fit);
  EXPECT_NEAR(a.smallest_overflow_bytes, b.smallest_overflow_bytes, 2);  // bytes, of prices added up in another order
}

class CountedSpace : public testing::TestWithParam<SmallSpace> {};

TEST_P(CountedSpace, TalliesAreThoseOfThePointsHoweverItIsCut) {
  const Space space = testing_space::good(GetParam().line);
  const SweepTally alone = counted_alone(space);
  std::mt19937_64 random(11);
  for (const std::uint64_t longest : {space.size() / 2 + 1, space.size() / 40 + 1}) {
    SweepOptions options;
    // clang-format off
    SharedSweep shared{.space = space, .options = options, .where = Where::read("", "--where").value(), .front = {},
                       .standings = {10, 0}};
    // clang-format on
    const auto worker = SweepWorker::make(shared).value();
    std::vector<IndexRange> ranges;
    for (std::uint64_t begin = 0; begin < space.size();) {
      const std::uint64_t end = std::min(space.size(), begin + 1 + random() % longest);
      ranges.push_back({begin, end});
      begin = end;
    }
    std::shuffle(ranges.begin(), ranges.end(), random);
    SweepTally tally;
    std::uint64_t priced = 0;
    for (const IndexRange& range : ranges) {
      const auto stretch = worker->walk(range);
      ASSERT_TRUE(stretch) << to_text(stretch.error());
      ASSERT_TRUE(*stretch);
      EXPECT_EQ((*stretch)->range, range);
      EXPECT_EQ((*stretch)->tally.enumerated, range.size());
      tally.add((*stretch)->tally);
      priced += (*stretch)->work.priced;
    }
    expect_equal(tally, alone);
    EXPECT_EQ(priced, alone.fitting());
  }
}
INSTANTIATE_TEST_SUITE_P(Of, CountedSpace, testing::ValuesIn(testing_sweep::tried_spaces()),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(SweepWorker, AStretchThatWasStoppedCountsAsNotBegun) {
  const Space space = testing_space::good(small_spaces[0].line);
  int asked = 0;
  SweepOptions options;
  options.stop = [&] { return ++asked > 2; };
  // clang-format off
  SharedSweep shared{.space = space, .options = options, .where = Where::read("", "--where").value(), .front = {},
                     .standings = {10, 0}};
  // clang-format on
  const auto worker = SweepWorker::make(shared).value();
  const auto stretch = worker->walk({0, space.size()});
  ASSERT_TRUE(stretch);
  EXPECT_FALSE(*stretch);
}

}  // namespace
}  // namespace stepcast::sweep
