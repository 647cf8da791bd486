#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "studies/roofline/draw/kernel_labels.h"
#include "studies/roofline/draw/picture_parts.h"
#include "studies/roofline/draw/pictures.h"
#include "tests/studies/roofline/sample_report.h"
#include "tests/studies/roofline/svg_checks.h"

namespace stepcast::roofline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_pictures::sample_point;
using testing_pictures::sample_report;
using testing_svg::SvgElement;
using testing_svg::SvgFile;
using testing_svg::translation;

SvgFile kernel_file(const RooflineReport& report) {
  SvgFile file = testing_svg::read_svg(kernel_roofline_svg(report));
  EXPECT_EQ(file.wrong, "");
  EXPECT_EQ(testing_svg::impossible_size(file), "");
  return file;
}

RooflineReport kernel_report_of(std::vector<OperatorPoint> points) {
  RooflineReport report = sample_report();
  report.points = std::move(points);
  return report;
}

/// Area inside an outline of straight lines M..., L..., H, h, v; a circle's from its radius.
double outlined_area(PointPass pass, double radius) {
  const std::string path = mark_outline(pass, radius);
  double a = 0, b = 0, c = 0;
  switch (pass) {
    case PointPass::forward: EXPECT_EQ(std::sscanf(path.c_str(), "M-%lf", &a), 1); return std::acos(-1.0) * a * a;
    case PointPass::backward: EXPECT_EQ(std::sscanf(path.c_str(), "M%lf %lfh%lf", &a, &b, &c), 3); return c * c;
    case PointPass::recompute:
      EXPECT_EQ(std::sscanf(path.c_str(), "M0 %lfL%lf %lf", &a, &b, &c), 3);
      return b * (c - a);
    case PointPass::step: EXPECT_EQ(std::sscanf(path.c_str(), "M0 %lfL%lf", &a, &b), 2); return 2 * b * b;
  }
  return 0;
}

TEST(KernelSvg, EveryRoofRidgeAndPointIsThere) {
  const RooflineReport report = sample_report();
  const SvgFile file = kernel_file(report);
  EXPECT_EQ(file.elements.front().at("id"), "kernel-roofline");
  EXPECT_EQ(file.elements.front().at("role"), "img");
  EXPECT_THAT(file.elements.front().at("aria-label"), HasSubstr("llama3-70b"));
  std::set<std::string> compute, memory, labels;
  std::size_t points = 0;
  for (const SvgElement& element : file.elements) {
    if (element.name == "line" && element.has_class("compute")) compute.insert(element.at("data-roof"));
    if (element.name == "line" && element.has_class("memory")) memory.insert(element.at("data-roof"));
    if (element.has_class("roof-label") && element.has_class("compute")) labels.insert(element.at("data-roof"));
    if (element.has_class("point")) {
      EXPECT_EQ(element.at("data-point"), std::to_string(points++));  // heaviest first
    }
  }
  EXPECT_EQ(compute.size(), report.roofs.compute.size());
  EXPECT_EQ(labels, compute);
  EXPECT_EQ(memory.size(), report.roofs.memory.size());
  EXPECT_EQ(points, report.points.size());
  EXPECT_EQ(file.of_class("ridge").size(), report.roofs.ridges.size());
  EXPECT_EQ(file.of_class("loose").size(), report.loose.size() + 1);  // and one in the key
}

TEST(KernelSvg, PointOnTheRidgeLiesOnItToHalfAPixel) {
  const RooflineReport report = kernel_report_of(
      {sample_point("on the ridge", PointKind::mlp, Pass::forward, 250e9, 1e9, testing_pictures::peak, 0.1)});
  const SvgFile file = kernel_file(report);
  const testing_svg::SvgPlace point = translation(file.of_class("point").at(0)), ridge = [&] {
    for (const SvgElement& element : file.of_class("ridge"))
      if (element.at("data-ridge") == "0") return translation(element);
    return testing_svg::SvgPlace{};
  }();
  EXPECT_NEAR(point.x, ridge.x, 0.5);
  EXPECT_NEAR(point.y, ridge.y, 0.5);
  // 250 FLOP/B and 1e15 FLOP/s by the attributes of the picture alone.
  const SvgElement& svg = file.elements.front();
  const double x = svg.number("data-left") + svg.number("data-width") * std::log10(250) / 4,
               y = svg.number("data-top") + svg.number("data-height") / 4;
  EXPECT_NEAR(point.x, x, 0.5);
  EXPECT_NEAR(point.y, y, 0.5);
}

