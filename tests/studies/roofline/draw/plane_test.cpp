#include "studies/roofline/draw/plane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/roofline/svg_checks.h"

namespace stepcast::roofline {
namespace {

using ::testing::HasSubstr;

Plane four_by_four() { return {.frame = {0, 4, 12, 16}, .left = 100, .top = 20, .width = 400, .height = 200}; }

TEST(Plane, DecadesLieAtEvenSteps) {
  const Plane plane = four_by_four();
  EXPECT_DOUBLE_EQ(plane.x(1), 100);
  EXPECT_DOUBLE_EQ(plane.x(10), 200);
  EXPECT_DOUBLE_EQ(plane.x(1e4), 500);
  EXPECT_DOUBLE_EQ(plane.y(1e16), 20);
  EXPECT_DOUBLE_EQ(plane.y(1e12), 220);
  EXPECT_NEAR(plane.x(250), 100 + 100 * 2.39794, 1e-3);  // log10(250)
  EXPECT_DOUBLE_EQ(plane.right(), 500);
  EXPECT_DOUBLE_EQ(plane.bottom(), 220);
}

TEST(Plane, AttributesSayWhatScriptsCompute) {
  EXPECT_EQ(plane_attributes(four_by_four()), "data-x-low=\"0\" data-x-high=\"4\" data-y-low=\"12\" data-y-high=\"16\" "
                                              "data-left=\"100\" data-top=\"20\" data-width=\"400\" "
                                              "data-height=\"200\"");
}

TEST(Plane, GridHasEveryDecadeAndBothNames) {
  const std::string grid = plane_grid(four_by_four(), "FLOP & byte", "FLOP/s");
  const auto file = testing_svg::read_svg("<svg>" + grid + "</svg>");
  EXPECT_EQ(file.wrong, "");
  EXPECT_EQ(file.of_class("decade").size(), 10U);  // five each way
  for (const char* text : {">1</text>", ">1,000</text>", ">10,000</text>", ">1 T</text>", ">100 T</text>",
           ">10 P</text>", "FLOP &amp; byte"})
    EXPECT_THAT(grid, HasSubstr(text));
}

TEST(Plane, LargeAndSmallPowersHaveNames) {
  const std::string grid = plane_grid({.frame = {-2, 8, 6, 9}}, "x", "y");
  for (const char* text : {">0.01</text>", ">100 M</text>", ">1 M</text>", ">1 G</text>"})
    EXPECT_THAT(grid, HasSubstr(text));
}

}  // namespace
}  // namespace stepcast::roofline
