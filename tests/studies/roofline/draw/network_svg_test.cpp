#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "studies/roofline/draw/pictures.h"
#include "tests/studies/roofline/sample_report.h"
#include "tests/studies/roofline/svg_checks.h"

namespace stepcast::roofline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_pictures::sample_collective;
using testing_pictures::sample_report;
using testing_svg::SvgElement;
using testing_svg::SvgFile;
using testing_svg::translation;

SvgFile network_picture_file(const RooflineReport& report) {
  SvgFile file = testing_svg::read_svg(network_roofline_svg(report));
  EXPECT_EQ(file.wrong, "");
  EXPECT_EQ(testing_svg::impossible_size(file), "");
  return file;
}

TEST(NetworkSvg, EveryRoofAndCollectiveIsThere) {
  const RooflineReport report = sample_report();
  const SvgFile file = network_picture_file(report);
  EXPECT_EQ(file.elements.front().at("id"), "network-roofline");
  const std::size_t drawn_order[] = {0, 1, 3, 2};  // by rate: 450, 380, 64, 50 GB/s
  std::size_t roofs = 0;
  for (const SvgElement& element : file.elements)
    if (element.name == "line" && element.has_class("link")) {
      EXPECT_EQ(element.at("data-roof"), std::to_string(drawn_order[roofs++]));
    }
  EXPECT_EQ(roofs, report.links.roofs.size());
  EXPECT_EQ(file.of_class("link-point").size(), report.links.points.size());
  std::size_t limiting = 0;
  for (const SvgElement& element : file.of_class("link-point")) limiting += element.has_class("limits") ? 1 : 0;
  EXPECT_EQ(limiting, 1U);
  EXPECT_EQ(file.of_class("outside").size(), 1U);
}

TEST(NetworkSvg, PointsStandWhereTheirFiguresSay) {
  const RooflineReport report = sample_report();
  const Plane plane = network_plane(report);
  const SvgElement first = network_picture_file(report).of_class("link-point").at(0);
  // 4e15 FLOP over 5000 x 100 MB are 8000 FLOP/B; over 1.6 s, 2.5e15 FLOP/s.
  EXPECT_NEAR(translation(first).x, plane.x(8000), 0.5);
  EXPECT_NEAR(translation(first).y, plane.y(2.5e15), 0.5);
}

TEST(NetworkSvg, DiscInsideIsTheExposedShareByArea) {
  RooflineReport report = sample_report();
  report.links.points = {sample_collective("a", "tp", "node", 10, 1e9, 1, 0.25)};
  const SvgFile file = network_picture_file(report);
  const double ring = file.of_class("ring").at(0).number("r"), disc = file.of_class("exposed").at(0).number("r");
  EXPECT_NEAR(disc / ring, 0.5, 0.01);        // a quarter of the area
  EXPECT_NEAR(ring, mark_radius(0.1), 0.01);  // 1 s of 10
}

TEST(NetworkSvg, EqualPlacesAreCountedInTheLabel) {
  const std::string svg = network_roofline_svg(sample_report());
  EXPECT_THAT(svg, HasSubstr("norm1.y all_gather and 1 more here: 3.20 s"));
  EXPECT_THAT(svg, HasSubstr("at the same place: norm2.y all_gather"));
}

TEST(NetworkSvg, BentCurvesStayBelowTheirLinkAndBendTowardsLatency) {
  RooflineReport report = sample_report();
  report.links.points = {sample_collective("a", "tp", "node", 5000, 1e8, 1.6, 0)};
  report.links.points[0].latency = Seconds(1e-4);  // 0.5 s a step: no more than 8e15 FLOP/s
  const SvgFile file = network_picture_file(report);
  const SvgElement curve = file.of_class("bent").at(0);
  EXPECT_EQ(curve.at("data-link"), "0");
  const std::string path = curve.at("d");
  double x = 0, y = 0;
  ASSERT_EQ(std::sscanf(path.c_str() + path.rfind('L'), "L%lf %lf", &x, &y), 2);
  const Plane plane = network_plane(report);
  EXPECT_NEAR(x, plane.right(), 0.5);
  EXPECT_NEAR(y, plane.y(8e15), 1);
}

TEST(NetworkSvg, OneGpuSendsNothing) {
  RooflineReport report = sample_report();
  report.links = {};
  EXPECT_THAT(network_roofline_svg(report), HasSubstr("this run sends nothing between GPUs"));
  network_picture_file(report);
  network_picture_file(RooflineReport{});
}

TEST(NetworkSvg, BrokenFiguresAndHostileNamesStillDraw) {
  RooflineReport report = sample_report();
  LinkPoint nothing;
  nothing.name = nothing.axis = nothing.link = nothing.because = "\"><script>&" + std::string(10000, 'y');
  report.links.points.push_back(nothing);
  report.links.roofs.push_back({nothing.link, nothing.name, RoofBasis::assumed, BytesPerSecond(0), nothing.name});
  report.step_time = Seconds(0);
  const SvgFile file = network_picture_file(report);
  EXPECT_EQ(file.of_class("link-point").size(), report.links.points.size());
  EXPECT_THAT(network_roofline_svg(report), Not(HasSubstr("<script")));
}

TEST(NetworkSvg, FourHundredCollectives) {
  RooflineReport report = sample_report();
  report.links.points.assign(400, sample_collective("same", "dp", "cluster", 10, 1e9, 1, 0.25));
  const SvgFile file = network_picture_file(report);
  EXPECT_EQ(file.of_class("link-point").size(), 400U);
  EXPECT_THAT(network_roofline_svg(report), HasSubstr(" and 399 more here: "));
}

}  // namespace
}  // namespace stepcast::roofline
