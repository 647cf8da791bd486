// predict on machines of several kinds: kinds that are alike change nothing, unlike ones are dealt by speed, and what
// is not modelled is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/mixed/mixed_run.h"
#include "tests/studies/run_program.h"

namespace stepcast::mixed {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_program::run_line;

json mixed_answer(const std::string& line) {
  const auto ran = run_line("predict llama3-8b --seq 4096 --json " + line);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return json::parse(ran.out);
}

TEST(MixedStages, TwoSharesOfOneMachineAreThatMachine) {
  const std::string plan = " --tp 8 --pp 4 --global-batch 64 --layout even";
  const json whole = mixed_answer("--machine dgx-h100 --gpus 64" + plan);
  const json parts = mixed_answer("--machine dgx-h100:32,dgx-h100:32" + plan);
  EXPECT_DOUBLE_EQ(whole["step_time_s"], parts["step_time_s"]);
  EXPECT_DOUBLE_EQ(whole["mfu"], parts["mfu"]);
  EXPECT_EQ(whole["stages"][3]["forward_s"], parts["stages"][3]["forward_s"]);
  EXPECT_NEAR(parts["kinds"][0]["work"].get<double>() + parts["kinds"][1]["work"].get<double>(), 1, 1e-12);
}

TEST(MixedStages, TwoCopiesOfTheModelDoHalfOfTheWorkOnEachHalfOfTheStages) {
  const json run =
      mixed_answer("--machine dgx-h100:32,dgx-a100:32 --tp 8 --pp 4 --schedule dualpipe --global-batch 64");
  EXPECT_NEAR(run["kinds"][0]["work"], 0.5, 1e-12);
}

// An H20 is so slow that by speed alone the H100s would hold 65 of 80 layers and lack memory.
TEST(MixedStages, ADealFitsWhereOneCan) {
  const auto ran =
      run_line("predict llama3-70b --seq 4096 --global-batch 32 --tp 8 --pp 2 --json --machine dgx-h100:16,hgx-h20:16");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json run = json::parse(ran.out);
  EXPECT_TRUE(run["fits"]);
  EXPECT_EQ(run["stages"][0]["layers"].get<int>() + run["stages"][1]["layers"].get<int>(), 80);
  EXPECT_GT(run["stages"][0]["layers"], 40);
  EXPECT_LT(run["step_time_s"], run["even_step_time_s"]);
}

TEST(MixedReplicas, TwoSharesOfOneMachineAreThatMachine) {
  for (const char* plan : {" --tp 2 --global-batch 64", " --tp 4 --pp 2 --order tp-cp-pp-dp --global-batch 64"}) {
    const json whole = mixed_answer("--machine dgx-h100 --gpus 32 --layout even" + std::string(plan));
    const json parts = mixed_answer("--machine dgx-h100:16,dgx-h100:16 --layout even" + std::string(plan));
    EXPECT_NEAR(whole["step_time_s"], parts["step_time_s"], 1e-9 * whole["step_time_s"].get<double>()) << plan;
    EXPECT_EQ(parts["kinds"][0]["micro_batches"], parts["kinds"][1]["micro_batches"]);
  }
}

// The last stage has the LM head besides, so that 32 layers are not weighed to 16 and 16; two shares of one machine are
// weighed as that machine.
TEST(MixedReplicas, BalancedLayersLieAlikeOnAllKinds) {
  const std::string plan = " --tp 4 --pp 2 --order tp-cp-pp-dp --global-batch 64",
                    two = "--machine dgx-h100:16,dgx-h100:16";
  const json whole = mixed_answer("--machine dgx-h100 --gpus 32 --layout balanced" + plan);
  const json parts = mixed_answer(two + " --layout balanced" + plan);
  EXPECT_NEAR(whole["step_time_s"], parts["step_time_s"], 1e-9 * whole["step_time_s"].get<double>());
  EXPECT_THAT(parts["run"]["split"].get<std::string>(), HasSubstr("uneven layers"));
  EXPECT_THAT(parts["assumptions"].dump(), HasSubstr("layers are weighed"));
  const json even = mixed_answer(two + " --layout even" + plan), unsaid = mixed_answer(two + plan);
  EXPECT_GT(even["step_time_s"], parts["step_time_s"]);
  EXPECT_EQ(unsaid["step_time_s"], even["step_time_s"]);
  EXPECT_THAT(unsaid["assumptions"].dump(), testing::Not(HasSubstr("weighed")));
}

TEST(MixedNotes, ThePageAndTheJsonSayTheSameOfEachKind) {
  const std::string line = "--machine dgx-h100:16,dgx-a100:16 --tp 8 --global-batch 128";
  const json run = mixed_answer(line);
  const std::string assumptions = run["assumptions"].dump();
  EXPECT_THAT(assumptions, HasSubstr("rates of NVIDIA H100-SXM5-80GB"));
  EXPECT_THAT(assumptions, HasSubstr("rates of NVIDIA A100-SXM4-80GB"));
  bool stack = false;
  for (const json& one : run["defaults"]) stack = stack || one["flag"] == "--stack";
  EXPECT_TRUE(stack);
  // A warning tells a share of the step, which is each kind's own.
  const std::string page = run_line("predict llama3-8b --seq 4096 " + line).out;
  for (const char* machine : {"DGX H100: ", "DGX A100: "}) {
    EXPECT_THAT(run["warnings"].dump(), HasSubstr(machine));
    EXPECT_THAT(page, HasSubstr(std::string("warning: ") + machine));
  }
}

// Two shares of one machine say nothing that the machine would not: all sentences stand once and without a name.
TEST(MixedNotes, AlikeKindsNeedNoName) {
  const json run = mixed_answer("--machine dgx-h100:16,dgx-h100:16 --tp 8 --global-batch 128");
  const json alone = mixed_answer("--machine dgx-h100 --gpus 32 --tp 8 --global-batch 128");
  EXPECT_EQ(run["warnings"], alone["warnings"]);
  EXPECT_THAT(run["assumptions"].dump(), testing::Not(HasSubstr("DGX H100: ")));
  int rates = 0;
  for (const json& one : run["assumptions"]) rates += one.get<std::string>().starts_with("rates of") ? 1 : 0;
  EXPECT_EQ(rates, 1);
}

TEST(MixedStages, LayersAreDealtBySpeed) {
  const json run = mixed_answer("--machine dgx-h100:32,dgx-a100:32 --tp 8 --pp 4 --global-batch 128");
  EXPECT_EQ(run["across"], "stages");
  std::vector<int> layers;
  for (const json& stage : run["stages"]) layers.push_back(stage["layers"]);
  EXPECT_EQ(layers[0] + layers[1] + layers[2] + layers[3], 32);
  EXPECT_GT(layers[1], layers[2]);
  EXPECT_LT(run["step_time_s"], run["even_step_time_s"]);
  EXPECT_NE(run["kinds"][0]["mfu"], run["kinds"][1]["mfu"]);
  // The first kind has 80 GB, and so has the other; of 40 GB it would be said.
  EXPECT_EQ(run["kinds"][1]["gpu"], "a100-80gb");
}

TEST(MixedReplicas, MicroBatchesAreDealtBySpeed) {
  const json run = mixed_answer("--machine dgx-h100:16,dgx-a100:16 --tp 8 --global-batch 128");
  EXPECT_EQ(run["across"], "replicas");
  std::int64_t all = 0;
  for (const json& kind : run["kinds"])
    all += kind["replicas"].get<int>() * kind["micro_batches"].get<int>() - kind["replicas_with_one_fewer"].get<int>();
  EXPECT_EQ(all, 128);  // micro-batches of one sequence
  EXPECT_GT(run["kinds"][0]["micro_batches"], run["kinds"][1]["micro_batches"]);
  EXPECT_LT(run["step_time_s"], run["even_step_time_s"]);
}

// 64 micro-batches of a pipeline whose sends hold nobody up pass 1 s more once, there and back: 2 s and more.
TEST(MixedStages, LatencyBetweenTheKindsShows) {
  const std::string line = "--machine dgx-h100:8,dgx-h100:8 --tp 8 --pp 2 --global-batch 64 --layout even --between ";
  const double without = mixed_answer(line + "25GB/s")["step_time_s"];
  const double with = mixed_answer(line + "25GB/s,1s")["step_time_s"];
  EXPECT_GT(with, without + 1.99);
}

TEST(MixedStages, ASlowLinkBetweenTheKindsShows) {
  const std::string line = "--machine dgx-h100:32,dgx-h100:32 --tp 8 --pp 2 --global-batch 64 --layout even";
  const json fast = mixed_answer(line), slow = mixed_answer(line + " --between 100MB/s,5ms");
  EXPECT_GT(slow["step_time_s"].get<double>(), 1.05 * fast["step_time_s"].get<double>());
}

// A rank has 4 B parameters: 24 GB of bf16 weights and fp32 gradients, an eighth of 48 GB of optimizer states and the
// activations of 32 layers are over 40 GiB and under 80.
TEST(MixedReplicas, MemoryIsThatOfEachKind) {
  const auto ran =
      run_line("predict llama3-8b --seq 4096 --machine dgx-h100:8,dgx-a100-40gb:8 --tp 2 --global-batch 64");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("does NOT fit: see the memory of each kind"));
  EXPECT_THAT(ran.out, HasSubstr("of 40.0 GiB: does NOT fit"));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("of 80.0 GiB: does NOT fit")));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("does not fit: rank")));  // the page has it in the table
  const json run = mixed_answer("--machine dgx-h100:8,dgx-a100-40gb:8 --tp 2 --global-batch 64");
  EXPECT_FALSE(run["fits"]);
  EXPECT_THAT(run["warnings"].dump(), HasSubstr(": does not fit: rank"));
}

