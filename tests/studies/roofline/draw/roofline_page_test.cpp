// The roofline's page: alone, well formed, escaped whatever the names hold, with all rows and the document that its
// script reads.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/base/quantity_text.h"
#include "studies/print/page/html_text.h"
#include "studies/print/page/page.h"
#include "studies/roofline/draw/page.h"
#include "studies/roofline/draw/page_tables.h"
#include "studies/roofline/draw/pictures.h"
#include "tests/studies/roofline/sample_report.h"

namespace stepcast::roofline {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing_pictures::sample_report;

std::size_t times_in(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

/// What the browser takes for the data: all up to the first end of a script.
std::string data_of_page(const std::string& page) {
  const std::string begin_mark = "<script id=\"data\" type=\"application/json\">";
  const std::size_t begin = page.find(begin_mark) + begin_mark.size();
  return page.substr(begin, page.find("</script", begin) - begin);
}

/// Without scripts and styles: the elements that the browser builds.
std::string markup_of_page(std::string page) {
  for (const std::string element : {"script", "style"})
    for (std::size_t at = page.find("<" + element); at != std::string::npos; at = page.find("<" + element)) {
      const std::string end = "</" + element + ">";
      page.erase(at, page.find(end, at) + end.size() - at);
    }
  return page;
}

/// "" or the first tag that closes nothing, stays open or has an odd number of quotes.
std::string tag_out_of_place(const std::string& markup) {
  const std::set<std::string> single = {"!DOCTYPE", "meta", "link", "input"};
  std::vector<std::string> open;
  for (std::size_t at = markup.find('<'); at != std::string::npos; at = markup.find('<', at + 1)) {
    const std::string tag = markup.substr(at + 1, markup.find('>', at) - at - 1),
                      name = tag.substr(0, tag.find_first_of(" /", 1));
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0 || tag.find('<') != std::string::npos) return tag;
    if (single.contains(name) || tag.ends_with('/')) continue;
    if (name.front() != '/') open.push_back(name);
    else if (open.empty() || "/" + open.back() != name) return tag;
    else open.pop_back();
  }
  return open.empty() ? "" : open.back();
}

/// Of the table in the element with this id.
std::size_t table_rows(const std::string& page, const std::string& id) {
  const std::size_t begin = page.find(" id=\"" + id + "\"");
  if (begin == std::string::npos) return 0;
  return times_in(page.substr(begin, page.find("</tbody>", begin) - begin), "<tr><th scope=\"row\"");
}

TEST(RooflinePage, StandsAloneAndAsksForNothing) {
  const std::string page = roofline_page(sample_report());
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr(page_mark("roofline")));
  EXPECT_THAT(page, HasSubstr("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "));
  for (const char* word :
      {"https:", "url(", "@import", "<img", "<iframe", " src=", "fetch(", "XMLHttpRequest", "import(", "WebSocket"})
    EXPECT_THAT(page, Not(HasSubstr(word)));
  EXPECT_EQ(times_in(page, "http:"), times_in(page, "xmlns=\"http://www.w3.org/2000/svg\"")) << "names, not addresses";
  EXPECT_EQ(tag_out_of_place(markup_of_page(page)), "");
  EXPECT_EQ(tag_out_of_place("<p><b></p>"), "/p") << "the check finds nothing";
}

TEST(RooflinePage, CarriesItsScriptsAndPicturesWhole) {
  const RooflineReport report = sample_report();
  const std::string page = roofline_page(report);
  for (const EmbeddedFile& file : embedded_roofline()) {
    EXPECT_THAT(page, HasSubstr(std::string(file.text))) << file.name;
    EXPECT_EQ(file.text.find("</script"), std::string_view::npos) << file.name;
    EXPECT_EQ(file.text.find("innerHTML"), std::string_view::npos) << file.name << " makes markup of texts";
  }
  for (const auto& picture : {kernel_roofline_svg, network_roofline_svg, waterfall_svg, boundaries_svg})
    for (const Sheet sheet : {Sheet::wide, Sheet::narrow}) EXPECT_THAT(page, HasSubstr(picture(report, sheet)));
  EXPECT_THAT(page, HasSubstr(picture_style()));
}

