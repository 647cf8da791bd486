#include "studies/sweep/space/figures.h"

#include <cctype>
#include <limits>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::sweep {
namespace {

using testing::HasSubstr;

TEST(Figures, EveryOneHasARowOfItsOwn) {
  std::set<std::string_view> names, keys;
  for (std::size_t i = 0; i < figure_count; ++i) {
    const FigureRow& row = row_of(static_cast<Figure>(i));
    EXPECT_EQ(static_cast<std::size_t>(row.figure), i);
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(row.alias.empty() || names.insert(row.alias).second) << row.alias;
    EXPECT_TRUE(keys.insert(row.key).second) << row.key;
    EXPECT_FALSE(row.doc.empty()) << row.name;
    EXPECT_EQ(find_figure(row.name, "--pareto").value(), row.figure);
  }
  EXPECT_EQ(figure_rows().size(), figure_count);
}

/// A constraint reads a name as one word, a table as one column, a database as one field.
TEST(Figures, NamesAndKeysArePlainWords) {
  for (const FigureRow& row : figure_rows()) {
    for (const char c : row.name)
      EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.') << row.name;
    for (const char c : row.key) EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(c)) || c == '_') << row.key;
  }
}

TEST(Figures, KeysCarryTheirUnit) {
  for (const FigureRow& row : figure_rows()) {
    EXPECT_EQ(row.unit == FigureUnit::seconds, row.key.ends_with("_s")) << row.key;
    EXPECT_EQ(row.unit == FigureUnit::bytes, row.key.ends_with("_bytes")) << row.key;
    EXPECT_TRUE(row.unit != FigureUnit::count || row.key == row.name) << row.key;
  }
  EXPECT_EQ(row_of(Figure::cost).key, "cost_usd_per_billion_tokens");
  EXPECT_EQ(row_of(Figure::energy).key, "energy_j_per_step");
}

TEST(Figures, ThePlanIsKnownFirstThenMemory) {
  for (const FigureRow& row : figure_rows())
    EXPECT_EQ(row.unit == FigureUnit::count, row.needs == FigureNeeds::plan) << row.name;
  EXPECT_EQ(row_of(Figure::memory_peak).needs, FigureNeeds::memory);
  EXPECT_EQ(row_of(Figure::memory_headroom).needs, FigureNeeds::memory);
  EXPECT_EQ(row_of(Figure::weights).needs, FigureNeeds::forecast);
  EXPECT_EQ(row_of(Figure::step_time).needs, FigureNeeds::forecast);
  EXPECT_LT(FigureNeeds::plan, FigureNeeds::memory);
  EXPECT_LT(FigureNeeds::memory, FigureNeeds::forecast);
}

TEST(Figures, MoreIsBetterOfWhatOneWants) {
  for (const Figure figure : {Figure::tokens_per_s_per_gpu, Figure::mfu, Figure::hfu, Figure::memory_headroom})
    EXPECT_TRUE(row_of(figure).more_is_better) << row_of(figure).name;
  for (const Figure figure : {Figure::step_time, Figure::memory_peak, Figure::cost, Figure::energy, Figure::bubble})
    EXPECT_FALSE(row_of(figure).more_is_better) << row_of(figure).name;
}

TEST(Figures, ShortNamesAreReadToo) {
  EXPECT_EQ(find_figure("time", "--pareto").value(), Figure::step_time);
  EXPECT_EQ(find_figure("memory", "--pareto").value(), Figure::memory_peak);
  EXPECT_EQ(find_figure("memory_headroom", "--objective").value(), Figure::memory_headroom);
  EXPECT_FALSE(find_figure("step.time", "--objective"));
}

TEST(Figures, UnknownOnesSuggestTheNearest) {
  const auto near = find_figure("memory.peek", "--pareto");
  ASSERT_FALSE(near);
  EXPECT_EQ(to_text(near.error()), "--pareto: unknown figure 'memory.peek' (did you mean 'memory.peak'?)");
  EXPECT_EQ(to_text(find_figure("TP", "--pareto").error()), "--pareto: unknown figure 'TP' (did you mean 'tp'?)");
  const auto far = find_figure("throughput!", "--objective");
  ASSERT_FALSE(far);
  EXPECT_THAT(far.error().hint, HasSubstr("one of: step_time, p10, "));
  EXPECT_FALSE(find_figure("", "--objective"));  // not the missing alias of another
  EXPECT_LT(to_text(find_figure(std::string(100'000, 'x'), "--objective").error()).size(), 1000u);
}

TEST(Figures, TextAsReportsPrintIt) {
  EXPECT_EQ(figure_text(Figure::step_time, 20.31), "20.3 s");
  EXPECT_EQ(figure_text(Figure::optimizer, 0.0124), "12.4 ms");
  EXPECT_EQ(figure_text(Figure::pipeline_bubble, -1e-17), "0 ns");
  EXPECT_EQ(figure_text(Figure::mfu, 0.366), "36.6 %");
  EXPECT_EQ(figure_text(Figure::memory_peak, 40.1 * 0x1p30), "40.1 GiB");
  EXPECT_EQ(figure_text(Figure::memory_headroom, -3 * 0x1p30), "-3.00 GiB");
  EXPECT_EQ(figure_text(Figure::tokens_per_s_per_gpu, 12345.4), "12,345");
  EXPECT_EQ(figure_text(Figure::tp, 8), "8");
  EXPECT_EQ(figure_text(Figure::sequence, 131072), "131072");
  EXPECT_EQ(figure_text(Figure::zero, 0), "0");
}

TEST(Figures, TextOfMoneyAndEnergy) {
  EXPECT_EQ(figure_text(Figure::cost, 1.234), "$ 1.23");
  EXPECT_EQ(figure_text(Figure::cost, 41.5), "$ 41.50");
  EXPECT_EQ(figure_text(Figure::cost, 12345.6), "$ 12,346");
  EXPECT_EQ(figure_text(Figure::cost, 0.00123), "$ 0.0012");
  EXPECT_EQ(figure_text(Figure::energy, 4.13e6), "4.13 MJ");
  EXPECT_EQ(figure_text(Figure::energy, 999'900), "1.00 MJ");
  EXPECT_EQ(figure_text(Figure::energy, 5e5), "500 kJ");
}

TEST(Figures, WhatIsNotKnownIsADash) {
  EXPECT_EQ(figure_text(Figure::cost, std::numeric_limits<double>::quiet_NaN()), "-");
  EXPECT_EQ(figure_text(Figure::step_time, std::numeric_limits<double>::infinity()), "-");
}

}  // namespace
}  // namespace stepcast::sweep
