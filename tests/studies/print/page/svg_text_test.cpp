#include "studies/print/page/svg_text.h"

#include <gtest/gtest.h>

namespace stepcast::print {
namespace {

TEST(SvgText, HoldsOnlyWhatXmlCan) {
  EXPECT_EQ(svg_escaped("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
  EXPECT_EQ(svg_escaped("tab\tline\n"), "tab\tline\n");
  EXPECT_EQ(svg_escaped(std::string("\x01\x1b\x7f")), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(svg_escaped("\xC3\xA9"), "\xC3\xA9");     // e with an accent
  EXPECT_EQ(svg_escaped("\xC3"), "\xEF\xBF\xBD");     // half of it
  EXPECT_EQ(svg_escaped("\xED\xA0\x80").size(), 9U);  // a surrogate: three bytes, each replaced
  EXPECT_EQ(svg_escaped("\xEF\xBF\xBF").size(), 9U);  // U+FFFF is no character
}

TEST(SvgText, LongNamesEndInAnEllipsis) {
  EXPECT_EQ(svg_shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(svg_shortened("abcdefg", 6), "abcde\u2026");
  EXPECT_EQ(svg_shortened("\u00e9\u00e9\u00e9\u00e9", 3), "\u00e9\u00e9\u2026");
  EXPECT_EQ(svg_shortened(std::string(10000, 'm'), 5), "mmmm\u2026");
}

TEST(SvgText, WidthCountsCharacters) {
  EXPECT_GT(svg_text_width("mmm", 12), svg_text_width("iii", 12));
  EXPECT_DOUBLE_EQ(svg_text_width("abc", 24), 2 * svg_text_width("abc", 12));
  EXPECT_DOUBLE_EQ(svg_text_width("", 12), 0);
}

TEST(SvgText, NumbersAreShort) {
  EXPECT_EQ(svg_number(12), "12");
  EXPECT_EQ(svg_number(12.5), "12.5");
  EXPECT_EQ(svg_number(-0.001), "0");
  EXPECT_EQ(svg_number(100), "100");
}

TEST(SpreadApart, FarOnesStay) {
  const double wanted[] = {10, 40, 90};
  EXPECT_EQ(spread_apart(wanted, 10, 0, 100), (std::vector<double>{10, 40, 90}));
}

TEST(SpreadApart, EqualOnesStandAroundWhatTheyWant) {
  const double wanted[] = {50, 50, 50};
  EXPECT_EQ(spread_apart(wanted, 10, 0, 100), (std::vector<double>{40, 50, 60}));
}

TEST(SpreadApart, EndsPushBack) {
  const double wanted[] = {95, 98, 100};
  EXPECT_EQ(spread_apart(wanted, 10, 0, 100), (std::vector<double>{80, 90, 100}));
  const double low[] = {-5, 0, 1};
  EXPECT_EQ(spread_apart(low, 10, 0, 100), (std::vector<double>{0, 10, 20}));
}

TEST(SpreadApart, TooManyShareTheRoom) {
  const std::vector<double> places = spread_apart(std::vector<double>(11, 3), 50, 0, 100);
  ASSERT_EQ(places.size(), 11U);
  for (std::size_t i = 0; i < places.size(); ++i) EXPECT_NEAR(places[i], 10.0 * static_cast<double>(i), 1e-9);
  EXPECT_TRUE(spread_apart({}, 10, 0, 100).empty());
}

TEST(LabelRoom, LabelsOfOnePlaceDoNotOverlap) {
  LabelRoom room({0, 0, 400, 300});
  const SvgBox own{195, 145, 205, 155};
  room.take(own);
  std::vector<SvgBox> boxes;
  for (int i = 0; i < 6; ++i) {
    const auto place = room.place(200, 150, 5, 80, 15, own);
    ASSERT_TRUE(place) << i;
    const double left = 200 + place->x - (place->from_end ? 80 : 0), base = 150 + place->y;
    boxes.push_back({left, base - 12, left + 80, base + 3});
    EXPECT_TRUE(boxes.back().inside(room.frame()));
  }
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(boxes[i].overlaps(boxes[j])) << i << " and " << j;
}

TEST(LabelRoom, NoPlaceWhereAllIsTaken) {
  LabelRoom room({0, 0, 100, 100});
  const SvgBox own{45, 45, 55, 55};
  room.take({0, 0, 100, 100});
  EXPECT_FALSE(room.place(50, 50, 5, 20, 15, own));
  EXPECT_FALSE(room.take_if_free({10, 10, 20, 20}));
}

TEST(SvgText, LinesBreakAtSpacesAndEndInAnEllipsis) {
  using Lines = std::vector<std::string>;
  const double room = svg_text_width("one two", 12) + 0.1;
  EXPECT_EQ(svg_lines("one two three", room, 12), (Lines{"one two", "three"}));
  EXPECT_EQ(svg_lines("one two three four", room, 12, 1), (Lines{"one two \xE2\x80\xA6"}));
  EXPECT_EQ(svg_lines("", room, 12), Lines{});
  ASSERT_EQ(svg_lines(std::string(10000, 'x'), room, 12).size(), 1U);
  EXPECT_LE(svg_text_width(svg_lines(std::string(10000, 'x'), room, 12)[0], 12), room + 12);
}

}  // namespace
}  // namespace stepcast::print