TEST(RooflinePage, HasEveryElementThatScriptsLookUp) {
  const std::string page = roofline_page(sample_report()), markup = markup_of_page(page), call = "byId(\"";
  std::size_t found = 0;
  for (const EmbeddedFile& file : embedded_roofline())
    for (std::size_t at = file.text.find(call); at != std::string_view::npos; at = file.text.find(call, at + 1)) {
      const std::string id(
          file.text.substr(at + call.size(), file.text.find('"', at + call.size()) - at - call.size()));
      if (id == "data") continue;
      EXPECT_EQ(times_in(markup, " id=\"" + id + "\""), 1U) << id;
      ++found;
    }
  EXPECT_GT(found, 5U);
  for (const char* id : {"kernel-figure", "network-figure", "dataflow-figure", "step-figure", "kernel-table",
           "loose-table", "network-table", "dataflow-table", "step-table", "datasheet", "measured"})
    EXPECT_EQ(times_in(markup, " id=\"" + std::string(id) + "\""), 1U) << id;
}

TEST(RooflinePage, HoldsTheDocumentThatTheJsonFileIs) {
  RooflineReport report = sample_report();
  report.network = "a </script> in a name";
  EXPECT_EQ(json::parse(data_of_page(roofline_page(report))), json::parse(roofline_json(report)));
}

TEST(RooflinePage, HasARowForEachOfTheDocument) {
  const RooflineReport report = sample_report();
  const std::string page = roofline_page(report);
  std::size_t boundaries = 0;
  for (const OperatorBoundaries& one : report.boundaries) boundaries += one.rows.size();
  EXPECT_EQ(table_rows(page, "kernel-table"), report.points.size());
  EXPECT_EQ(table_rows(page, "loose-table"), report.loose.size());
  EXPECT_EQ(table_rows(page, "network-table"), report.links.points.size());
  EXPECT_EQ(table_rows(page, "dataflow-table"), boundaries);
  EXPECT_EQ(table_rows(page, "step-table"), report.fall.bars.size());
  EXPECT_EQ(table_rows(page, "lever-table"), report.fall.levers.size());
  EXPECT_EQ(table_rows(page, "provenance"), report.provenance.facts.size());
}

TEST(RooflinePage, TablesShowTheFigures) {
  const RooflineReport report = sample_report();
  const std::string kernels = kernel_table(report), moves = network_table(report);
  for (const OperatorPoint& point : report.points) {
    EXPECT_THAT(kernels, HasSubstr(point.block + " " + point.name));
    EXPECT_THAT(kernels, HasSubstr(format_seconds(point.total())));
  }
  EXPECT_THAT(kernels, HasSubstr(format_seconds(report.points[2].measured->time) + " (+8.7 % forecast)")) << "1 / 0.92";
  for (const LinkPoint& point : report.links.points) EXPECT_THAT(moves, HasSubstr(html_percent(point.exposed_share())));
  EXPECT_EQ(table_intensity(0.25), "0.250");
  EXPECT_EQ(table_intensity(9.999), "10.0");
  EXPECT_EQ(table_intensity(708.4), "708");
  EXPECT_EQ(table_intensity(4551.6), "4,552");
  EXPECT_EQ(table_intensity(2113874798), "2.11 G");
}

TEST(RooflinePage, NothingMeasuredHasNoSuchColumn) {
  RooflineReport report = sample_report();
  EXPECT_THAT(kernel_table(report), HasSubstr(">measured</th>"));
  for (OperatorPoint& point : report.points) point.measured.reset();
  EXPECT_THAT(kernel_table(report), Not(HasSubstr(">measured</th>")));
  report.loose.clear();
  EXPECT_THAT(roofline_page(report), Not(HasSubstr("id=\"loose-table\"")));
}