TEST(MixedRefusals, SayWhatIsNotModelled) {
  const struct {
    const char *line, *words;
  } cases[] = {
      {"--machine dgx-h100:64", "names GPUs of one machine"},
      {"--machine dgx-h100:64,dgx-a100", "does not say how many GPUs"},
      {"--machine dgx-h100:64,dgx-a100:0", "out of range"},
      {"--machine dgx-h100:64,dgx-a100:60 --pp 2", "do not fill their last node of 8"},
      {"--machine dgx-h100:64,nosuch:8 --pp 2", "nosuch"},
      {"--machine dgx-h100:64,dgx-a100:32 --tp 8 --pp 2 --global-batch 96", "would lie on two kinds of machines"},
      {"--machine dgx-h100:16,dgx-a100:16 --tp 4 --pp 2 --chunks 2 --order tp-cp-pp-dp --global-batch 64",
          "interleaved stages take multiples"},
      {"--machine dgx-h100:16,dgx-a100:16 --tp 4 --pp 2 --order tp-cp-pp-dp --zero 2 --global-batch 64",
          "wait for each other"},
      {"--machine dgx-h100:16,dgx-a100:16 --nodes 4 --tp 8 --global-batch 64", "counts nodes of one machine"},
      {"--machine dgx-h100:16,dgx-a100:16 --tp 8 --global-batch 64 --eval-batches 2 --eval-every 9",
          "share an evaluation"},
      {"--machine dgx-h100:16,dgx-1-v100:16 --tp 8 --pp 2 --global-batch 64", "--precision fp16"},
      {"--machine dgx-h100:16,dgx-a100:16 --tp 8 --pp 2 --global-batch 64 --profile h100-sxm", "speaks for one GPU"},
      {"--machine dgx-h100:16,dgx-a100:16 --gpus 16", "names 32"},
      {"--machine dgx-h100:16,dgx-a100:16 --tp 8 --pp 2 --global-batch 64 --explain", "is of one machine"},
      {"--machine dgx-h100:16,dgx-a100:16 --tp 8 --pp 2 --global-batch 64 --force", "is of one machine"},
      {"--machine dgx-h100:16,dgx-a100:16 --tp 8 --pp 2 --global-batch 64 --between fast", "--between"},
      {"--machine dgx-h100 --gpus 8 --between 1GB/s", "there is one"},
  };
  for (const auto& [line, words] : cases) {
    const auto ran = run_line(std::string("predict llama3-8b --seq 4096 ") + line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr(words)) << line;
  }
  for (const char* command : {"scale", "timeline"}) {
    const auto ran = run_line(std::string(command) + " llama3-8b --machine dgx-h100:16,dgx-a100:16 --global-batch 64");
    EXPECT_EQ(ran.code, 2) << command;
    EXPECT_THAT(ran.err, HasSubstr("several kinds of machines")) << command;
  }
}

