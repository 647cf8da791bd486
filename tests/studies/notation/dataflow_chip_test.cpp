// The dataflow command on programs with an arch: every figure through the public command.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::notation {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

/// The program in a file of its own.
std::string flow_file(const std::string& text) {
  static int number = 0;
  const std::string name = testing_program::own_path("dataflow_chip_" + std::to_string(number++) + ".flow");
  std::ofstream(name) << text;
  return name;
}

testing_program::Ran run_flow(const std::string& text, const std::vector<std::string>& flags) {
  std::vector<std::string> words = {"dataflow", flow_file(text)};
  words.insert(words.end(), flags.begin(), flags.end());
  return testing_program::run_line(words);
}

json report_of(const std::string& text, std::vector<std::string> flags = {}) {
  flags.emplace_back("--json");
  const auto ran = run_flow(text, flags);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return ran.code == 0 ? json::parse(ran.out) : json();
}

/// A 16 x 16 systolic array that keeps W: 8 x 4 folds of 128 rounds.
constexpr const char* kArray = R"(arch glb { pe[16x16]@systolic }
dim m:128 n:128 k:64
scores: O[m,n] += I[m,k] * W[k,n]
glb: for n:8 for k:4 for m:128 [I W O]
pe:  par k:16 on x  par n:16 on y [W]
)";

TEST(DataflowChip, CountsOfAWeightStationaryArray) {
  const json report = report_of(kArray);
  EXPECT_EQ(report.at("operator"), "scores");
  EXPECT_EQ(report.at("dims"), json({{"m", 128}, {"n", 128}, {"k", 64}}));
  const json& glb = report.at("levels").at(0);
  EXPECT_EQ(glb.at("tensors").at("I").at("reads"), 128 * 64 * 8);
  EXPECT_EQ(glb.at("tensors").at("W").at("reads"), 64 * 128);
  EXPECT_EQ(glb.at("tensors").at("O").at("updates"), 128 * 128 * 4);
  EXPECT_EQ(glb.at("tensors").at("O").at("reads"), 128 * 128 * 3);
  EXPECT_EQ(glb.at("resident_bytes"), 2 * (128 * 64 + 64 * 128 + 128 * 128));
  const json& pe = report.at("levels").at(1);
  EXPECT_EQ(pe.at("instances"), 256);
  EXPECT_EQ(pe.at("tensors").size(), 1U);
  EXPECT_EQ(pe.at("tensors").at("W").at("fills"), 32);
  EXPECT_EQ(report.at("cycles"), 8 * 4 * (2 * 16 + 16 + 128 - 2));
  EXPECT_EQ(report.at("compute_cycles"), 4096);
  EXPECT_EQ(report.at("macs"), 128 * 128 * 64);
  EXPECT_EQ(report.at("bound"), "compute");
  EXPECT_DOUBLE_EQ(report.at("utilisation"), 4096.0 / 5568);
}

TEST(DataflowChip, WholeCountsAreIntegers) {
  const json report = report_of(kArray);
  EXPECT_TRUE(report.at("cycles").is_number_integer());
  EXPECT_TRUE(report.at("levels").at(0).at("tensors").at("O").at("updates").is_number_integer());
}

TEST(DataflowChip, WhatStaysAndHowUnitsAreServed) {
  const json report = report_of(kArray);
  ASSERT_EQ(report.at("stationary").size(), 1U);
  EXPECT_EQ(report.at("stationary").at(0),
      json({{"boundary", "glb -> pe"}, {"at", "pe"}, {"tensors", {"W"}},
          {"text", "weight-stationary at pe, input forwarded over y, output summed over x"}}));
  std::vector<std::string> placed;
  for (const json& row : report.at("placements"))
    placed.push_back(row.at("tensor").get<std::string>() + " " + row.at("axis").get<std::string>() + " " +
                     row.at("placement").get<std::string>());
  EXPECT_THAT(placed,
      ElementsAre("I x Shard(k)", "W x Shard(k)", "O x Partial", "I y Replicate", "W y Shard(n)", "O y Shard(n)"));
  EXPECT_THAT(report.at("warnings").at(0), HasSubstr("not bit-identical"));
}