TEST(RooflinePage, PointsAboveRoofsComeFirstAmongWarnings) {
  RooflineReport report = sample_report();
  report.points[3].warning = "1.2 times its roof: check the clocks";
  report.warnings = {"the forecast's own", "layer mlp.up: 1.2 times its roof: check the clocks"};
  report.forecast_warnings = 1;
  const std::string page = roofline_page(report);
  const std::size_t above = page.find("<li>layer mlp.up: 1.2 times"), own = page.find("<li>the forecast&#39;s own");
  ASSERT_NE(above, std::string::npos);
  ASSERT_NE(own, std::string::npos);
  EXPECT_LT(above, own);
  EXPECT_THAT(kernel_table(report), HasSubstr("above a roof"));
  report.warnings.clear();
  EXPECT_THAT(roofline_page(report), Not(HasSubstr("id=\"warnings\"")));
}

TEST(RooflinePage, HostileNamesStayText) {
  RooflineReport report = sample_report();
  const std::string name = "<script>alert(1)</script>\"'&" + std::string(5000, 'x');
  report.network = report.machine = report.gpu = report.split = name;
  report.points[0].name = report.points[0].block = report.points[0].shape = report.points[0].law = name;
  report.loose[0].kind = report.loose[0].shape = report.loose[0].source = name;
  report.links.points[0].name = report.links.points[0].link = report.links.points[0].because =
      report.links.roofs[0].name = name;
  OperatorBoundaries& boundaries = report.boundaries[0];
  boundaries.name = boundaries.nest = boundaries.rows[0].text = boundaries.rows[0].stationary = name;
  report.fall.bars[0].name = report.fall.bars[0].about = report.fall.levers[0].name = report.fall.levers[0].from = name;
  report.provenance.facts = {{name, name}};
  report.provenance.assumptions = report.warnings = report.roofs.notes = report.links.notes = {name};
  const std::string page = roofline_page(report);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_EQ(times_in(page, "<script"), 2U) << "the data and the page's own";
  EXPECT_EQ(tag_out_of_place(markup_of_page(page)), "");
  EXPECT_EQ(json::parse(data_of_page(page))["network"], name);
}

/// A run without network, dataflow or levers is still one.
TEST(RooflinePage, EmptyPartsLeaveNoEmptyTables) {
  RooflineReport report = sample_report();
  report.points.clear(), report.loose.clear(), report.boundaries.clear(), report.links.points.clear();
  report.fall.levers.clear();
  report.fall.levers_missing = "the sequence is cut into slices";
  const std::string page = roofline_page(report);
  EXPECT_EQ(tag_out_of_place(markup_of_page(page)), "");
  EXPECT_THAT(page, HasSubstr("No levers: the sequence is cut into slices."));
  for (const char* id : {"kernel-table", "network-table", "dataflow-table", "lever-table"})
    EXPECT_THAT(page, Not(HasSubstr(" id=\"" + std::string(id) + "\"")));
}

/// The figures say a known place, the picture has it there: a kernel on the ridge, at the peak.
TEST(RooflinePage, APointOnTheRidgeLiesOnTheRidgesMark) {
  RooflineReport report = sample_report();
  const double peak = testing_pictures::peak, ridge = testing_pictures::ridge;
  report.points = {
      testing_pictures::sample_point("product", PointKind::mlp, Pass::forward, ridge * 1e9, 1e9, peak, 0.2)};
  const std::string page = roofline_page(report);
  const auto place_behind = [&](const std::string& mark) {
    const std::size_t begin = page.find("translate(", page.find(mark));
    return page.substr(begin, page.find(')', begin) - begin);
  };
  ASSERT_THAT(page, HasSubstr("data-ridge=\"0\""));
  ASSERT_THAT(page, HasSubstr("data-point=\"0\" transform"));
  EXPECT_EQ(place_behind("data-point=\"0\" transform"), place_behind("data-ridge=\"0\""));
}

}  // namespace
}  // namespace stepcast::roofline
