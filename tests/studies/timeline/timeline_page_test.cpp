#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "studies/print/page/page.h"
#include "studies/timeline/memory_svg.h"
#include "studies/timeline/page.h"
#include "tests/studies/timeline/hand_scene.h"

namespace stepcast::timeline::timeline_page_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using timeline_testing::hand_scene;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(TimelinePage, StandsAloneAndKnowsItself) {
  const std::string page = timeline_page(hand_scene()->scene);
  EXPECT_THAT(page.substr(0, 200), HasSubstr(page_mark("timeline")));
  EXPECT_THAT(page, Not(HasSubstr("<link rel=\"stylesheet\"")));
  EXPECT_EQ(count_of(page, " src="), 0U);
  EXPECT_THAT(page, HasSubstr("\"actions\":[\"FFBg2000000Bg1000000\""));
}

TEST(TimelinePage, ChartIsThereWhereItsLibraryIs) {
  const std::string page = timeline_page(hand_scene()->scene);
  const bool has_library = !embedded_uplot().empty();
  EXPECT_EQ(page.find("<div id=\"memory-chart\"") != std::string::npos, has_library);
  EXPECT_EQ(page.find("var uPlot=") != std::string::npos, has_library);
  EXPECT_EQ(page.find("Permission is hereby granted") != std::string::npos, has_library) << "its licence goes with it";
  EXPECT_THAT(page, HasSubstr(memory_svg(hand_scene()->scene))) << "the picture is there in any case";
}

TEST(TimelinePage, TablesAndPicturesNeedNoScript) {
  const std::string page = timeline_page(hand_scene()->scene);
  EXPECT_EQ(count_of(page, "<th scope=\"row\""), 2U + 2U) << "a row per rank, a row per phase";
  EXPECT_THAT(page, HasSubstr("<noscript>"));
  EXPECT_THAT(page, HasSubstr(timeline_picture(hand_scene()->scene).svg));
  EXPECT_THAT(page, HasSubstr(">12.0 s</b><span>step time<"));
  EXPECT_THAT(page, HasSubstr("<b>33.3 %</b>")) << "two ranks for 9 s work 6 s each";
}

TEST(TimelinePage, RanksOfSeveralStagesAreNotCalledStages) {
  const auto made = hand_scene();
  EXPECT_EQ(rank_word_of(made->scene), "stage");
  EXPECT_THAT(timeline_page(made->scene), HasSubstr("<b>stage 1</b>"));
  made->order.rank_of = {0, 1, 1, 0};
  EXPECT_EQ(rank_word_of(made->scene), "rank");
}

TEST(TimelinePage, HostileNamesStayText) {
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
  auto made = hand_scene(2, 2, evil);
  made->scene.title = evil;
  made->scene.rank_word = evil;
  made->scene.around[0].name = evil;
  made->scene.streams[3].name = evil;
  const std::string page = timeline_page(made->scene);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_EQ(count_of(page, "</script>"), 2U) << "of the data and of the scripts";
}

TEST(TimelinePicture, ARectanglePerAction) {
  const TimelinePicture picture = timeline_picture(hand_scene()->scene);
  EXPECT_EQ(count_of(picture.svg, "<g class=\"rank\""), 2U);
  EXPECT_EQ(picture.caption, "");
  // A forward of a second of the 12 is a 900/12 = 75 pixels wide, less the hair between neighbours; rank 0 begins at 60
  // + 75.
  EXPECT_THAT(picture.svg, HasSubstr("<path class=\"forward\" d=\"M135.00 22h74.40v16h-74.40zM210.00 22h74.40"));
}

TEST(TimelinePicture, SaysWhenItShowsAPart) {
  const auto made = hand_scene(1024, 64);
  const TimelinePicture picture = timeline_picture(made->scene);
  const std::size_t shown = count_of(picture.svg, "<g class=\"rank\"");
  EXPECT_LT(shown, 64U);
  EXPECT_THAT(picture.caption, HasSubstr(std::to_string(shown) + " of 64 pipeline ranks"));
  EXPECT_THAT(picture.caption, HasSubstr("neighbours mix their colours"));
  EXPECT_THAT(picture.svg, HasSubstr("data-rank=\"0\""));
  EXPECT_THAT(picture.svg, HasSubstr("data-rank=\"63\""));
}

TEST(TimelinePage, ManyActionsMakeASmallPage) {
  const auto made = hand_scene(512, 64);
  ASSERT_EQ(made->order.actions.size(), 65536U);
  EXPECT_LT(timeline_page(made->scene).size(), 1'000'000U);
}

}  // namespace
}  // namespace stepcast::timeline::timeline_page_test