TEST(DataflowChip, IntensityAndRoof) {
  // 512 multiply-adds per 2 x (64 + 64 + 64) bytes; peak 2 flops a cycle, 2 bytes a cycle.
  const json report = report_of(
      "arch dram bw:2 B/cycle { rf }\ndim m:8 n:8 k:8\nO: O[m,n] += I[m,k] * W[k,n]\ndram: [I W O]\nrf: for m:8 for "
      "n:8 for k:8 [I W O]\n");
  const json& memory = report.at("boundaries").at(0);
  EXPECT_EQ(memory.at("bytes"), 384);
  EXPECT_DOUBLE_EQ(memory.at("flops_per_byte"), 1024.0 / 384);
  EXPECT_EQ(memory.at("ridge_flops_per_byte"), 1);
  EXPECT_EQ(memory.at("limited_by"), "compute");
  EXPECT_EQ(report.at("levels").at(0).at("cycles"), 192);
  EXPECT_EQ(report.at("cycles"), 512);
}

TEST(DataflowChip, TextHasTheNestInALineAndTheCounts) {
  const auto ran = run_flow(kArray, {});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("glb[I W O] n:8 k:4 m:128 - pe[W] k:16@x n:16@y\n"));
  EXPECT_THAT(ran.out, HasSubstr("5,568 cycles, bound by compute"));
  EXPECT_THAT(ran.out, HasSubstr("weight-stationary at pe"));
}

/// Two products and a function between them, on four ranks of a mesh and on a chip.
constexpr const char* kTwoProducts = R"(mesh x:4 pp:4
arch glb { pe[16x16]@systolic }
dim m:512 n:128 k:64
up:   U[m,n] += I[m,k] * Wu[k,n]
act:  A[m,n] = gelu U[m,n]
down: O[m,k] += A[m,n] * Wd[n,k]
par m on x
par layer on pp sched 1f1b for mb:8
at up:   glb: for n:8 for k:4 for m:* [I Wu U]
at up:   pe:  par k:16 on x  par n:16 on y [Wu]
at down: glb: for k:4 for n:8 for m:* [A Wd O]
at down: pe:  par n:16 on x  par k:16 on y [Wd]
)";

TEST(DataflowChip, SeveralOperatorsMakeAList) {
  const json report = report_of(kTwoProducts);
  ASSERT_EQ(report.at("operators").size(), 2U);  // `act` has no level line
  EXPECT_EQ(report.at("operators").at(0).at("operator"), "up");
  EXPECT_EQ(report.at("operators").at(1).at("operator"), "down");
  EXPECT_EQ(report.at("operators").at(0).at("macs"), 128 * 128 * 64);  // one rank's part of m
  EXPECT_FALSE(report.contains("cycles"));
  EXPECT_EQ(report.at("skew").at("skew_stages"), 3);
  EXPECT_EQ(report.at("memory").at("weights_bytes"), 2 * 128 * 64 * 2);
  for (const json& row : report.at("collectives")) EXPECT_EQ(row.at("pass"), "step");
}

TEST(DataflowChip, OneOperatorWithItsMesh) {
  const json report = report_of(kTwoProducts, {"--op", "down"});
  EXPECT_EQ(report.at("operator"), "down");
  EXPECT_EQ(report.at("macs"), 128 * 128 * 64);
  EXPECT_FALSE(report.contains("operators"));
  std::vector<std::string> step;
  for (const json& row : report.at("collectives"))
    if (row.contains("pass")) step.push_back(row.at("tensor"));
  EXPECT_THAT(step, ElementsAre("dWd"));
}

TEST(DataflowChip, WrongInputIsExplained) {
  const auto neither = run_flow("dim m:4 n:4\nO: O[m] += I[m,n]\n", {});
  EXPECT_EQ(neither.code, 2);
  EXPECT_THAT(neither.err, HasSubstr("neither a mesh nor an arch"));
  const auto unknown = run_flow(kTwoProducts, {"--op", "dwn"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'down'?"));
  const auto silent = run_flow("arch glb { pe[4] }\ndim m:4\n", {});
  EXPECT_EQ(silent.code, 2);
  EXPECT_THAT(silent.err, HasSubstr("no operator is written"));
  const std::string off_chip = std::string("arch glb\ndim m:4 n:4\none: O[m] += I[m,n]\ntwo: P[m] += I[m,n]\n") +
                               "at one: glb: for m:4 for n:4\n";
  const auto other = run_flow(off_chip, {"--op", "two"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("operator 'two' is not on the chip"));
}

}  // namespace
}  // namespace stepcast::notation
