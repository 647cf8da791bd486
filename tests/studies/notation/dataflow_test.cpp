// The dataflow command: programs with their own operators, placed and counted.
#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::notation {
namespace {

using testing::HasSubstr;

std::string example(const char* name) { return std::string(STEPCAST_SOURCE_DIR) + "/examples/" + name; }

TEST(DataflowCommand, SummaForwardMovesTwoPanels) {
  const auto ran = testing_program::run_line("dataflow " + example("summa.flow") + " --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  double received = 0;
  const auto report = nlohmann::json::parse(ran.out);
  for (const auto& row : report.at("collectives"))
    if (row.at("pass") == "forward") received += row.at("received_bytes").get<double>();
  EXPECT_EQ(received, 2 * 6291456);  // I along y and W along x: 3/4 of 4096*4096*2/4 each
}

TEST(DataflowCommand, TableNamesTensorAxisAndBytes) {
  const auto ran = testing_program::run_line("dataflow " + example("pope_2d.flow"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("all_gather"));
  EXPECT_THAT(ran.out, HasSubstr("yz"));
}

TEST(DataflowCommand, PlacementsMemoryAndWhatStays) {
  const auto ran = testing_program::run_line("dataflow " + example("summa.flow") + " --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto report = nlohmann::json::parse(ran.out);
  const auto has = [&](const char* tensor, const char* copy, const char* axis, const char* placement) {
    const nlohmann::json wanted = {{"tensor", tensor}, {"copy", copy}, {"axis", axis}, {"placement", placement}};
    return std::count(report.at("placements").begin(), report.at("placements").end(), wanted);
  };
  EXPECT_EQ(has("I", "home", "y", "Shard(k)"), 1);
  EXPECT_EQ(has("I", "moved", "y", "Replicate"), 1);
  EXPECT_EQ(has("O", "home", "x", "Shard(m)"), 1);
  EXPECT_EQ(has("dW", "home", "x", "Partial"), 1);
  EXPECT_EQ(report.at("stationary").at(0).at("text"), "I, O stay on x; W all-gathered");
  // 4096 x 4096 weights over 16 ranks: 2 bytes, gradients 4, optimizer 12.
  EXPECT_EQ(report.at("memory").at("weights_bytes"), 2 << 20);
  EXPECT_EQ(report.at("memory").at("gradients_bytes"), 4 << 20);
  EXPECT_EQ(report.at("memory").at("optimizer_bytes"), 12 << 20);
  EXPECT_EQ(report.at("memory").at("saved_bytes"), 2 << 20);
  EXPECT_EQ(report.at("memory").at("gathered_pass_bytes"), 8 << 20);  // W over x
  EXPECT_EQ(report.at("memory").at("moved_bytes"), 8 << 20);          // I over y
}

TEST(DataflowCommand, StagesFillByTheSkewLaw) {
  // 16 samples through 4 stages: 16 + 3 rounds. A ring holds two of four shards of X, 16 x 256 x 2 bytes each.
  const auto ran = testing_program::run_line("dataflow " + example("tangram_pipeline.flow") + " --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto report = nlohmann::json::parse(ran.out);
  EXPECT_EQ(report.at("skew").at("skew_stages"), 3);
  EXPECT_DOUBLE_EQ(report.at("skew").at("skew_fraction").get<double>(), 3.0 / 19);
  EXPECT_EQ(report.at("memory").at("moved_bytes"), 2 * 16 * 256 * 2);
  EXPECT_EQ(report.at("stationary").at(0).at("text"), "W, Y stay on tile; X rotated");
}

TEST(DataflowCommand, WrongFilesAreExplained) {
  const auto missing = testing_program::run_line("dataflow nowhere.flow");
  EXPECT_EQ(missing.code, 2);
  const auto plan = testing_program::run_line("dataflow " + example("fsdp.flow"));
  EXPECT_EQ(plan.code, 2);
  EXPECT_THAT(plan.err, HasSubstr("no operator is written"));
}

TEST(DataflowCommand, PredictRefusesAProgramWithOperators) {
  const auto ran = testing_program::run_line("predict llama3-8b --mapping " + example("summa.flow"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("brings its own operators"));
}

TEST(DataflowCommand, WindowsByConventionOrExactly) {
  const std::string flow = testing_program::own_path("windows.flow");
  std::ofstream(flow) << "arch mem { buf }\ndim k:2 p:2 r:3\nconv: O[k,p] += I[p+r] * W[k,r]\n"
                         "mem: for k:2 for p:2 [I W O]\nbuf: for r:3 [I W O]\n";
  const auto fills = [&](const std::string& flags) {
    const auto ran = testing_program::run_line("dataflow " + flow + " --json" + flags);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(ran.out).at("levels").at(1).at("tensors").at("I").at("fills").get<double>();
  };
  // buf holds 3 elements: 0-2, 1-3, then for the second k 0-2 and 1-3 again. One new element each time the window moves
  // by one; Timeloop fetches it whole where it jumps back.
  EXPECT_EQ(fills(" --windows exact"), 3 + 1 + 1 + 1);
  EXPECT_EQ(fills(" --windows timeloop"), 3 + 1 + 3 + 1);
  EXPECT_EQ(fills(""), 8);
  const auto wrong = testing_program::run_line("dataflow " + flow + " --windows exakt");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'exact'"));
}

}  // namespace
}  // namespace stepcast::notation