// Shards of states on all replicas: they meet in each micro-batch, so that two shares of one machine are that machine,
// and of two machines the slower one's GPUs everywhere would take as long.
TEST(MixedReplicas, ReplicasThatMeetInEachMicroBatchGoAtTheSlowerPace) {
  for (const char* plan : {" --tp 8 --zero 2 --global-batch 64", " --zero 3 --global-batch 64"}) {
    const json whole = mixed_answer("--machine dgx-h100 --gpus 32" + std::string(plan));
    const json parts = mixed_answer("--machine dgx-h100:16,dgx-h100:16" + std::string(plan));
    EXPECT_NEAR(whole["step_time_s"], parts["step_time_s"], 1e-9 * whole["step_time_s"].get<double>()) << plan;
    const json slow = mixed_answer("--machine dgx-a100 --gpus 32" + std::string(plan));
    const json both = mixed_answer("--machine dgx-h100:16,dgx-a100:16" + std::string(plan));
    // What stands behind the pipeline is, part by part, that of the slower kind there.
    EXPECT_GE(both["step_time_s"].get<double>(), slow["step_time_s"].get<double>() * (1 - 1e-9)) << plan;
    EXPECT_LE(both["step_time_s"].get<double>(), slow["step_time_s"].get<double>() * 1.01) << plan;
    EXPECT_FALSE(both["dealt_by_speed"]);
    EXPECT_EQ(both["kinds"][0]["micro_batches"], both["kinds"][1]["micro_batches"]);
    EXPECT_THAT(both["assumptions"].dump(), HasSubstr("wait for each other in each micro-batch"));
  }
}

