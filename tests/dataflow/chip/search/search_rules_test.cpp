// What a partial mapping fixes stays fixed, what cannot be met is explained, and the result depends on the seed only.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dataflow/chip/count/count.h"
#include "dataflow/chip/search/search.h"

namespace stepcast::dataflow {
namespace {

const std::string kSearchArray =
    "arch dram { glb cap:128 KiB { pe[16x16] { rf cap:512 B } } }\ndim m:128 n:2304 k:768\nqkv: O[m,n] += I[m,k] * "
    "W[k,n]\n";
const std::string kSmallArray =
    "arch dram { glb cap:2 KiB { pe[4x4] { rf cap:64 B } } }\ndim m:32 n:48 k:16\np: O[m,n] += I[m,k] * W[k,n]\n";

Expected<SearchResult> mapped(const std::string& text, SearchOptions options = {}) {
  auto program = parse(text, "map.flow");
  if (!program) return tl::unexpected(program.error());
  auto problem = search_problem(*program, "");
  if (!problem) return tl::unexpected(problem.error());
  return search(problem->start, problem->constraints, options);
}

SearchResult expect_mapped(const std::string& text, SearchOptions options = {}) {
  auto result = mapped(text, options);
  if (!result) return ADD_FAILURE() << text << "\n" << to_text(result.error()), SearchResult{};
  return *result;
}

std::int64_t time_of(const ChipLevel& level, int dim) {
  std::int64_t trips = 1;
  for (const ChipLoop& loop : level.time)
    if (loop.dim == dim) trips *= loop.trips;
  return trips;
}

TEST(SearchRules, QkvOfGpt2IsCovered) {
  for (const SearchObjective objective : {SearchObjective::time, SearchObjective::energy, SearchObjective::traffic}) {
    SearchOptions options;
    options.objective = objective;
    const SearchResult result = expect_mapped(kSearchArray, options);
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.gap, 0);
    EXPECT_EQ(result.lower_bound, objective_of(result.score, objective));
    EXPECT_EQ(result.score.cycles, 128.0 * 2304 * 768 / 256);  // whole array at work in every cycle
    EXPECT_GE(result.score.traffic_bytes, 2.0 * (128 * 768 + 768 * 2304 + 128 * 2304));
    EXPECT_GT(result.space, 1e13);
  }
}

TEST(SearchRules, PrintedMappingIsTheSameMapping) {
  const SearchResult result = expect_mapped(kSmallArray);
  const std::string text = print(written_chip(result.best));
  const auto program = parse(text, "again.flow");
  ASSERT_TRUE(program) << text;
  const auto chip = chip_program(*program, "");
  ASSERT_TRUE(chip) << text << to_text(chip.error());
  Counts counts;
  count(*nest_of(*chip), counts);
  EXPECT_EQ(score(*nest_of(*chip), counts, score_table(*chip)).energy_pj, result.score.energy_pj);
}

TEST(SearchRules, StatedFactorsOrdersAndListsStay) {
  const SearchResult result =
      expect_mapped(kSmallArray + "dram: for n:6 for k:*\nglb: [I O] for m:4\npe: par k:4 on x");
  const auto& levels = result.best.levels;
  EXPECT_EQ(time_of(levels[0], 1), 6);
  EXPECT_EQ(time_of(levels[1], 0), 4);
  EXPECT_EQ(levels[1].keeps, (std::vector<bool>{true, false, true}));
  std::int64_t parts = 1;
  for (const ChipLoop& loop : levels[2].space)
    if (loop.dim == 2 && loop.axis == 0) parts *= loop.trips;
  EXPECT_EQ(parts, 4);
  int n = -1, k = -1;
  for (int i = 0; i < static_cast<int>(levels[0].time.size()); ++i) {
    if (levels[0].time[i].dim == 1) n = i;
    if (levels[0].time[i].dim == 2) k = i;
  }
  if (k >= 0) {
    EXPECT_LT(n, k);
  }
}

TEST(SearchRules, AnAxisGivenToALoopCarriesNoOther) {
  const SearchResult result = expect_mapped(kSmallArray + "pe: par n on x");
  for (const ChipLoop& loop : result.best.levels[2].space)
    if (loop.axis == 0) {
      EXPECT_EQ(loop.dim, 1);
    }
}

TEST(SearchRules, SeedAndThreads) {
  SearchOptions options;
  options.objective = SearchObjective::time;
  const SearchResult one = expect_mapped(kSmallArray, options);
  options.threads = 3;
  const SearchResult three = expect_mapped(kSmallArray, options);
  EXPECT_EQ(one.best, three.best);
  EXPECT_EQ(one.evaluated, three.evaluated);
  EXPECT_EQ(one.pruned, three.pruned);
  options.seed = 77;
  EXPECT_NEAR(expect_mapped(kSmallArray, options).score.cycles, one.score.cycles, 1e-9 * one.score.cycles);
}

TEST(SearchRules, ABudgetGivesAGapToAProvenBound) {
  const double optimum = expect_mapped(kSearchArray).score.energy_pj;
  for (const std::int64_t budget : {20'000, 300'000}) {
    SearchOptions options;
    options.most_evaluations = budget;
    const SearchResult few = expect_mapped(kSearchArray, options);
    EXPECT_LE(few.lower_bound, optimum * (1 + 1e-9));
    EXPECT_GE(few.score.energy_pj, optimum * (1 - 1e-9));
    EXPECT_NEAR(few.gap, few.score.energy_pj / few.lower_bound - 1, 1e-12);
    EXPECT_LT(few.gap, 5);
    options.threads = 2;
    EXPECT_EQ(expect_mapped(kSearchArray, options).best, few.best);
  }
}

TEST(SearchRules, ManyLoopsAreSearchedInPart) {
  SearchOptions options;
  options.most_evaluations = 100'000;
  const SearchResult result =
      expect_mapped("arch dram { glb cap:256 KiB { pe[13x3] { rf cap:1 KiB } } }\ndim p:13 q:13 c:256 k:384 r:3 s:3\n"
                    "conv: O[k,p,q] += I[c,p+r,q+s] * W[k,c,r,s]",
          options);
  EXPECT_FALSE(result.complete);
  EXPECT_GT(result.lower_bound, 0);
  EXPECT_LT(result.gap, 3);
  EXPECT_GE(result.score.traffic_bytes, 2.0 * (256 * 15 * 15 + 384 * 256 * 9 + 384 * 13 * 13));
}

TEST(SearchRules, RaggedTilesWhereWholeOnesLeaveUnitsIdle) {
  SearchOptions options;
  options.objective = SearchObjective::time;
  const SearchResult result =
      expect_mapped("arch dram { glb { pe[16] } }\ndim m:101 k:8\np: O[m] += I[m,k] * W[k]\npe: par m on x", options);
  EXPECT_EQ(result.score.cycles, 7 * 8);  // 101 over 16 units: 7 rounds, the last one for 5 of them
  EXPECT_NE(result.note.find("m rounded up to 112"), std::string::npos) << result.note;
}

TEST(SearchRules, StatedRaggedFactors) {
  const SearchResult result =
      expect_mapped("arch dram { glb { pe[16] } }\ndim m:100 k:8\np: O[m] += I[m,k] * W[k]\npe: par m:16? on x");
  EXPECT_EQ(result.score.cycles, 7 * 8);
}

TEST(SearchRules, ImpossibleConstraints) {
  struct Case {
    const char* lines;
    const char* where;
    const char* said;
  };
  for (const Case& c : {Case{"glb: for k:5", "map.flow:4:1", "'for k:5' at glb does not divide 16"},
           Case{"glb: for k:5", "map.flow:4:1", "1, 2, 4, 8, 16"},
           Case{"dram: for k:4\nglb: for k:8", "map.flow:5:1",
               "does not divide 4, what the other stated factors leave of k (16)"},
           Case{"pe: par n:8 on x", "map.flow:4:1", "makes 8 parts on an axis of 4 units of pe"},
           Case{"pe: par n:2 on x par m:4 on x", "map.flow:4:1", "makes 8 parts on an axis of 4 units of pe"},
           Case{"glb: for k:2 for m:2 for k:2", "map.flow:4:1", "is a second loop over k there"},
           Case{"rf: for k:16 for n:4 [W]", "map.flow:4:1", "rf needs 128 B but has 64 B"},
           Case{"dram: [I W]", "map.flow:4:1", "O is kept at glb, but not at dram, the outermost store"},
           Case{"dram: for k:2\nglb: for k:2\nrf: for k:2\npe: par k:1 on x par k:1 on y", "map.flow:6:1",
               "the stated factors of k give 8 of 16, and every level states one"},
           Case{"gbl: for k:2", "map.flow:4:1", "did you mean 'glb'?"},
           Case{"pe: par n:2 on z", "map.flow:4:1", "unknown axis 'z'"}}) {
    const auto result = mapped(kSmallArray + c.lines);
    ASSERT_FALSE(result) << c.lines;
    EXPECT_EQ(result.error().where, c.where) << c.lines << "\n" << to_text(result.error());
    EXPECT_NE(to_text(result.error()).find(c.said), std::string::npos) << c.lines << "\n" << to_text(result.error());
  }
}

TEST(SearchRules, WhichStatementLeavesNoMapping) {
  const auto result = mapped(
      "arch dram { glb cap:16 B { pe[4] } }\ndim m:32 n:48 k:16\np: O[m,n] += I[m,k] * W[k,n]\nglb: [I W O]\npe: par "
      "m:4 on x");
  ASSERT_FALSE(result);
  EXPECT_NE(to_text(result.error()).find("glb"), std::string::npos) << to_text(result.error());
}

}  // namespace
}  // namespace stepcast::dataflow
