// Curves on pages: where points lie, what is escaped, and what has no place.
#include "studies/print/line_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::print {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string plot(const std::vector<PlotSeries>& series, bool logarithmic) {
  return line_plot("label", {"across", logarithmic}, {"up", logarithmic}, series);
}

TEST(LinePlot, HasTitlesKeyAndTooltips) {
  const std::string text = plot({{"first <b>", {{1, 2, "one & two", false}, {2, 3, "", true}}}}, false);
  for (const char* part :
      {"aria-label=\"label\"", ">across<", ">up<", "first &lt;b&gt;", "one &amp; two", "class=\"curve\""})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("<b>")));
}

/// The scales begin at 0 and end 4 % behind 10 of 10: 5 is at 5 / 10.4 of 680 pixels behind 64, and as far from below.
TEST(LinePlot, PlacesPointsByTheirValues) {
  const std::string text = plot({{"s", {{5, 5, "middle", false}, {10, 10, "end", false}}}}, false);
  EXPECT_THAT(text, HasSubstr("cx=\"390.92\" cy=\"201\""));
}

TEST(LinePlot, ZeroHasNoPlaceOnALogarithm) {
  const std::string text = plot({{"s", {{0, 1, "none", false}, {1, 1, "one", false}, {100, 10, "two", false}}}}, true);
  EXPECT_THAT(text, Not(HasSubstr(">none<")));
  EXPECT_THAT(text, HasSubstr(">one<"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("inf")));
}

TEST(LinePlot, NothingIsSaid) { EXPECT_THAT(plot({}, true), HasSubstr("nothing to draw")); }

}  // namespace
}  // namespace stepcast::print