TEST(KernelSvg, RoofsMeetAtTheRidge) {
  const SvgFile file = kernel_file(sample_report());
  const Plane plane = kernel_plane(sample_report());
  for (const SvgElement& element : file.elements)
    if (element.name == "line" && element.has_class("memory") && element.at("data-roof") == "0") {
      EXPECT_NEAR(element.number("y1"), plane.y(4e12), 0.5);  // at 1 FLOP/B
      EXPECT_NEAR(element.number("y2"), plane.y(2e15), 0.5);  // up to the highest roof, fp8
      EXPECT_NEAR(element.number("x2"), plane.x(500), 0.5);
    }
}

TEST(KernelSvg, MeasuredMarkIsFilledAndStandsAtItsRate) {
  const RooflineReport report = sample_report();
  const SvgFile file = kernel_file(report);
  const std::vector<SvgElement> measured = file.of_class("measured");
  ASSERT_EQ(measured.size(), 2U);  // and one in the key
  const Plane plane = kernel_plane(report);
  const double up = plane.y(report.points[2].measured->rate.value()) - plane.y(report.points[2].rate.value());
  EXPECT_NEAR(translation(measured[0]).y, up, 0.02);
  EXPECT_NEAR(translation(measured[0]).x, 0, 0.02);
  EXPECT_EQ(file.of_class("between").size(), 1U);
  EXPECT_GE(file.of_class("forecast").size(), report.points.size());
}

TEST(KernelSvg, JoinedLinesLeadToThePlaceByL2Bytes) {
  const RooflineReport report = sample_report();
  const Plane plane = kernel_plane(report);
  int found = 0;
  for (const SvgElement& element : kernel_file(report).of_class("joined")) {
    if (element.name != "line" || element.at("data-point") != "0") continue;
    ++found;
    EXPECT_NEAR(element.number("x1"), plane.x(report.points[0].intensity(MemoryLevel::hbm)), 0.02);
    EXPECT_NEAR(element.number("x2"), plane.x(report.points[0].intensity(MemoryLevel::l2)), 0.02);
    EXPECT_EQ(element.at("y1"), element.at("y2"));
  }
  EXPECT_EQ(found, 1);
}

TEST(KernelSvg, OutsidePointsHaveAnArrowAndSayWhere) {
  const RooflineReport report = sample_report();
  const std::string svg = kernel_roofline_svg(report);
  EXPECT_THAT(svg, HasSubstr("no FLOPs counted"));
  EXPECT_THAT(svg, HasSubstr("0.077 FLOP/B lies left of the frame"));
  const SvgFile file = kernel_file(report);
  std::size_t outside = 0;
  for (const SvgElement& element : file.of_class("point"))
    if (element.has_class("outside")) {
      ++outside;
      const Plane plane = kernel_plane(report);
      const bool is_in_strip = translation(element).y > plane.bottom();
      EXPECT_EQ(element.has_class("in-strip"), is_in_strip);
      if (!is_in_strip) {
        EXPECT_GE(translation(element).x, plane.left);
      }
    }
  EXPECT_EQ(outside, 2U);
  EXPECT_EQ(file.of_class("arrow").size(), 2U);
}

