// Lines of expanded mappings against each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/rules/mapping_difference.h"

namespace stepcast::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* split_by_8 = "mesh tp:8 cp:1 dp:2 pp:1\npar g*r on tp\npar b on dp\nhome optimizer: * on dp*cp\n";

TEST(MappingDifference, LinesOfAxesOfOneRankAreNotThere) {
  // The aliases write `par g*r on tp` at tp 1 too, where it splits nothing.
  const std::string whole = "mesh tp:1 cp:1 dp:16 pp:1\npar g*r on tp\npar b on dp\nhome optimizer: * on dp*cp\n";
  EXPECT_THAT(mapping_difference(split_by_8, whole),
      ElementsAre("+ mesh tp:8 cp:1 dp:2 pp:1", "+ par g*r on tp", "- mesh tp:1 cp:1 dp:16 pp:1"));
}

TEST(MappingDifference, OneAxisOfAProductIsEnough) {
  // dp is 1, cp is not: the optimizer still lies over both.
  const std::string here = "mesh tp:1 cp:2 dp:1 pp:1\nhome optimizer: * on dp*cp\n",
                    there = "mesh tp:1 cp:2 dp:1 pp:1\n";
  EXPECT_THAT(mapping_difference(here, there), ElementsAre("+ home optimizer: * on dp*cp"));
  EXPECT_THAT(mapping_difference(there, here), ElementsAre("- home optimizer: * on dp*cp"));
}

TEST(MappingDifference, LinesWithoutAxesAndSchedulesAlwaysCount) {
  const std::string four = "mesh tp:1 pp:1\npar layer on pp sched 1f1b for mb:4\n",
                    eight = "mesh tp:1 pp:1\nrecompute attn.core\npar layer on pp sched 1f1b for mb:8\n";
  EXPECT_THAT(mapping_difference(four, eight), ElementsAre("+ par layer on pp sched 1f1b for mb:4",
                                                   "- recompute attn.core", "- par layer on pp sched 1f1b for mb:8"));
}

TEST(MappingDifference, LinesOnAxesOfSeveralHomes) {
  const std::string here = "mesh x:1 yz:4\nat mlp: home weights: h on x, f on yz\n", there = "mesh x:1 yz:4\n";
  EXPECT_THAT(mapping_difference(here, there), ElementsAre("+ at mlp: home weights: h on x, f on yz"));
}

TEST(MappingDifference, RepeatedLinesArePaired) {
  EXPECT_THAT(mapping_difference("save O at use\nsave O at use\n", "save O at use\n"), ElementsAre("+ save O at use"));
  EXPECT_THAT(mapping_difference(split_by_8, split_by_8), IsEmpty());
}

}  // namespace
}  // namespace stepcast::launch
