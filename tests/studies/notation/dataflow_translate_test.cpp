// The dataflow command's --translate: one program in other tools' words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "dataflow/translate/foreign.h"
#include "tests/studies/run_program.h"

namespace stepcast::notation {
namespace {

using testing::HasSubstr;

std::string shipped(const char* name) { return std::string(STEPCAST_SOURCE_DIR) + "/examples/" + name; }

TEST(Translate, AMeshInPlacements) {
  const auto ran = testing_program::run_line("dataflow " + shipped("summa.flow") + " --translate dtensor");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("I = [Shard(0), Shard(1)] -> [Shard(0), Replicate()]"));
  EXPECT_THAT(ran.out, HasSubstr("# not said by placements: move I, W multicast"));
  EXPECT_THAT(
      testing_program::run_line("dataflow " + shipped("summa.flow") + " --translate pope").out, HasSubstr("SUMMA"));
}

TEST(Translate, AnArrayInItsTaxonomyAndAsAMesh) {
  EXPECT_THAT(testing_program::run_line("dataflow " + shipped("ws_array.flow") + " --translate eyeriss").out,
      HasSubstr("weight-stationary"));
  EXPECT_THAT(testing_program::run_line("dataflow " + shipped("os_array.flow") + " --translate eyeriss").out,
      HasSubstr("output-stationary"));
  EXPECT_THAT(testing_program::run_line("dataflow " + shipped("is_array.flow") + " --translate eyeriss").out,
      HasSubstr("input-stationary"));
  EXPECT_THAT(testing_program::run_line("dataflow " + shipped("row_stationary.flow") + " --translate eyeriss").out,
      HasSubstr("row-stationary"));
  EXPECT_THAT(testing_program::run_line("dataflow " + shipped("ws_array.flow") + " --translate jax").out,
      HasSubstr("W = P('pe_x', 'pe_y')"));
}

TEST(Translate, JsonHoldsTheText) {
  const auto ran = testing_program::run_line("dataflow " + shipped("summa.flow") + " --translate shardy --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto document = nlohmann::json::parse(ran.out);
  EXPECT_EQ(document.at("target"), "shardy");
  EXPECT_THAT(document.at("text").get<std::string>(), HasSubstr("sdy.mesh @mesh = <[\"y\"=4, \"x\"=4]>"));
}

TEST(Translate, NotationPrintsBackToItself) {
  const auto once = testing_program::run_line("dataflow " + shipped("ws_array.flow") + " --translate notation");
  ASSERT_EQ(once.code, 0) << once.err;
  EXPECT_THAT(once.out, HasSubstr("par k:16 on x"));
}

TEST(Translate, UnknownTargetsAndIllFittingProgramsAreExplained) {
  const auto unknown = testing_program::run_line("dataflow " + shipped("summa.flow") + " --translate dtensr");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'dtensor'?"));
  const auto conv = testing_program::run_line("dataflow " + shipped("row_stationary.flow") + " --translate dtensor");
  EXPECT_EQ(conv.code, 2);
  EXPECT_THAT(conv.err, HasSubstr("indexed by a sum of loops"));
}

TEST(Translate, HelpNamesEveryTarget) {
  const std::string help = testing_program::run_line("dataflow --help").out;
  for (const ForeignFormat& row : foreign_formats()) {
    if (row.write == nullptr) continue;
    EXPECT_THAT(help, HasSubstr(row.name));
  }
}

}  // namespace
}  // namespace stepcast::notation