/// Ninety norms are one cell of the strip with two marks, and with their number; the optimizer has a cell of its own.
TEST(KernelSvg, PointsWithoutFlopsStandInTheStripByTheirNames) {
  std::vector<OperatorPoint> points(60, sample_point("norm", PointKind::norm, Pass::forward, 0, 1e8, 0, 0.002));
  points.resize(90, sample_point("norm dX", PointKind::norm, Pass::input_grad, 0, 1e8, 0, 0.001));
  points.push_back(sample_point("optimizer", PointKind::optimizer, Pass::step, 0, 1e8, 0, 0.01));
  const RooflineReport report = kernel_report_of(points);
  for (const Sheet sheet : {Sheet::wide, Sheet::narrow}) {
    const std::string svg = kernel_roofline_svg(report, sheet);
    const SvgFile file = testing_svg::read_svg(svg);
    const Plane plane = kernel_plane(report, sheet);
    std::set<std::pair<int, int>> places;
    for (const SvgElement& element : file.of_class("point")) {
      const testing_svg::SvgPlace place = translation(element);
      places.emplace(static_cast<int>(place.x), static_cast<int>(place.y));
      EXPECT_LT(place.x, sheet_width(sheet));
      EXPECT_GT(place.y, plane.bottom());
    }
    EXPECT_EQ(places.size(), 3U);
    EXPECT_THAT(svg, HasSubstr(">norm \u00d790 15.0 %<"));
    EXPECT_THAT(svg, HasSubstr(">optimizer 1.0 %<"));
    EXPECT_THAT(svg, HasSubstr("no FLOPs counted, or left of and below the frame"));
  }
}

/// The products of experts run once for each expert of a rank: they have FLOPs, a place and a name as others have.
TEST(KernelSvg, ProductsOfExpertsStandInThePlaneWithTheirNames) {
  OperatorPoint grouped = sample_point("expert.up dX", PointKind::experts, Pass::input_grad, 8e12, 8e9, 5e14, 0.2);
  grouped.shape = "4096 x 7168 x 4096, 8 times";
  const RooflineReport report = kernel_report_of({grouped});
  const SvgFile file = kernel_file(report);
  const Plane plane = kernel_plane(report);
  EXPECT_NEAR(translation(file.of_class("point").at(0)).x, plane.x(1000), 0.5);
  EXPECT_FALSE(file.of_class("point").at(0).has_class("in-strip"));
  EXPECT_THAT(kernel_roofline_svg(report), HasSubstr(">expert.up dX 20.0 %<"));
}

/// Three operators in one place, one of them in two blocks: a list has their number, sum and names.
TEST(KernelSvg, MarksOnOneAnotherAreNamedInOneList) {
  const auto one = [](const char* name, double bytes, double share) {
    return sample_point(name, PointKind::mlp, Pass::forward, 1e12, bytes, 5e14, share);
  };
  const RooflineReport report = kernel_report_of({one("up", 1e9, 0.2), one("down", 1.01e9, 0.1), one("up", 1e9, 0.05)});
  for (const Sheet sheet : {Sheet::wide, Sheet::narrow}) {
    const std::string svg = kernel_roofline_svg(report, sheet);
    EXPECT_THAT(svg, HasSubstr(">3 operators here: 35.0 %<"));
    EXPECT_THAT(svg, HasSubstr(">up \u00d72 25.0 %<"));
    EXPECT_THAT(svg, HasSubstr(">down 10.0 %<"));
    EXPECT_THAT(svg, HasSubstr("data-points=\"0 2\""));
  }
  const RooflineReport apart = kernel_report_of({one("up", 1e9, 0.01), one("down", 1e11, 0.01)});
  EXPECT_THAT(kernel_roofline_svg(apart), Not(HasSubstr("operators here")));
}

TEST(KernelLabels, HeapsAreMarksThatLieOnOneAnother) {
  const PlaneMark a{{100, 100}, 10}, near{{108, 100}, 10}, chained{{116, 100}, 10}, far{{150, 100}, 10};
  PlaneMark below{{100, 100}, 10};
  below.in_strip = true;
  const std::vector<std::vector<std::size_t>> expected = {{0, 1, 3}, {2}};
  EXPECT_EQ(heaps_of({a, near, far, chained, below}), expected);
  EXPECT_TRUE(heaps_of({}).empty());
}

