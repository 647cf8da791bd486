#include "studies/compare/traced/table_clocks.h"

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/compare/clocks.h"
#include "tests/studies/compare/hand_trace.h"

namespace stepcast::comparison::table_clocks_test {
namespace {

using hand_trace::trace_of;
using testing::HasSubstr;

ReadTrace read_of(std::int64_t rank, std::int64_t device) {
  RankTrace trace = trace_of({{"a_gemm", 0, 100}});
  trace.rank = rank, trace.device = device, trace.file = fmt::format("rank{}.json", rank);
  FoundSteps steps = find_steps(trace);
  return {std::move(trace), std::move(steps)};
}

/// GPU i of `gpus` ran at 1000 + 100 i MHz.
ClockTable table_of(std::int64_t gpus) {
  ClockTable table;
  table.file = "clocks.csv";
  for (std::int64_t i = 0; i < gpus; ++i) table.gpus[i] = {{NAN, 1000 + 100.0 * static_cast<double>(i)}};
  return table;
}
Expected<void> take(const ClockTable& table, std::vector<ReadTrace>& traces) {
  std::vector<RankTrace*> ranks;
  for (ReadTrace& one : traces) ranks.push_back(&one.trace);
  return take_table_clocks(table, ranks);
}
std::string error_of(const ClockTable& table, std::vector<ReadTrace> traces) {
  const auto taken = take(table, traces);
  return taken ? "" : to_text(taken.error());
}

TEST(TableClocks, EachTraceTakesItsGpus) {
  std::vector<ReadTrace> traces{read_of(8, 0), read_of(11, 3)};
  ASSERT_TRUE(take(table_of(8), traces));
  EXPECT_EQ(clock_of(traces[1].trace, traces[1].steps), 1300);
  EXPECT_EQ(clock_text(traces[1].trace, traces[1].steps),
      "the GPU's cores ran at 1300 MHz in the median by GPU 3 of clocks.csv");
}

TEST(TableClocks, WhatIsReplacedIsSaid) {
  std::vector<ReadTrace> traces{read_of(0, 0)};
  traces[0].trace.clocks = {{50, 1980}};
  ASSERT_TRUE(take(table_of(1), traces));
  EXPECT_EQ(replaced_clock_of(traces[0].trace, traces[0].steps), 1980);
  EXPECT_THAT(clock_text(traces[0].trace, traces[0].steps),
      HasSubstr("ran at 1000 MHz in the median by GPU 0 of clocks.csv, in place of 1980 MHz that the trace recorded"));
}

/// Ranks 0 and 8 of hosts of 8 are both GPU 0, and so are ranks that see one GPU each; 0 and 9 are of two hosts.
TEST(TableClocks, OfOneHostAlone) {
  EXPECT_THAT(
      error_of(table_of(8), {read_of(0, 0), read_of(8, 0)}), HasSubstr("rank0.json and rank8.json are both of GPU 0"));
  EXPECT_THAT(error_of(table_of(8), {read_of(0, 0), read_of(9, 1)}),
      HasSubstr("has GPUs 0 to 7, and there are traces of ranks 0 and 9: of two hosts"));
  EXPECT_THAT(
      error_of(table_of(1), {read_of(0, 0), read_of(1, 1)}), HasSubstr("has samples of 1 GPU, and there are 2 traces"));
  EXPECT_THAT(error_of(table_of(2), {read_of(3, 3)}), HasSubstr("has no samples of GPU 3 of rank3.json"));
}

TEST(TableClocks, AGpuWithoutNumberIsThatOfTheOneTrace) {
  ClockTable table = table_of(1);
  table.numbered = false;
  EXPECT_EQ(error_of(table, {read_of(3, 3)}), "");
  EXPECT_THAT(error_of(table, {read_of(0, 0), read_of(1, 1)}), HasSubstr("samples of 1 GPU, and there are 2 traces"));
}

}  // namespace
}  // namespace stepcast::comparison::table_clocks_test
