// What stands first on the page, and the sizes that a run may be told in other words.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::predict {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_program::run_line;

TEST(PredictVerdict, WhatDoesNotFitSaysSoBeforeItsTime) {
  const auto much = run_line("predict llama3-70b --gpus 8");
  ASSERT_EQ(much.code, 0) << much.err;
  const auto verdict = much.out.find("does NOT fit in memory: rank 0 needs");
  ASSERT_NE(verdict, std::string::npos) << much.out;
  EXPECT_LT(verdict, much.out.find("Step time"));
  const auto json = run_line("predict llama3-70b --gpus 8 --json");
  EXPECT_EQ(json.out.find("\"fits\": false"), json.out.find('"')) << "the first field";
  EXPECT_THAT(run_line("predict llama3-8b --gpus 64 --tp 8").out, Not(HasSubstr("NOT fit")));
}

TEST(PredictVerdict, MicroBatchIsAlwaysPrinted) {
  EXPECT_THAT(run_line("predict llama3-8b --gpus 8 --micro-batch 2 --tp 8").out, HasSubstr("micro-batch 2"));
  EXPECT_THAT(run_line("predict llama3-8b --gpus 8").out, HasSubstr("micro-batch 1"));
}

double step_time(const std::string& flags) {
  const auto ran = run_line("predict llama3-8b --json " + flags);
  EXPECT_EQ(ran.code, 0) << flags << ": " << ran.err;
  return ran.code == 0 ? nlohmann::json::parse(ran.out).at("step_time_s").get<double>() : 0;
}

TEST(PredictSizes, NodesAndDataWaysSayTheGpus) {
  const double gpus = step_time("--gpus 32 --tp 4");
  EXPECT_EQ(step_time("--nodes 4 --tp 4"), gpus);
  EXPECT_EQ(step_time("--dp 8 --tp 4"), gpus);
  EXPECT_EQ(step_time("--nodes 4 --dp 8 --tp 4"), gpus);
  EXPECT_EQ(step_time("--gpus 32 --nodes 4 --dp 8 --tp 4"), gpus);
}

TEST(PredictSizes, SizesThatDisagreeAreRefusedWithWhatFits) {
  const auto ways = run_line("predict llama3-8b --gpus 32 --dp 4 --tp 4");
  EXPECT_EQ(ways.code, 2);
  EXPECT_THAT(ways.err, HasSubstr("--dp: dp 4 x tp 4 x cp 1 x pp 1 are 16 GPUs, and --gpus says 32"));
  EXPECT_THAT(ways.err, HasSubstr("--dp 8, or 16 GPUs"));
  const auto nodes = run_line("predict llama3-8b --gpus 32 --nodes 3");
  EXPECT_EQ(nodes.code, 2);
  EXPECT_THAT(nodes.err, HasSubstr("--nodes: 3 nodes of 8 GPUs are 24, and --gpus says 32"));
}

TEST(SweepSizes, NodesSayTheGpusAndDpIsAFigure) {
  const auto nodes = run_line("sweep llama3-8b --nodes 8 --tp 8 --pp 1 --global-batch 256 --dry-run");
  EXPECT_EQ(nodes.code, 0) << nodes.err;
  EXPECT_THAT(nodes.out, HasSubstr("64"));
  EXPECT_THAT(run_line("sweep llama3-8b --nodes 8 --gpus 64 --global-batch 256").err, HasSubstr("one of them"));
  EXPECT_THAT(run_line("sweep llama3-8b --gpus 64 --dp 8 --global-batch 256").err, HasSubstr("--where 'dp == 8'"));
}

TEST(PredictSizes, TokensMayBeInThousandsOfTwo) {
  EXPECT_EQ(step_time("--gpus 8 --seq 4k"), step_time("--gpus 8 --seq 4096"));
  EXPECT_THAT(run_line("predict llama3-8b --seq 4q").err, HasSubstr("is not a whole number"));
  EXPECT_THAT(run_line("predict llama3-8b --seq k").err, HasSubstr("is not a whole number"));
  EXPECT_THAT(run_line("predict llama3-8b --tp 8k").err, HasSubstr("is not a whole number")) << "no tokens";
}

TEST(PredictSizes, HintsAreAccepted) {
  const auto stages = run_line("predict llama3-405b --gpus 648 --tp 8 --pp 81");
  EXPECT_THAT(stages.err, HasSubstr("legal pp: 1, 3, 9;")) << "those that divide the GPUs, too";
  EXPECT_EQ(run_line("predict llama3-405b --gpus 648 --tp 8 --pp 9").code, 0);
  EXPECT_THAT(run_line("predict llama3-8b --machine h100").err, HasSubstr("machines that have it: "));
  EXPECT_THAT(run_line("predict llama3-8b --machine h100").err, HasSubstr("dgx-h100"));
}

TEST(PredictSizes, ChunksWithoutStagesAreSaid) {
  EXPECT_THAT(run_line("predict llama3-8b --gpus 8 --chunks 2").out, HasSubstr("--chunks: without pp it does nothing"));
}

TEST(Help, OfOneCommand) {
  EXPECT_EQ(run_line("help predict").out, run_line("predict --help").out);
  const auto wrong = run_line("help predcit");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("predict"));
  EXPECT_EQ(run_line("help").code, 0);
}

TEST(Csv, HasTheRowsOfTheDocument) {
  const auto table = run_line("list machines --csv");
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_TRUE(table.out.starts_with("id,gpu,gpus_per_node,")) << table.out.substr(0, 80);
  const auto rows = nlohmann::json::parse(run_line("list machines --json").out).at("machines").size();
  EXPECT_EQ(static_cast<std::size_t>(std::count(table.out.begin(), table.out.end(), '\n')), rows + 1);
  const auto scale = run_line("scale llama3-8b --tp 8 --gpus 8,16 --csv");
  EXPECT_TRUE(scale.out.starts_with("list,gpus,global_batch,")) << scale.err;
  EXPECT_THAT(scale.out, HasSubstr("\r\nweak/runs,16,"));
}

}  // namespace
}  // namespace stepcast::predict
