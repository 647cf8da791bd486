#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/megatron_emission.h"

namespace stepcast::launch {
namespace {

using emit_tests::EmitCase;
using emit_tests::emitted;
using emit_tests::emit_scenario;
using emit_tests::launch_in;
using emit_tests::megatron_wishes;
using emit_tests::random_wishes;
using emit_tests::said;
using emit_tests::take_wishes;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

TEST(EmitMegatron, TheScriptStartsTheGpusAndSaysTheSplit) {
  const Emission emission = emitted("llama3-70b", megatron_wishes());
  EXPECT_THAT(emission.text, testing::StartsWith("#!/bin/bash\n# Llama 3 70B on 64 GPUs of "));
  EXPECT_THAT(emission.unsaid, IsEmpty());
  const LaunchLine line = launch_in(emission);
  EXPECT_EQ(line.program, "pretrain_gpt.py");
  EXPECT_EQ(line.gpus(), 64);
  EXPECT_THAT(line.unknown, IsEmpty());
  for (const auto& [name, value] : ArgumentMap{{"num_layers", "80"}, {"hidden_size", "8192"},
           {"ffn_hidden_size", "28672"}, {"num_query_groups", "8"}, {"group_query_attention", "true"},
           {"normalization", "RMSNorm"}, {"swiglu", "true"}, {"position_embedding_type", "rope"},
           {"disable_bias_linear", "true"}, {"attention_dropout", "0"}, {"untie_embeddings_and_output_weights", "true"},
           {"vocab_size", "128256"}, {"make_vocab_size_divisible_by", "1"}, {"tensor_model_parallel_size", "4"},
           {"pipeline_model_parallel_size", "4"}, {"sequence_parallel", "true"}, {"use_distributed_optimizer", "true"},
           {"overlap_grad_reduce", "true"}, {"overlap_param_gather", "true"}, {"seq_length", "4096"},
           {"micro_batch_size", "1"}, {"global_batch_size", "64"}, {"bf16", "true"}})
    EXPECT_THAT(line.arguments, Contains(Pair(name, value)));
  for (const char* absent :
      {"context_parallel_size", "num_experts", "recompute_granularity", "pipeline_model_parallel_layout",
          "num_virtual_stages_per_pipeline_rank", "use_megatron_fsdp", "tp_comm_overlap", "use_tp_pp_dp_mapping"})
    EXPECT_THAT(line.arguments, Not(Contains(Pair(absent, testing::_)))) << absent;
}

/// pretrain_hybrid.py wants a pattern: what cannot be written as one starts the other program.
TEST(EmitMegatron, AProgramForPatternsIsStartedWithOne) {
  for (const char* network : {"qwen3-next-80b-a3b", "nemotron-h-8b"}) {
    const EmitCase made(megatron_wishes(), network, "megatron-core");
    ASSERT_FALSE(made.scenario.network.row.pattern.empty()) << network;
    const std::string text = emit_megatron(made.plan).text;
    const bool written = text.find("--hybrid-layer-pattern") != text.npos;
    EXPECT_EQ(written, std::string(network) == "nemotron-h-8b");
    EXPECT_THAT(text, HasSubstr(written ? "pretrain_hybrid.py" : "pretrain_gpt.py"));
  }
}

struct SplitArgument {
  const char* why;
  void (*change)(SplitWishes& wishes);
  const char *name, *value;
};

TEST(EmitMegatron, EveryPartOfASplitHasItsArgument) {
  // clang-format off
  const SplitArgument rows[] = {
      {"virtual stages", [](SplitWishes& w) { w.chunks = 5; }, "num_virtual_stages_per_pipeline_rank", "5"},
      {"ring", [](SplitWishes& w) { w.cp = 2; }, "cp_comm_type", "p2p"},
      {"gather", [](SplitWishes& w) { w.cp = 2, w.context = ContextKind::gather; }, "cp_comm_type", "all_gather"},
      {"ulysses", [](SplitWishes& w) { w.cp = 2, w.context = ContextKind::ulysses; }, "cp_comm_type", "a2a"},
      {"order", [](SplitWishes& w) { w.order = *parse_order("tp-cp-pp-dp", ""); }, "use_tp_pp_dp_mapping", "true"},
      {"gradients in shards", [](SplitWishes& w) { w.zero = 2; }, "data_parallel_sharding_strategy", "optim_grads"},
      {"weights in shards", [](SplitWishes& w) { w.zero = 3; }, "data_parallel_sharding_strategy",
       "optim_grads_params"},
      {"copies of shards", [](SplitWishes& w) { w.replicas = 2; }, "num_distributed_optimizer_instances", "2"},
      {"core recomputed", [](SplitWishes& w) { w.recompute.kind = Recompute::Kind::selective; }, "recompute_modules",
       "core_attn"},
      {"layers recomputed", [](SplitWishes& w) { w.recompute.kind = Recompute::Kind::full; }, "recompute_method",
       "uniform"},
      {"some layers", [](SplitWishes& w) { w.recompute = {Recompute::Kind::full, 6}; }, "recompute_num_layers", "6"},
      {"some layers of chunks", [](SplitWishes& w) { w.recompute = {Recompute::Kind::full, 6}, w.chunks = 2; },
       "recompute_num_layers", "3"}};
  // clang-format on
  for (const SplitArgument& row : rows) {
    SplitWishes wishes = megatron_wishes();
    row.change(wishes);
    const Emission emission = emitted("llama3-70b", wishes);
    EXPECT_EQ(said(emission, row.name), row.value) << row.why;
    EXPECT_THAT(emission.unsaid, IsEmpty()) << row.why;
  }
}

TEST(EmitMegatron, UnevenLayersAreALayoutThatReadsBack) {
  Scenario scenario = emit_scenario("llama3-405b");
  SplitWishes wishes = megatron_wishes();
  ASSERT_TRUE(take_wishes(scenario, wishes, true));
  EXPECT_EQ(said(emitted(scenario), "pipeline_model_parallel_layout"), "Et*32|t*32|t*31|t*31L");
}

TEST(EmitMegatron, OverlapIsAsTheSoftwareAndTheRunSay) {
  Scenario scenario = emit_scenario("llama3-8b");
  StackWays ways;
  ways.dp_overlap = false;
  ways.tp_overlap = true;
  scenario.stack.row = with_ways(scenario.stack.row, ways);
  ASSERT_TRUE(take_wishes(scenario, megatron_wishes()));
  const ArgumentMap arguments = launch_in(emitted(scenario)).arguments;
  EXPECT_EQ(arguments.count("overlap_grad_reduce"), 0U);
  EXPECT_EQ(arguments.count("overlap_param_gather"), 0U);
  EXPECT_EQ(arguments.count("tp_comm_overlap"), 1U);
}

TEST(EmitMegatron, SendsRunBesideComputeInTheInterleavedScheduleAlone) {
  Scenario scenario = emit_scenario("llama3-70b");
  SplitWishes wishes = megatron_wishes();
  ASSERT_TRUE(take_wishes(scenario, wishes));
  scenario.ways.pp_overlap = true;
  EXPECT_THAT(emitted(scenario).unsaid, ElementsAre(HasSubstr("sends between stages")));
  wishes.chunks = 2;
  ASSERT_TRUE(take_wishes(scenario, wishes));
  EXPECT_THAT(emitted(scenario).unsaid, IsEmpty());
  EXPECT_EQ(said(emitted(scenario), "no_overlap_p2p_communication"), "");
  scenario.ways.pp_overlap = false;
  EXPECT_EQ(said(emitted(scenario), "no_overlap_p2p_communication"), "true");
}

TEST(EmitMegatron, MovesOfOtherAxesAreNotOverlapped) {
  Scenario scenario = emit_scenario("llama3-70b");
  SplitWishes wishes = megatron_wishes();
  wishes.tp = 1, wishes.cp = 4, wishes.context = ContextKind::gather;
  scenario.stack.row.activation_moves = Manners::overlapped;
  ASSERT_TRUE(take_wishes(scenario, wishes));
  EXPECT_THAT(emitted(scenario).unsaid, ElementsAre(HasSubstr("without tp")));
  EXPECT_EQ(said(emitted(scenario), "tp_comm_overlap"), "");
}

TEST(EmitMegatron, ConnectionsAreSetForOverlapAndUnsetForShards) {
  SplitWishes wishes = megatron_wishes();
  EXPECT_THAT(emitted("llama3-8b", wishes).text, HasSubstr("\nexport CUDA_DEVICE_MAX_CONNECTIONS=1"));
  wishes.zero = 3;
  EXPECT_THAT(emitted("llama3-8b", wishes).text,
      AllOf(HasSubstr("\nunset CUDA_DEVICE_MAX_CONNECTIONS"), Not(HasSubstr("export CUDA_"))));
  wishes.zero = 1;
  wishes.tp = 1;
  EXPECT_THAT(emitted("llama3-8b", wishes).text, Not(HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS")));
}

struct UnsaidRow {
  const char* network;
  void (*change)(SplitWishes& wishes, Scenario& scenario);
  const char *what, *name, *value;  ///< what is written instead
};

TEST(EmitMegatron, WhatItCannotSayIsNamedWithWhatItDoesInstead) {
  const auto nothing = [](SplitWishes&, Scenario&) {};
  const UnsaidRow rows[] = {{"llama3-70b", [](SplitWishes& w, Scenario&) { w.schedule = "zb-h1"; },
                                "the schedule zb-h1", "num_virtual_stages_per_pipeline_rank", ""},
      {"llama3-70b", [](SplitWishes& w, Scenario&) { w.schedule = "zb-v"; }, "the schedule zb-v",
          "num_virtual_stages_per_pipeline_rank", "2"},
      {"llama3-70b", [](SplitWishes& w, Scenario&) { w.order = *parse_order("pp-tp-cp-dp", ""); },
          "the order pp-tp-cp-dp", "use_tp_pp_dp_mapping", ""},
      {"llama3-70b", [](SplitWishes& w, Scenario&) { w.save_gathered = true; }, "gathered activations kept",
          "sequence_parallel", "true"},
      {"llama3-70b", [](SplitWishes& w, Scenario&) { w.sp = false, w.scatter_boundary = true; }, "in tp pieces",
          "sequence_parallel", ""},
      {"llama3-70b",
          [](SplitWishes& w, Scenario&) {
            w.recompute = {Recompute::Kind::full, 5}, w.chunks = 2;
          },
          "recomputation of 5 layers", "recompute_num_layers", "3"},
      {"llama3-70b", [](SplitWishes&, Scenario& s) { s.plan.lora_rank = 16; }, "LoRA adapters of rank 16", "bf16",
          "true"},
      {"llama3-70b", [](SplitWishes&, Scenario& s) { s.pipeline.slices = 2; }, "2 slices", "bf16", "true"},
      {"llama3-70b", [](SplitWishes&, Scenario& s) { s.pipeline.memory_cap = 3; }, "a cap of 3", "bf16", "true"},
      {"llama3-70b", [](SplitWishes&, Scenario& s) { s.plan.precision = Precision::tf32; }, "tf32", "bf16", ""},
      {"mixtral-8x7b", [](SplitWishes& w, Scenario&) { w.sp = false; }, "experts beside tp", "sequence_parallel", ""},
      {"gpt-neox-20b", nothing, "parallel block", "swiglu", ""}, {"opt-30b", nothing, "ReLU", "squared_relu", ""},
      {"gemma-7b", nothing, "GeGLU", "quick_geglu", "true"}};
  for (const UnsaidRow& row : rows) {
    Scenario scenario = emit_scenario(row.network);
    SplitWishes wishes = megatron_wishes();
    wishes.sequence = 1024;
    row.change(wishes, scenario);
    if (scenario.network.row.layers % 4 != 0) wishes.pp = 1, wishes.gpus = 16;
    ASSERT_TRUE(take_wishes(scenario, wishes)) << row.network << " " << row.what;
    const Emission emission = emitted(scenario);
    EXPECT_THAT(emission.unsaid, Contains(HasSubstr(row.what))) << row.network;
    EXPECT_EQ(said(emission, row.name), row.value) << row.what;
  }
}

TEST(EmitMegatron, NodesThatAreNotFullAreStartedAlike) {
  SplitWishes wishes = megatron_wishes();
  wishes.gpus = 20, wishes.tp = 1, wishes.pp = 4, wishes.global_batch = 20;
  const Emission emission = emitted("llama3-8b", wishes);
  EXPECT_EQ(launch_in(emission).gpus(), 20);
  EXPECT_THAT(emission.unsaid, ElementsAre(HasSubstr("20 GPUs on nodes of 8")));
}

TEST(EmitMegatron, StagesThatRunThereAndBackAreAddedUpByRank) {
  Scenario scenario = emit_scenario("llama3-8b");
  SplitWishes wishes = megatron_wishes();
  wishes.tp = 1;
  wishes.gpus = 4, wishes.global_batch = 6;  // no multiple of pp: not for the interleaved schedule
  wishes.schedule = "zb-v";
  ASSERT_TRUE(take_wishes(scenario, wishes));
  Split uneven = *scenario.split;
  uneven.layers = {5, 4, 4, 4, 4, 4, 4, 3};
  lay_split(scenario, std::move(uneven));
  const Emission emission = emitted(scenario);
  EXPECT_EQ(said(emission, "pipeline_model_parallel_layout"), "Et*8|(t*8|)*2t*8L");
  EXPECT_THAT(emission.unsaid, Contains(HasSubstr("Megatron-LM runs 1F1B")));
}

TEST(EmitMegatron, OlderSoftwareStandsBesideTheScript) {
  SplitWishes wishes = megatron_wishes();
  Scenario scenario = emit_scenario("gpt3-175b", "megatron-2022");
  wishes.sequence = 2048;
  ASSERT_TRUE(take_wishes(scenario, wishes));
  EXPECT_EQ(emitted(scenario).beside, "--stack megatron-2022");
  scenario.stack.id.clear();
  const Emission own = emitted(scenario);
  EXPECT_EQ(own.beside, "");
  EXPECT_THAT(own.unsaid, Contains(HasSubstr("the software ")));
  EXPECT_EQ(emitted("llama3-8b", megatron_wishes()).beside, "");
}

TEST(EmitMegatron, ModulesOfRecomputationAreStatementsOfTheMapping) {
  Scenario scenario = emit_scenario("llama3-8b");
  scenario.statements = {"recompute norm", "recompute attn.out"};
  ASSERT_TRUE(take_wishes(scenario, megatron_wishes()));
  const Emission emission = emitted(scenario);
  EXPECT_EQ(said(emission, "recompute_granularity"), "selective");
  EXPECT_EQ(said(emission, "recompute_modules"), "layernorm");
  EXPECT_THAT(emission.unsaid, ElementsAre(HasSubstr("the statement 'recompute attn.out'")));
}

TEST(EmitMegatron, EveryArgumentIsOneThatMegatronKnows) {
  const ArgumentTable& table = argument_table("megatron-lm");
  std::mt19937 random(7);
  std::set<std::string> names;
  for (int i = 0; i < 400; ++i) {
    const char* network = emit_tests::any_of<const char*>(
        random, {"llama3-70b", "mixtral-8x7b", "gpt3-175b", "qwen1.5-moe-a2.7b", "qwen3-32b"});
    Scenario scenario = emit_scenario(network);
    scenario.plan.precision = emit_tests::any_of(
        random, {Precision::bf16, Precision::fp16, Precision::fp8, Precision::mxfp8, Precision::nvfp4});
    SplitWishes wishes = random_wishes(random, scenario.network.row.experts.count > 0);
    wishes.sequence = 2048;
    if (!take_wishes(scenario, wishes)) continue;
    for (const auto& [name, value] : launch_in(emitted(scenario)).arguments) names.insert(name);
  }
  EXPECT_GT(names.size(), 50U);
  for (const std::string& name : names) {
    const ArgumentFact* fact = table.find(name);
    ASSERT_NE(fact, nullptr) << name;
    EXPECT_TRUE(table.knows(*fact, "core 0.19.0")) << name;
  }
}

}  // namespace
}  // namespace stepcast::launch