// 0.1 s every ten steps where all ranks stop at once: 10 ms a step.
TEST(MixedReplicas, WhatStandsAroundStepsIsAddedToThem) {
  const json run = mixed_answer(
      "--machine dgx-h100:16,dgx-a100:16 --tp 8 --global-batch 64 --gc-time 100ms --gc-every 10 --gc-planned");
  EXPECT_EQ(run["around_steps"][0]["id"], "garbage_collection");
  EXPECT_NEAR(run["around_steps"][0]["per_step_s"], 0.01, 1e-12);
}

// 8 micro-batches of two replicas are 4 in the mean. The faster kind's replica is dealt more, say 5: its batch takes
// 10 s x 5 / 4 = 12.5 s, of which the step covers its own time.
TEST(MixedReplicas, LoadersLoadWhatTheirReplicaIsDealt) {
  const json run =
      mixed_answer("--machine dgx-h100:8,dgx-a100:8 --tp 8 --global-batch 8 --loader-time 10s --loader-even");
  const int most = run["kinds"][0]["micro_batches"];
  ASSERT_GT(most, 4);
  EXPECT_NEAR(
      run["around_steps"][0]["per_step_s"].get<double>() + run["step_time_s"].get<double>(), 10.0 * most / 4, 1e-6);
}

}  // namespace
}  // namespace stepcast::mixed