TEST(KernelSvg, LabelsOfRoofsKeepTheirDistance) {
  RooflineReport report = sample_report();
  for (int i = 0; i < 12; ++i)
    report.roofs.compute.push_back({Precision::fp8, RoofBasis::sustained, FlopsPerSecond(1e15), "law"});
  std::vector<double> places;
  const std::string svg = kernel_roofline_svg(report);
  const SvgFile file = testing_svg::read_svg(svg);
  for (std::size_t i = 0; i + 2 < file.elements.size(); ++i)
    if (file.elements[i].has_class("roof-label") && file.elements[i].has_class("compute"))
      places.push_back(file.elements[i + 2].number("y"));
  ASSERT_EQ(places.size(), report.roofs.compute.size());
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i) EXPECT_GE(places[i] - places[i - 1], 14.9);
}

TEST(KernelSvg, NamesOfPointsDoNotOverlap) {
  std::vector<SvgBox> boxes;
  testing_svg::SvgPlace point;
  const SvgFile file = kernel_file(sample_report());
  for (const SvgElement& element : file.elements) {
    if (element.at("data-level") == "l2") break;  // hidden until the script shows them
    if (element.has_class("labels") || element.has_class("heap")) point = {};
    if (element.has_class("mark-label")) point = translation(element);
    if (!element.has_class("ground")) continue;
    const double left = point.x + element.number("x"), top = point.y + element.number("y");
    boxes.push_back({left + 2, top, left + element.number("width") - 1, top + element.number("height")});
  }
  EXPECT_GE(boxes.size(), 3U);
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(boxes[i].overlaps(boxes[j])) << i << " and " << j;
}

/// Every text of a narrow picture ends before its sheet does; the width is an estimate on the wide side.
TEST(NarrowSheet, HoldsEveryTextOfEveryPicture) {
  for (const auto& picture : {kernel_roofline_svg, network_roofline_svg, waterfall_svg, boundaries_svg}) {
    const SvgFile file = testing_svg::read_svg(picture(sample_report(), Sheet::narrow));
    EXPECT_EQ(file.wrong, "");
    EXPECT_EQ(file.elements.front().number("width"), narrow_sheet);
    EXPECT_THAT(file.elements.front().at("id"), testing::EndsWith("-narrow"));
    std::size_t texts = 0;
    for (const SvgElement& element : file.elements) {
      if (element.name != "text" || !element.attributes.contains("x") || element.number("x") <= 0) continue;
      const double width = 0.85 * svg_text_width(element.text, picture_font), x = element.number("x");
      ++texts;
      const double half = element.has_class("mid") ? width / 2 : 0,
                   left = element.has_class("end") ? x - width : x - half;
      EXPECT_GE(left, -1) << element.text;
      EXPECT_LE(element.has_class("end") ? x : left + width, narrow_sheet + 1) << element.text;
    }
    EXPECT_GT(texts, 5U);
  }
}

TEST(KernelSvg, OnlyThePlansTypeIsLoud) {
  const SvgFile file = kernel_file(sample_report());
  std::size_t loud = 0, quiet = 0;
  for (const SvgElement& element : file.of_class("compute")) {
    if (element.name != "line") continue;
    loud += element.has_class("main") ? 1 : 0;
    quiet += element.has_class("quiet") ? 1 : 0;
  }
  EXPECT_EQ(loud, 3U);
  EXPECT_EQ(quiet, 4U);
  EXPECT_THAT(kernel_roofline_svg(sample_report()), HasSubstr("HBM ridge, datasheet: 250 FLOP/B"));
}

TEST(KernelSvg, MarksOfOneRadiusHaveOneArea) {
  for (const PointPass pass : {PointPass::forward, PointPass::backward, PointPass::recompute, PointPass::step})
    EXPECT_NEAR(outlined_area(pass, 20), 400 * std::acos(-1.0), 3) << to_text(pass);
}

TEST(KernelSvg, AreaFollowsTheShareDownToWhatCanBePointedAt) {
  EXPECT_NEAR(mark_radius(0.4) / mark_radius(0.1), 2, 1e-9);
  EXPECT_GE(mark_radius(0), 4);
  EXPECT_GE(mark_radius(-1), 4);
  EXPECT_DOUBLE_EQ(mark_radius(3), mark_radius(1));
  EXPECT_GE(mark_radius(NAN), 4);
}

