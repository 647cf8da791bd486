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
using testing_svg::translation;

SvgFile boundaries_file(const RooflineReport& report) {
  SvgFile file = testing_svg::read_svg(boundaries_svg(report));
  EXPECT_EQ(file.wrong, "");
  EXPECT_EQ(testing_svg::impossible_size(file), "");
  return file;
}

SvgElement crossing(const SvgFile& file, const char* one, const char* boundary) {
  for (const SvgElement& element : file.of_class("crossing"))
    if (element.at("data-operator") == one && element.at("data-boundary") == boundary) return element;
  ADD_FAILURE() << "no cell " << one << " " << boundary;
  return {};
}

TEST(BoundariesSvg, ColumnsAreBoundariesInnermostFirst) {
  const SvgFile file = boundaries_file(sample_report());
  EXPECT_EQ(file.elements.front().at("id"), "boundaries");
  EXPECT_EQ(file.of_class("crossing").size(), 4U + 4U + 2U);
  for (int i = 1; i < 4; ++i)
    EXPECT_LT(translation(crossing(file, "0", std::to_string(i - 1).c_str())).x,
        translation(crossing(file, "0", std::to_string(i).c_str())).x);
  // The third operator has HBM and the node only: they stand below those of the others.
  EXPECT_DOUBLE_EQ(translation(crossing(file, "2", "0")).x, translation(crossing(file, "0", "2")).x);
  EXPECT_DOUBLE_EQ(translation(crossing(file, "2", "1")).x, translation(crossing(file, "0", "3")).x);
  EXPECT_GT(translation(crossing(file, "1", "0")).y, translation(crossing(file, "0", "0")).y);
}

TEST(BoundariesSvg, OneCellOfARowLimits) {
  const SvgFile file = boundaries_file(sample_report());
  EXPECT_TRUE(crossing(file, "1", "3").has_class("limits"));
  EXPECT_FALSE(crossing(file, "1", "2").has_class("limits"));
  std::size_t compute = 0;
  for (const SvgElement& element : file.of_class("multiply-adds")) compute += element.has_class("limits") ? 1 : 0;
  EXPECT_EQ(compute, 1U);  // of the first
}

TEST(BoundariesSvg, CellsSayBytesIntensityTimeAndWhatStays) {
  const std::string svg = boundaries_svg(sample_report());
  for (const char* text : {">1.10 GB<", ">3,450 FLOP/B<", "275 us, 0.072 x", ">keeps W<", ">keeps nothing<",
           ">rate not known<", "weight-stationary at sm", "hbm m:64"})
    EXPECT_THAT(svg, HasSubstr(text));
}

TEST(BoundariesSvg, LighterOperatorsAreCounted) {
  RooflineReport report = sample_report();
  for (int i = 0; i < 6; ++i) report.boundaries.push_back(report.boundaries[0]);
  EXPECT_EQ(boundaries_file(report).of_class("multiply-adds").size(), 6U);
  EXPECT_THAT(boundaries_svg(report), HasSubstr("3 lighter operators"));
}

TEST(BoundariesSvg, EmptyBrokenAndHostile) {
  EXPECT_THAT(boundaries_svg(RooflineReport{}), HasSubstr("no operator"));
  boundaries_file(RooflineReport{});
  RooflineReport report = sample_report();
  report.boundaries = {OperatorBoundaries{}};
  report.boundaries[0].rows.resize(30);
  for (std::size_t i = 0; i < 30; ++i)
    report.boundaries[0].rows[i].outer = "<i>&" + std::string(i == 0 ? 10000 : 1, 'q') + std::to_string(i);
  report.boundaries[0].name = report.boundaries[0].nest = "<i>" + std::string(10000, 'q');
  EXPECT_EQ(boundaries_file(report).of_class("crossing").size(), 30U);
  EXPECT_THAT(boundaries_svg(report), Not(HasSubstr("<i>")));
}

}  // namespace
}  // namespace stepcast::roofline
