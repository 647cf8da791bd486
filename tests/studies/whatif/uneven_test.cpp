// The step of uneven work on whole runs: what it becomes, what evens it out, and what is refused.
#include "studies/whatif/uneven.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::whatif {
namespace {

using testing::HasSubstr;
using UnevenJson = nlohmann::json;

constexpr const char* sharded = "llama3-8b --gpus 64 --zero 3 --global-batch 512 --imbalance ";
constexpr const char* staged = "llama3-8b --gpus 64 --pp 4 --zero 1 --global-batch 256 --imbalance ";
constexpr const char* experts = "mixtral-8x7b --gpus 64 --ep 8 --pp 2 --global-batch 256 --imbalance ";

UnevenJson uneven_step(const std::string& run) {
  const auto ran = testing_program::run_line("predict " + run + " --json");
  EXPECT_EQ(ran.code, 0) << run << "\n" << ran.err;
  return ran.code == 0 ? UnevenJson::parse(ran.out) : UnevenJson{};
}
double longer(const UnevenJson& json) {
  return json.at("uneven").at("step_time_s").get<double>() / json.at("step_time_s").get<double>();
}
std::string uneven_refusal(const std::string& run) {
  const auto ran = testing_program::run_line("predict " + run);
  EXPECT_EQ(ran.code, 2) << run << "\n" << ran.out;
  return ran.err;
}

TEST(UnevenStep, PredictShowsTheStep) {
  const auto json = uneven_step(std::string(sharded) + "micro-batches=0.25");
  EXPECT_GT(longer(json), 1.05);
  EXPECT_NEAR(
      json.at("uneven").at("closed_form_s").get<double>() / json.at("uneven").at("step_time_s").get<double>(), 1, 0.02);
  EXPECT_EQ(json.at("uneven").at("pipelines"), 64);
  EXPECT_THAT(
      testing_program::run_line("predict " + std::string(sharded) + "ranks=1%").out, HasSubstr("With uneven work"));
}

TEST(UnevenStep, NoneIsAsWithoutTheFlag) {
  for (const std::string run : {"predict llama3-8b --gpus 64 --zero 3 --global-batch 512",
           "whatif llama3-8b --gpus 64 --zero 3 --global-batch 512",
           "predict llama3-8b --machine dgx-h100:8,dgx-a100:8 --tp 8 --global-batch 64"}) {
    const auto none = testing_program::run_line(run + " --imbalance none");
    EXPECT_EQ(none.code, 0) << run << "\n" << none.err;
    EXPECT_EQ(none.out, testing_program::run_line(run).out) << run;
  }
}

TEST(UnevenStep, NamedRanksAndNodes) {
  // One stage: a GPU at half speed doubles the pipelines' part of the step, a node of such GPUs no more than that.
  const double rank = longer(uneven_step(std::string(sharded) + "rank=12x2"));
  EXPECT_GT(rank, 1.9);
  EXPECT_LE(rank, 2);
  EXPECT_NEAR(longer(uneven_step(std::string(sharded) + "node=3x2")), rank, 1e-9);
  // Of four stages the last, with the LM head, hurts more than the second; GPUs 48 to 63 are the last stage.
  const double second = longer(uneven_step(std::string(staged) + "rank=17x1.5"));
  EXPECT_GT(longer(uneven_step(std::string(staged) + "rank=50x1.5")), second);
  EXPECT_GT(second, 1.1);
}

TEST(UnevenStep, ASlowRailIsThatOfAllNodes) {
  const auto json = uneven_step(std::string(sharded) + "rail=4");
  const auto slow =
      testing_program::run_line("whatif llama3-8b --gpus 64 --zero 3 --global-batch 512 --change nic=0.25x --json");
  ASSERT_EQ(slow.code, 0) << slow.err;
  EXPECT_NEAR(json.at("uneven").at("step_time_s").get<double>(),
      UnevenJson::parse(slow.out).at("after").at("step_time_s").get<double>(), 1e-6);
  // One node's links are as slow for the rings that pass it, which all do where there is one stage.
  EXPECT_EQ(uneven_step(std::string(sharded) + "link=3x4").at("uneven").at("step_time_s"),
      json.at("uneven").at("step_time_s"));
  EXPECT_THAT(uneven_refusal(std::string(sharded) + "link=8x4"), HasSubstr("node 8 of 8"));
  // Of four stages the second is on node 3: it alone sends slowly, which costs something and less than all of them do.
  const double node = longer(uneven_step(std::string(staged) + "link=3x50"));
  EXPECT_GT(node, 1.001);
  EXPECT_LT(node, longer(uneven_step(std::string(staged) + "rail=50")));
  EXPECT_THAT(uneven_refusal(std::string(staged) + "link=3x0.5"), HasSubstr("no link is faster"));
  EXPECT_THAT(uneven_refusal("llama3-8b --gpus 8 --zero 3 --imbalance rail=2"), HasSubstr("stays within one node"));
}

TEST(UnevenStep, DocumentsAttendLess) {
  // Whole sequences are the even step; short documents leave out most of attention, and nothing else.
  EXPECT_NEAR(longer(uneven_step(std::string(staged) + "lengths=8192,8192,8192,8192,8192")), 1, 1e-9);
  const double of_short = longer(uneven_step(std::string(staged) + "lengths=100,100,100,100,100"));
  EXPECT_LT(of_short, 1);
  EXPECT_GT(of_short, 0.8);
  const std::string mixed = std::string(staged) + "lengths=200,800,8000,8192,1900";
  const auto packed = testing_program::run_line("whatif " + mixed + " --json");
  ASSERT_EQ(packed.code, 0) << packed.err;
  const auto json = UnevenJson::parse(packed.out);
  EXPECT_THAT(json.at("assumptions").dump(), HasSubstr("tokens see their own document"));
  ASSERT_GE(json.at("levers").size(), 4U);
  for (const auto& lever : json.at("levers"))
    if (lever.at("id") == "both") {
      EXPECT_LT(lever.at("step_time_s"), json.at("step_time_s"));
    }
  EXPECT_THAT(uneven_refusal("llama3-8b --gpus 64 --zero 3 --imbalance \"lengths=1,2,4,5,2.5 fill=padded\""),
      HasSubstr("weights are gathered for each micro-batch"));
  EXPECT_THAT(uneven_refusal("llama3-8b --gpus 64 --cp 2 --zero 1 --imbalance lengths=1,2,4,5,2.5"),
      HasSubstr("who has which document"));
}

TEST(UnevenStep, LayersMoveAwayFromTheSlowStage) {
  const auto ran = testing_program::run_line("whatif " + std::string(staged) + "rank=17x1.5 --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = UnevenJson::parse(ran.out);
  const auto& best = json.at("levers").at(0);
  EXPECT_EQ(best.at("id"), "replaced");
  EXPECT_NEAR(best.at("step_time_s").get<double>(), json.at("even_step_time_s").get<double>(), 1e-9);
  // One writer: what whatif says of the step is what predict says, in the same keys, and a lever has those keys, too.
  const auto uneven = uneven_step(std::string(staged) + "rank=17x1.5").at("uneven");
  for (const auto& [key, value] : uneven.items()) {
    EXPECT_EQ(json.at(key), value) << key;
    EXPECT_TRUE(best.contains(key)) << key;
  }
  const auto& moved = json.at("levers").at(1);
  EXPECT_EQ(moved.at("id"), "layers");
  EXPECT_THAT(moved.at("change").get<std::string>(), HasSubstr("away from stage 1 (--layout "));
  EXPECT_LT(moved.at("step_time_s"), 0.95 * json.at("step_time_s").get<double>());
}

TEST(UnevenStep, TheBusiestRankOfExperts) {
  // Eight experts on four ranks: 3 + 1 of 12 rows, a mean of 3; placed by rows 3 + 1, 2 + 1, 2 + 1 and 1 + 1: the same.
  EXPECT_NEAR(busiest_rank({0, 0, {3, 1, 2, 2, 1, 1, 1, 1}, ""}, 8, 4), 4.0 / 3, 1e-12);
  EXPECT_NEAR(busiest_rank({0, 0, {2, 2, 1, 1}, ""}, 4, 2), 4.0 / 3, 1e-12);
  EXPECT_NEAR(busiest_rank({0, 0, {2, 2, 1, 1}, ""}, 4, 2, true), 1, 1e-12);
  // Of two ranks with one expert each: 1 + 0.2 / sqrt(pi).
  EXPECT_NEAR(busiest_rank({0, 0.2, {}, ""}, 2, 2), 1 + 0.2 / 1.7724538509, 1e-6);
  const double fuller = longer(uneven_step(std::string(experts) + "experts=1.5x"));
  EXPECT_GT(fuller, 1.05);
  EXPECT_LT(fuller, 1.5);
  const std::string name = testing_program::own_path("loads");
  std::ofstream(name) << "3\n1\n1\n1\n1\n1\n1\n3\n";
  EXPECT_NEAR(
      uneven_step(std::string(experts) + "experts=" + name).at("uneven").at("busiest_rank_of_experts"), 2, 1e-12);
  // Two of eight experts for each token: the one expert of a rank has at most each token once, 8 / 2 times the mean.
  EXPECT_NEAR(uneven_step(std::string(experts) + "experts=4x").at("uneven").at("busiest_rank_of_experts"), 4, 1e-12);
  EXPECT_THAT(uneven_refusal(std::string(experts) + "experts=9x"), HasSubstr("experts=4x or less"));
  std::ofstream(name) << "13\n1\n1\n1\n1\n1\n1\n1\n";  // 13 of 20 rows: 5.2 times the mean of 2.5
  EXPECT_THAT(uneven_refusal(std::string(experts) + "experts=" + name), HasSubstr("experts: 5.2 times the mean"));
  std::ofstream(name) << "3\n1\n";
  EXPECT_THAT(uneven_refusal(std::string(experts) + "experts=" + name), HasSubstr("2 loads, and the network has 8"));
  EXPECT_THAT(uneven_refusal(std::string(sharded) + "experts=1.5x"), HasSubstr("the network has none"));
  EXPECT_THAT(
      uneven_refusal("mixtral-8x7b --gpus 64 --tp 8 --imbalance experts=1.5x"), HasSubstr("all lie on one rank"));
}

TEST(UnevenStep, WhatTheRunHasNotIsRefused) {
  EXPECT_THAT(uneven_refusal(std::string(sharded) + "slow=65x2"), HasSubstr("slow=65: there are 64 GPUs"));
  EXPECT_THAT(uneven_refusal(std::string(sharded) + "rank=64x2"), HasSubstr("rank 64 of 64"));
  EXPECT_THAT(uneven_refusal(std::string(sharded) + "node=8x2"), HasSubstr("node 8 of 8"));
  EXPECT_THAT(uneven_refusal(std::string(sharded) + "speed=1"), HasSubstr("--imbalance: 'speed' is no kind"));
  const auto both = testing_program::run_line("whatif " + std::string(sharded) + "ranks=1% --change nic=2x");
  EXPECT_THAT(both.err, HasSubstr("--change: does not go with --imbalance"));
}

}  // namespace
}  // namespace stepcast::whatif