TEST(KernelSvg, EmptyAndBrokenFiguresStillDraw) {
  kernel_file(RooflineReport{});
  RooflineReport report = kernel_report_of({OperatorPoint{}});
  report.roofs.compute.push_back({Precision::fp16, RoofBasis::burst, FlopsPerSecond(0), ""});
  report.roofs.memory.push_back({MemoryLevel::l2, RoofBasis::assumed, BytesPerSecond(0), ""});
  report.roofs.ridges.push_back({});
  report.loose.push_back({});
  EXPECT_EQ(kernel_file(report).of_class("point").size(), 1U);
}

TEST(KernelSvg, FourHundredPointsInOnePlaceKeepTheirTitles) {
  std::vector<OperatorPoint> heap(400, sample_point("same", PointKind::mlp, Pass::forward, 1e12, 1e9, 5e14, 0.001));
  const SvgFile file = kernel_file(kernel_report_of(heap));
  EXPECT_EQ(file.of_class("point").size(), 400U);
  EXPECT_LE(file.of_class("label").size(), 16U);
  EXPECT_THAT(kernel_roofline_svg(kernel_report_of(heap)), HasSubstr(">same \u00d7400 40.0 %<"));
  std::size_t titles = 0;
  for (const SvgElement& element : file.elements)
    if (element.name == "title" && element.text.find("at the same place: ") != std::string::npos) ++titles;
  EXPECT_EQ(titles, 400U);
  EXPECT_THAT(kernel_roofline_svg(kernel_report_of(heap)), HasSubstr("same, same and 393 more"));
  for (OperatorPoint& point : heap) point.name = std::string(10000, 'n');
  // each name once, not 400 times
  EXPECT_LT(kernel_roofline_svg(kernel_report_of(heap)).size(), std::size_t{10'000'000});
}

TEST(KernelSvg, HostileNamesAreTextAndWholeInTheTitle) {
  const std::string name = "<script>alert(\"1\")</script>&'\x02" + std::string(10000, 'x');
  RooflineReport report = kernel_report_of({sample_point(name, PointKind::mlp, Pass::forward, 1e12, 1e9, 5e14, 0.1)});
  report.network = report.machine = report.gpu = report.split = name;
  report.roofs.compute[0].from = report.points[0].law = report.points[0].shape = name;
  const SvgFile file = kernel_file(report);
  const std::string svg = kernel_roofline_svg(report);
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, HasSubstr(std::string(10000, 'x')));
  for (const SvgElement& element : file.elements)
    if (element.name == "text") {
      EXPECT_LT(element.text.size(), 300U);
    }
}

TEST(PictureFile, CarriesItsStyleForBothSchemes) {
  const std::string file = standalone_svg(kernel_roofline_svg(sample_report()));
  EXPECT_TRUE(file.starts_with("<?xml"));
  EXPECT_EQ(testing_svg::read_svg(file).wrong, "");
  EXPECT_THAT(file, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(file, Not(HasSubstr("url(")));
  EXPECT_THAT(file, Not(HasSubstr("http://www.w3.org/1999/xlink")));
}

TEST(PictureFile, HoldsAllFourBelowEachOther) {
  const SvgFile file = testing_svg::read_svg(roofline_svg(sample_report()));
  EXPECT_EQ(file.wrong, "");
  std::vector<std::string> ids;
  double bottom = 0;
  for (std::size_t i = 0; i < file.elements.size(); ++i) {
    if (file.elements[i].name != "svg") continue;
    ids.push_back(file.elements[i].at("id"));
    if (i == 0) continue;
    EXPECT_GE(translation(file.elements[i - 1]).y, bottom);
    bottom = translation(file.elements[i - 1]).y + file.elements[i].number("height");
  }
  EXPECT_EQ(
      ids, (std::vector<std::string>{"roofline", "kernel-roofline", "network-roofline", "waterfall", "boundaries"}));
  EXPECT_LE(bottom, file.elements[0].number("height"));
  EXPECT_EQ(testing_svg::read_svg(roofline_svg(RooflineReport{})).wrong, "");
}

}  // namespace
}  // namespace stepcast::roofline
