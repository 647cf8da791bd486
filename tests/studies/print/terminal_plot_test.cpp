#include "studies/print/terminal_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <sstream>

namespace stepcast::print {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LogPlot squares() {
  LogPlot plot;
  plot.x_name = "x";
  plot.x_text = plot.y_text = [](double value) { return fmt::format("{:g}", value); };
  plot.frame = PlotFrame{1, 100, 1, 100};
  plot.rows = 11;
  return plot;
}

std::vector<std::string> plot_lines_of(const LogPlot& plot, bool unicode) {
  std::ostringstream out, err;
  std::istringstream text(plot_text(plot, Console{out, err, false, unicode, 60}));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST(TerminalPlot, LettersStandAtTheirPlace) {
  LogPlot plot = squares();
  plot.letters = {{1, 100, 'a'}, {100, 1, 'b'}, {10, 10, 'c'}};
  for (const bool unicode : {false, true}) {
    const auto lines = plot_lines_of(plot, unicode);
    ASSERT_GE(lines.size(), 12U);
    EXPECT_THAT(lines[0], HasSubstr("a"));
    EXPECT_THAT(lines[5], HasSubstr("c"));
    EXPECT_EQ(lines[10].back(), 'b');
  }
}

TEST(TerminalPlot, LaterLettersLieOverEarlierOnesAndOverLines) {
  LogPlot plot = squares();
  plot.lines.push_back({"line", {{1, 10}, {100, 10}}, 0, '*'});
  plot.letters = {{10, 10, 'x'}, {10, 10, 'y'}};
  const auto lines = plot_lines_of(plot, true);
  EXPECT_THAT(lines[5], HasSubstr("y"));
  EXPECT_THAT(lines[5], Not(HasSubstr("x")));
}

TEST(TerminalPlot, WhatLiesBeyondTheFrameIsNotDrawn) {
  LogPlot plot = squares();
  plot.letters = {{1000, 10, 'q'}, {10, 0.01, 'r'}, {0, 10, 's'}};
  for (const std::string& line : plot_lines_of(plot, false))
    EXPECT_EQ(line.find_first_of("qrs"), std::string::npos) << line;
}

TEST(TerminalPlot, WithoutAFrameLettersWidenTheRange) {
  LogPlot plot = squares();
  plot.frame.reset();
  plot.letters = {{1, 1, 'a'}, {1000, 1000, 'b'}};
  const auto lines = plot_lines_of(plot, true);
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines[0], HasSubstr("1000"));
  plot.letters.clear();
  EXPECT_TRUE(plot_lines_of(plot, true).empty());
}

}  // namespace
}  // namespace stepcast::print
