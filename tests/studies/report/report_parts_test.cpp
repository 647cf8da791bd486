#include <gtest/gtest.h>

#include "studies/cli/console.h"
#include "studies/print/bars.h"
#include "studies/print/digits.h"
#include "studies/run/figures/collectives.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"

namespace stepcast::report {
namespace {

TEST(Console, ColourOnlyOnATerminalThatWantsIt) {
  EXPECT_TRUE(wants_color(true, nullptr, "xterm"));
  EXPECT_TRUE(wants_color(true, "", "xterm"));  // no-color.org: empty counts as unset
  EXPECT_FALSE(wants_color(true, "1", "xterm"));
  EXPECT_FALSE(wants_color(true, nullptr, "dumb"));
  EXPECT_FALSE(wants_color(true, nullptr, nullptr));
  EXPECT_FALSE(wants_color(false, nullptr, "xterm"));
}

TEST(Console, FirstLocaleVariableDecides) {
  EXPECT_TRUE(wants_unicode(nullptr, nullptr, nullptr));
  EXPECT_TRUE(wants_unicode(nullptr, nullptr, "de_DE.UTF-8"));
  EXPECT_FALSE(wants_unicode("C", nullptr, "de_DE.UTF-8"));
  EXPECT_TRUE(wants_unicode("", "C.utf8", "C"));
}

TEST(Table, ColumnsLineUpByWhatIsShown) {
  Table table({{"name"}, {"time", Align::right}});
  table.add({"forward", "1.5 s"});
  table.add({Paint(true).bold("\u2588\u2588"), "12.5 s"});
  EXPECT_EQ(table.text("  "), "  name       time\n"
                              "  forward   1.5 s\n"
                              "  \x1b[1m\u2588\u2588\x1b[0m       12.5 s\n");
}

TEST(Table, ParagraphsBreakAtSpaces) {
  EXPECT_EQ(paragraph("one two three four", "- ", "  ", 12), "- one two\n  three four\n");
  EXPECT_EQ(wrapped({"a 1", "b 2", "c 3"}, ", ", "", 8), "a 1, b 2,\nc 3\n");
}

TEST(Bars, EighthsOfACharacter) {
  EXPECT_EQ(bar(0.5, 4, true), "\u2588\u2588");
  EXPECT_EQ(bar(0.3125, 4, true), "\u2588\u258E");  // 1.25 characters
  EXPECT_EQ(bar(0.0001, 4, true), "\u258F");        // never lost
  EXPECT_EQ(bar(0, 4, true), "");
  EXPECT_EQ(bar(2.0, 4, false), "####");
  EXPECT_EQ(gauge(0.5, 4, false), "##..");
  EXPECT_EQ(shown_width(gauge(0.3, 24, true)), 24U);
}

TEST(Report, DigitsInGroupsOfThree) {
  EXPECT_EQ(grouped_digits(0), "0");
  EXPECT_EQ(grouped_digits(999), "999");
  EXPECT_EQ(grouped_digits(0.01234), "0.0123");
  EXPECT_EQ(grouped_digits(7), "7");
  EXPECT_EQ(grouped_digits(1234567), "1,234,567");
  EXPECT_EQ(grouped_digits(-1234), "-1,234");
}

TEST(Report, CollectivesOfOneKindAreAddedUp) {
  CollectiveReport first{
      "X all_gather", "all_gather", "tp", "node", 8, Bytes(10), 4, Seconds(2), Seconds(1), Source::measured, ""};
  CollectiveReport second = first;
  second.bytes = Bytes(20);
  second.source = Source::fitted;
  CollectiveReport other = first;
  other.axis = "dp";
  other.time = Seconds(9);
  CollectiveReport elsewhere = first;
  elsewhere.stage = 1;
  StepReport step;
  step.collectives = {first, second, other, elsewhere};
  const auto sums = joined_collectives(step);  // of stage 0, the slowest
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].axis, "dp");  // the longest first
  EXPECT_EQ(sums[1].count, 8);
  EXPECT_EQ(sums[1].received.value(), 4 * 10 + 4 * 20);
  EXPECT_EQ(sums[1].time.value(), 4);
  EXPECT_EQ(sums[1].source, Source::fitted);  // no stronger than its weakest member
}

}  // namespace
}  // namespace stepcast::report
