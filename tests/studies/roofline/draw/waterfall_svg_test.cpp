#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/roofline/draw/pictures.h"
#include "tests/studies/roofline/sample_report.h"
#include "tests/studies/roofline/svg_checks.h"

namespace stepcast::roofline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_pictures::sample_report;
using testing_svg::SvgElement;
using testing_svg::SvgFile;

SvgFile waterfall_file(const RooflineReport& report) {
  SvgFile file = testing_svg::read_svg(waterfall_svg(report));
  EXPECT_EQ(file.wrong, "");
  EXPECT_EQ(testing_svg::impossible_size(file), "");
  return file;
}

/// The rectangle of every bar, in order.
std::vector<SvgElement> bar_rectangles(const SvgFile& file) {
  std::vector<SvgElement> bars;
  for (std::size_t i = 0; i + 2 < file.elements.size(); ++i)
    if (file.elements[i].has_class("bar")) bars.push_back(file.elements[i + 2]);  // behind the title
  return bars;
}

TEST(WaterfallSvg, EachBarBeginsWhereTheLastOneEnded) {
  const RooflineReport report = sample_report();
  const SvgFile file = waterfall_file(report);
  EXPECT_EQ(file.elements.front().at("id"), "waterfall");
  const std::vector<SvgElement> bars = bar_rectangles(file);
  ASSERT_EQ(bars.size(), report.fall.bars.size());
  for (std::size_t i = 1; i < bars.size(); ++i)
    EXPECT_NEAR(bars[i].number("x"), bars[i - 1].number("x") + bars[i - 1].number("width"), 0.03) << i;
  for (std::size_t i = 0; i < bars.size(); ++i)  // 10 s and up to 10.5 s in 566 pixels
    EXPECT_NEAR(bars[i].number("width"), report.fall.bars[i].time.value() / 10.5 * 566, 0.5) << i;
}

TEST(WaterfallSvg, FiguresMarksAndLeversAreWritten) {
  const std::string svg = waterfall_svg(sample_report());
  for (const char* text : {"MFU 42.0 %, attention counted causal", "HFU 48.0 %", ">4.20 s<", ">42.0 %<", ">0 s<",
           "tensor parallelism: 8 \u2192 4", "\u22129.0 %", "between 9.60 s and 10.5 s"})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_EQ(waterfall_file(sample_report()).of_class("lever").size(), 2U);
  EXPECT_EQ(waterfall_file(sample_report()).of_class("end-line").size(), 1U);
}

TEST(WaterfallSvg, SaysWhyThereAreNoLevers) {
  RooflineReport report = sample_report();
  report.fall.levers.clear();
  report.fall.levers_missing = "the sequence is cut into slices";
  EXPECT_THAT(waterfall_svg(report), HasSubstr("none: the sequence is cut into slices"));
  report.fall.levers = sample_report().fall.levers;
  report.fall.levers[0].fits = false;
  EXPECT_THAT(waterfall_svg(report), HasSubstr("does not fit in memory"));
}

TEST(WaterfallSvg, LongLeversStayWithinThePicture) {
  RooflineReport report = sample_report();
  Lever& lever = report.fall.levers[0];
  lever.name = lever.from = lever.to = lever.phase = std::string(200, 'm');
  lever.fits = false;
  for (const SvgElement& element : waterfall_file(report).elements) {
    if (element.name != "text") continue;
    EXPECT_LT(element.text.size(), 100U) << element.text;
  }
  EXPECT_EQ(waterfall_file(report).of_class("limit-word").size(), 1U);
}

TEST(WaterfallSvg, EmptyAndHostile) {
  waterfall_file(RooflineReport{});
  RooflineReport report = sample_report();
  report.fall.bars[0].name = report.fall.bars[0].about = report.fall.bars[0].group = report.fall.levers[0].name =
      "'\"><b>&\x01" + std::string(10000, 'z');
  report.fall.bars[1].time = Seconds(-1);
  report.fall.mfu = 3;
  EXPECT_EQ(waterfall_file(report).of_class("bar").size(), report.fall.bars.size());
  EXPECT_THAT(waterfall_svg(report), Not(HasSubstr("<b>")));
}

}  // namespace
}  // namespace stepcast::roofline
