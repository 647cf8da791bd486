#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "studies/print/table.h"
#include "tests/studies/roofline/sample_report.h"

namespace stepcast::roofline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_pictures::sample_report;

std::string terminal_text_of(const RooflineReport& report, bool unicode = true, bool color = false) {
  std::ostringstream out, err;
  return roofline_text(report, Console{out, err, color, unicode, 100});
}

std::size_t widest_terminal_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, shown_width(line));
  return widest;
}

TEST(RooflineText, ShowsOperatorsCollectivesFallAndLevers) {
  const std::string text = terminal_text_of(sample_report());
  for (const char* part :
      {"Roofline of llama3-70b on 64 x H100 SXM", "MFU 42.0 %, HFU 48.0 %", "  A  mlp.up dX      bwd   17.0 %",
          "3,455   640 TFLOP/s", "L is not in the plot: no FLOPs counted", "1 more, lighter", "norm1.y all_gather",
          "56.2 %", "limited by node", "model FLOPs at peak", "-9.0 %  tensor parallelism: 8 to 4",
          "warning: a point lies above its roof", "clocks not recorded", "ridge 250 FLOP/B"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(RooflineText, LettersStandInThePlot) {
  const std::string text = terminal_text_of(sample_report());
  const std::string plot = text.substr(0, text.find("Operators"));
  for (const char* letter : {"A", "E", "J", "K"}) EXPECT_THAT(plot, HasSubstr(letter));
  EXPECT_THAT(plot, Not(HasSubstr("L\u2800")));
  EXPECT_THAT(plot, HasSubstr("10,000  FLOP/B"));
}

TEST(RooflineText, FitsIntoAHundredColumns) {
  EXPECT_LE(widest_terminal_line(terminal_text_of(sample_report())), 100U);
}

TEST(RooflineText, ShapesStayReadable) {
  RooflineReport report = sample_report();
  report.points[0].shape = "8192 x 28672 x 8192", report.points[1].shape = "8192 keys, heads of 128, causal";
  EXPECT_THAT(terminal_text_of(report), HasSubstr("8192x28672x8192 "));
  EXPECT_THAT(terminal_text_of(report), HasSubstr("8192 keys, heads of\u2026"));
}

TEST(RooflineText, ShowsWhatWasTimed) {
  RooflineReport report = sample_report();
  EXPECT_THAT(terminal_text_of(report), HasSubstr("measured: 1 of 13 operators"));
  EXPECT_THAT(terminal_text_of(report), HasSubstr("compute  750 TFLOP/s"));
  EXPECT_THAT(terminal_text_of(report), Not(HasSubstr("source")));
  report.loose.clear();
  for (OperatorPoint& point : report.points) point.measured.reset();
  EXPECT_THAT(terminal_text_of(report), Not(HasSubstr("measured:")));
  EXPECT_THAT(terminal_text_of(report), HasSubstr("source"));
}

TEST(RooflineText, SaysWhatIsAssumedAndKeepsLargeIntensitiesShort) {
  RooflineReport report = sample_report();
  for (LinkPoint& point : report.links.points) point.flops_per_byte = 1.753e15;
  for (BoundaryRow& row : report.boundaries[0].rows) row.time = Seconds(0.002), row.basis = RoofBasis::assumed;
  report.fall.levers[0].to = "interleaved-1f1b, 2";
  const std::string text = terminal_text_of(report);
  EXPECT_THAT(text, HasSubstr("1.75 P"));
  EXPECT_THAT(text, HasSubstr("in 2.00 ms (assumed)"));
  EXPECT_THAT(text, HasSubstr("to interleaved-1f1b, 2;"));
}

TEST(RooflineText, PlainWhereTheConsoleIs) {
  const std::string text = terminal_text_of(sample_report(), false, false);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\u2588")));
  EXPECT_THAT(text, HasSubstr("####"));
  EXPECT_THAT(terminal_text_of(sample_report(), true, true), HasSubstr("\x1b[1m"));
}

TEST(RooflineText, EmptyReportHasNoTables) {
  const std::string text = terminal_text_of(RooflineReport{});
  EXPECT_THAT(text, HasSubstr("sends nothing between GPUs"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("inf")));
}

TEST(RooflineText, NamesMoveNoCursor) {
  RooflineReport report = sample_report();
  report.network = report.points[0].name = report.links.points[0].name = report.boundaries[0].name =
      report.fall.bars[0].name = "\x1b[2J" + std::string(10000, 'w');
  const std::string text = terminal_text_of(report);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_LE(widest_terminal_line(text), 112U);
}

}  // namespace
}  // namespace stepcast::roofline
