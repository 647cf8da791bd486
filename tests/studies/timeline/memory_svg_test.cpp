#include "studies/timeline/memory_svg.h"

#include <gmock/gmock.h>

#include "tests/studies/timeline/forecast_of.h"
#include "tests/studies/timeline/hand_scene.h"

namespace stepcast::timeline::memory_svg_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using timeline_testing::hand_scene;

std::vector<std::pair<double, double>> pairs_of(const std::vector<MemoryStep>& steps) {
  std::vector<std::pair<double, double>> pairs;
  for (const MemoryStep& step : steps) pairs.emplace_back(step.time, step.bytes);
  return pairs;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(MemorySvg, ForwardTakesAtItsStartAndBackwardFreesAtItsEnd) {
  const auto made = hand_scene();
  EXPECT_THAT(pairs_of(memory_steps(made->scene, 0)),
      testing::ElementsAre(std::pair(0.0, 2000.0), std::pair(1.0, 2100.0), std::pair(2.0, 2200.0),
          std::pair(7.0, 2100.0), std::pair(10.0, 2000.0)));
  EXPECT_THAT(pairs_of(memory_steps(made->scene, 1)),
      testing::ElementsAre(std::pair(0.0, 1000.0), std::pair(2.0, 1100.0), std::pair(5.0, 1000.0),
          std::pair(5.0, 1100.0), std::pair(8.0, 1000.0)));
}

TEST(MemorySvg, EveryForecastReturnsToWhatLasts) {
  for (const std::string& line : timeline_testing::forecasts()) {
    SCOPED_TRACE(line);
    const auto made = timeline_testing::forecast_of(line);
    for (int rank = 0; rank < made->scene.order->ranks; ++rank) {
      const auto steps = memory_steps(made->scene, rank);
      EXPECT_NEAR(steps.back().bytes, steps.front().bytes, 1e-6 * steps.front().bytes);
      for (const MemoryStep& step : steps) EXPECT_GE(step.bytes, steps.front().bytes * (1 - 1e-9));
    }
  }
}

TEST(MemorySvg, PictureHasACurvePerRankThatSaysItsPeak) {
  const auto made = hand_scene();
  const std::string svg = memory_svg(made->scene);
  EXPECT_THAT(svg, HasSubstr("data-rank=\"0\" data-peak-bytes=\"2200\""));
  EXPECT_THAT(svg, HasSubstr("data-rank=\"1\" data-peak-bytes=\"1100\""));
  EXPECT_THAT(svg, HasSubstr(">capacity 3.91 KiB<"));
  EXPECT_THAT(memory_caption(made->scene), Not(HasSubstr("Shown are")));
}

TEST(MemorySvg, ManyRanksAreSevenWithTheFullest) {
  auto made = hand_scene(20, 20);
  made->scene.always[5] = 1e6;
  EXPECT_THAT(memory_ranks(made->scene), testing::IsSupersetOf({0, 5, 19}));
  EXPECT_EQ(memory_ranks(made->scene).size(), 7U);
  EXPECT_EQ(count_of(memory_svg(made->scene), "data-rank="), 7U);
  EXPECT_THAT(memory_caption(made->scene), HasSubstr("7 of 20 pipeline ranks (0, "));
}

TEST(MemorySvg, ManyMicroBatchesTakeNoMoreRoomThanThePictureHasPixels) {
  const auto made = hand_scene(4000);
  EXPECT_LT(memory_svg(made->scene).size(), 150'000U);
}

TEST(MemorySvg, WithoutACapacityThereIsNoLine) {
  auto made = hand_scene();
  made->scene.capacity = 0;
  EXPECT_THAT(memory_svg(made->scene), Not(HasSubstr("class=\"capacity\"")));
}

}  // namespace
}  // namespace stepcast::timeline::memory_svg_test
