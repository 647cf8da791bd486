#include "sim/schedule/schedule_table.h"
#include "studies/launch/emit/emit_torchtitan.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/import/config/config_text.h"
#include "model/catalog.h"
#include "studies/launch/facts/argument_facts.h"
#include "studies/run/split/split_plan.h"
#include "tests/studies/launch/emit/emit_fixtures.h"

namespace stepcast::launch {
namespace {

using emit_tests::EmitCase;
using emit_tests::row_called;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct TitanCase : EmitCase {
  explicit TitanCase(
      const SplitWishes& wishes, const std::string& network = "llama3-70b", const std::string& stack = "pytorch-fsdp")
      : EmitCase(wishes, network, stack) {}

  [[nodiscard]] ArgumentMap settings() const {
    const auto read = read_config(emit_torchtitan(plan).text, "run.toml");
    EXPECT_TRUE(read) << emit_torchtitan(plan).text;
    return read ? *read : ArgumentMap{};
  }
  [[nodiscard]] std::vector<std::string> unsaid() const { return emit_torchtitan(plan).unsaid; }
};

SplitWishes titan_wishes() {
  SplitWishes wishes;
  wishes.gpus = 256, wishes.tp = 8, wishes.pp = 4, wishes.zero = 2;
  wishes.micro_batch = 2, wishes.global_batch = 256, wishes.sequence = 8192;
  return wishes;
}

TEST(EmitTorchtitan, SaysAPipelinedPlanInItsOwnNames) {
  const TitanCase c(titan_wishes());
  EXPECT_THAT(c.unsaid(), IsEmpty());
  const ArgumentMap expected = {{"model.name", "llama3"}, {"model.flavor", "70B"}, {"training.local_batch_size", "32"},
      {"training.global_batch_size", "256"}, {"training.seq_len", "8192"},
      {"training.mixed_precision_param", "bfloat16"}, {"parallelism.data_parallel_replicate_degree", "1"},
      {"parallelism.data_parallel_shard_degree", "8"}, {"parallelism.fsdp_reshard_after_forward", "never"},
      {"parallelism.tensor_parallel_degree", "8"}, {"parallelism.enable_async_tensor_parallel", "false"},
      {"parallelism.context_parallel_degree", "1"}, {"parallelism.pipeline_parallel_degree", "4"},
      {"parallelism.pipeline_parallel_schedule", "1F1B"}, {"parallelism.pipeline_parallel_microbatch_size", "2"},
      {"parallelism.pipeline_parallel_layers_per_stage", "20"},
      {"parallelism.pipeline_parallel_first_stage_less_layers", "0"},
      {"parallelism.pipeline_parallel_last_stage_less_layers", "0"}, {"activation_checkpoint.mode", "none"},
      {"compile.enable", "true"}};
  EXPECT_EQ(c.settings(), expected);
}

TEST(EmitTorchtitan, MicroBatchIsTheLocalBatchWhereNothingCutsIt) {
  SplitWishes wishes = titan_wishes();
  wishes.pp = 1, wishes.zero = 3;
  const ArgumentMap said = TitanCase(wishes).settings();
  EXPECT_EQ(said.at("training.local_batch_size"), "2");
  EXPECT_EQ(said.at("parallelism.data_parallel_shard_degree"), "32");
  EXPECT_EQ(said.at("parallelism.fsdp_reshard_after_forward"), "always");
  EXPECT_EQ(said.count("parallelism.pipeline_parallel_microbatch_size"), 0u);
}

TEST(EmitTorchtitan, LayersOfAnUnevenPipelineAreNamedPartByPart) {
  SplitWishes wishes = titan_wishes();
  TitanCase c(wishes, "llama3-405b");
  c.plan.split.layers = {31, 32, 32, 31};
  const ArgumentMap said = c.settings();
  const std::string parts = said.at("parallelism.module_fqns_per_model_part");
  EXPECT_THAT(torchtitan_part_layers(parts), ElementsAre(31, 32, 32, 31));
  EXPECT_THAT(parts, HasSubstr("[\"tok_embeddings\", \"layers.0\","));
  EXPECT_THAT(parts, HasSubstr("\"layers.125\", \"norm\", \"output\"]"));
  EXPECT_EQ(said.count("parallelism.pipeline_parallel_layers_per_stage"), 0u);
}

TEST(EmitTorchtitan, OnePartPerRankOfAScheduleThatCouldHaveSeveralIsNamed) {
  SplitWishes wishes = titan_wishes();
  wishes.schedule = "zb-h1";
  const ArgumentMap said = TitanCase(wishes).settings();
  EXPECT_EQ(said.at("parallelism.pipeline_parallel_schedule"), "InterleavedZeroBubble");
  EXPECT_THAT(torchtitan_part_layers(said.at("parallelism.module_fqns_per_model_part")), ElementsAre(20, 20, 20, 20));
}

TEST(EmitTorchtitan, ChunksFollowFromLayersOfAStage) {
  SplitWishes wishes = titan_wishes();
  wishes.chunks = 5;
  const TitanCase c(wishes);
  EXPECT_THAT(c.unsaid(), IsEmpty());
  const ArgumentMap said = c.settings();
  EXPECT_EQ(said.at("parallelism.pipeline_parallel_schedule"), "Interleaved1F1B");
  EXPECT_EQ(said.at("parallelism.pipeline_parallel_layers_per_stage"), "4");
}

TEST(EmitTorchtitan, HomesAreShardsReplicasOrSaid) {
  SplitWishes alone;
  alone.gpus = 16, alone.global_batch = 16, alone.sequence = 8192, alone.zero = 0;
  const TitanCase replicated(alone, "llama3-8b");
  EXPECT_THAT(replicated.unsaid(), IsEmpty());
  EXPECT_EQ(replicated.settings().at("parallelism.data_parallel_replicate_degree"), "16");
  EXPECT_EQ(replicated.settings().at("parallelism.data_parallel_shard_degree"), "1");
  alone.tp = 2;
  EXPECT_THAT(TitanCase(alone, "llama3-8b").unsaid(), ElementsAre(HasSubstr("zero 0 beside another split")));
  alone.zero = 1;
  EXPECT_THAT(TitanCase(alone, "llama3-8b").unsaid(), ElementsAre(HasSubstr("zero 1")));
  EXPECT_EQ(TitanCase(alone, "llama3-8b").settings().at("parallelism.fsdp_reshard_after_forward"), "never");
  alone.zero = 3, alone.replicas = 4;
  EXPECT_THAT(TitanCase(alone, "llama3-8b").unsaid(), IsEmpty());
  EXPECT_EQ(TitanCase(alone, "llama3-8b").settings().at("parallelism.data_parallel_replicate_degree"), "4");
  EXPECT_EQ(TitanCase(alone, "llama3-8b").settings().at("parallelism.data_parallel_shard_degree"), "2");
  alone.replicas = 8;
  EXPECT_THAT(TitanCase(alone, "llama3-8b").unsaid(), Contains(HasSubstr("zero 3 over one rank")));
  alone.replicas = 1;
  alone.gpus = 2, alone.tp = 1, alone.cp = 2, alone.zero = 3;  // context ranks hold shards as well
  EXPECT_EQ(TitanCase(alone, "llama3-8b").settings().at("parallelism.fsdp_reshard_after_forward"), "always");
  alone.gpus = 1, alone.cp = 1, alone.zero = 1;
  EXPECT_THAT(TitanCase(alone, "llama3-8b").unsaid(), ElementsAre(HasSubstr("nothing in shards")));
  alone.zero = 0;
  EXPECT_THAT(TitanCase(alone, "llama3-8b").unsaid(), IsEmpty());
}

TEST(EmitTorchtitan, ContextRanksGatherOrSendRound) {
  SplitWishes wishes = titan_wishes();
  wishes.pp = 1, wishes.cp = 2;
  EXPECT_EQ(TitanCase(wishes).settings().at("parallelism.context_parallel_rotate_method"), "alltoall");
  wishes.context = ContextKind::gather;
  EXPECT_EQ(TitanCase(wishes).settings().at("parallelism.context_parallel_rotate_method"), "allgather");
}

TEST(EmitTorchtitan, ExpertsHaveTheirAxesAndTheirNumbers) {
  SplitWishes wishes = titan_wishes();
  wishes.gpus = 64, wishes.pp = 1, wishes.tp = 2, wishes.ep = 16, wishes.global_batch = 128, wishes.zero = 3;
  TitanCase c(wishes, "deepseek-v2");
  c.scenario.plan.precision = Precision::fp8;
  EXPECT_THAT(c.unsaid(), IsEmpty());
  const ArgumentMap said = c.settings();
  EXPECT_EQ(said.at("model.name") + " " + said.at("model.flavor"), "deepseek_v3 236B");
  EXPECT_EQ(said.at("parallelism.expert_parallel_degree"), "16");
  EXPECT_EQ(said.at("parallelism.expert_tensor_parallel_degree"), "1");
  EXPECT_EQ(said.at("model.converters"), "[\"quantize.linear.float8\", \"quantize.grouped_mm.float8\"]");
  EXPECT_EQ(said.at("quantize.grouped_mm.float8.fqns"), "[\"experts\"]");
}

TEST(EmitTorchtitan, EveryNthLayerIsSaidWhereItComesOut) {
  SplitWishes wishes = titan_wishes();
  wishes.recompute = {Recompute::Kind::full, 0};
  EXPECT_EQ(TitanCase(wishes).settings().at("activation_checkpoint.mode"), "full");
  wishes.recompute.layers = 5;
  EXPECT_EQ(TitanCase(wishes).settings().at("activation_checkpoint.mode"), "selective");
  EXPECT_EQ(TitanCase(wishes).settings().at("activation_checkpoint.selective_ac_option"), "4");
  EXPECT_THAT(TitanCase(wishes).unsaid(), IsEmpty());
  wishes.recompute.layers = 7;
  EXPECT_THAT(TitanCase(wishes).unsaid(), ElementsAre(HasSubstr("recomputation of 7 layers")));
}

TEST(EmitTorchtitan, RecomputationByOperatorIsAStatementOfTheMapping) {
  TitanCase c(titan_wishes());
  c.plan.apart = {"recompute norm residual attn.qkv.K attn.out mlp.up mlp.act", "home O: full on tp"};
  EXPECT_EQ(c.settings().at("activation_checkpoint.selective_ac_option"), "op");
  EXPECT_THAT(c.unsaid(), ElementsAre(HasSubstr("home O: full on tp")));
}

struct TitanLoss {
  const char* words;
  std::function<void(TitanCase&)> change;
};

TEST(EmitTorchtitan, WhatItCannotSayIsNamed) {
  const TitanLoss losses[] = {
      {"the mesh order", [](TitanCase& c) { c.plan.split.order = *parse_order("tp-cp-pp-dp", ""); }},
      {"sequence parallelism", [](TitanCase& c) { c.plan.split.sequence = false; }},
      {"embedding", [](TitanCase& c) { c.plan.split.vocabulary = false; }},
      {"ulysses", [](TitanCase& c) { c.plan.split.cp = 2, c.plan.split.context = ContextKind::ulysses; }},
      {"a multiple of tp x 2 cp = 8", [](TitanCase& c) { c.scenario.plan.sequence = 8100; }},
      {"kept gathered", [](TitanCase& c) { c.plan.split.kept_gathers = {"norm1.y"}; }},
      {"tp pieces", [](TitanCase& c) { c.plan.split.scatter = Scatter::stated; }},
      {"attention core alone", [](TitanCase& c) { c.plan.split.recompute.kind = Recompute::Kind::selective; }},
      {"eager-1f1b; it runs 1F1B", [](TitanCase& c) { c.plan.split.schedule = "eager-1f1b"; }},
      {"gpipe without stages", [](TitanCase& c) { c.plan.split.schedule = "gpipe", c.plan.split.pp = 1; }},
      {"fp16; it computes in bf16", [](TitanCase& c) { c.scenario.plan.precision = Precision::fp16; }},
      {"computes in fp32 here", [](TitanCase& c) { c.plan.split.dp = 1; }},
      {"adapters of rank 8", [](TitanCase& c) { c.scenario.plan.lora_rank = 8; }},
      {"moves that wait", [](TitanCase& c) { c.scenario.stack.row.gradient_reduces = Manners::blocking; }},
      {"registered as 'gpt3-175b'",
          [](TitanCase& c) { c.scenario.network.row = row_called(built_in().networks, "gpt3-175b"); }},
      {"releases since 2025-01 ship none",
          [](TitanCase& c) { c.scenario.network.row = row_called(built_in().networks, "llama2-70b"); }},
      {"it refuses stages for qwen3",
          [](TitanCase& c) { c.scenario.network.row = row_called(built_in().networks, "qwen3-32b"); }},
      {"1 prediction module", [](TitanCase& c) { c.scenario.network.row.mtp_layers = 1; }},
      {"etp 4 beside tp 8", [](TitanCase& c) { c.plan.split.experts = true, c.plan.split.etp = 4; }},
  };
  for (const TitanLoss& loss : losses) {
    TitanCase c(titan_wishes());
    loss.change(c);
    EXPECT_THAT(c.unsaid(), Contains(HasSubstr(loss.words)));
    EXPECT_THAT(emit_torchtitan(c.plan).text, HasSubstr("# Not said: "));
  }
}

TEST(EmitTorchtitan, EveryScheduleIsTheSameOrSaid) {
  for (const ScheduleKind& kind : schedule_kinds()) {
    TitanCase c(titan_wishes());
    c.plan.split.schedule = kind.id;
    c.plan.split.chunks = std::max(1, static_cast<int>(kind.own_chunks));
    const TorchSchedule schedule = torch_schedule(c.plan.split);
    EXPECT_EQ(schedule.same, c.unsaid().empty()) << kind.id;
    EXPECT_TRUE(kind.own_chunks < 2 || !schedule.one_stage) << kind.id;
  }
}

TEST(EmitTorchtitan, EverySettingIsOneThatItsReleaseKnows) {
  const ArgumentTable& table = argument_table("torchtitan");
  SplitWishes wishes = titan_wishes();
  wishes.cp = 2, wishes.ep = 4, wishes.recompute = {Recompute::Kind::full, 5};
  for (const Precision precision : {Precision::bf16, Precision::fp8, Precision::mxfp8}) {
    TitanCase c(wishes, "llama4-scout");
    c.scenario.plan.precision = precision;
    for (const bool listed : {false, true}) {
      if (listed) c.plan.split.layers = {11, 13, 13, 11};
      for (const auto& [name, value] : c.settings()) {
        const ArgumentFact* fact = table.find(name);
        ASSERT_NE(fact, nullptr) << name;
        EXPECT_EQ(fact->name, name);
        EXPECT_TRUE(table.knows(*fact, "0.2.2")) << name;
        EXPECT_NE(fact->reach, Reach::nothing) << name << " is written, and would not matter";
        EXPECT_TRUE(fact->known.empty() || std::count(fact->known.begin(), fact->known.end(), value) == 1) << name;
      }
    }
  }
}

TEST(EmitTorchtitan, WhatDoesNotTouchTheStepIsWrittenAgain) {
  TitanCase c(titan_wishes());
  Framework framework{};
  framework.id = "torchtitan";
  Launch like;
  like.framework = &framework;
  const std::pair<const char*, const char*> given[] = {{"metrics.log_freq", "5"}, {"training.dataset", "c4"},
      {"model.flavor", "8B"}, {"model.tokenizer_path", "tok"}, {"debug.spmd_typechecking", "true"}};
  for (const auto& [name, value] : given) like.arguments.push_back({name, name, value, 1, {}});
  c.plan.like = &like;
  const std::string text = emit_torchtitan(c.plan).text;
  EXPECT_THAT(text, HasSubstr("[metrics]\nlog_freq = 5  # as before\n"));
  EXPECT_THAT(text, HasSubstr("dataset = \"c4\"  # as before\n"));
  EXPECT_THAT(text, Not(HasSubstr("8B")));
  EXPECT_THAT(text, HasSubstr("tokenizer_path = \"tok\""));
  EXPECT_THAT(text, HasSubstr("# Left out, as it does not take them, or nothing sets them: debug.spmd_typechecking."));
}

TEST(EmitTorchtitan, WhatIsKeptBreaksNoFile) {
  TitanCase c(titan_wishes());
  Framework framework{};
  framework.id = "torchtitan";
  Launch like;
  like.framework = &framework;
  const std::pair<const char*, const char*> given[] = {{"metrics.save_tb_folder", "a \"b\""},
      {"metrics.log_freq", "5 # \"x"}, {"job.description", "[open"}, {"job]x.y", "1"}, {"job.a b", "1"}};
  for (const auto& [name, value] : given) like.arguments.push_back({name, name, value, 1, {}});
  c.plan.like = &like;
  const std::string text = emit_torchtitan(c.plan).text;
  const auto read = read_config_arguments(text, "run.toml");
  ASSERT_TRUE(read) << to_text(read.error()) << text;
  EXPECT_THAT(text, HasSubstr("save_tb_folder = 'a \"b\"'"));
  EXPECT_THAT(text, HasSubstr("description = \"[open\""));
  EXPECT_THAT(text, HasSubstr("log_freq = '5 # \"x'"));
  EXPECT_THAT(text, HasSubstr("nothing sets them: job]x.y, job.a b."));
}

TEST(TorchtitanModels, AreNetworksOfTheCatalogue) {
  for (const TorchtitanModel& row : torchtitan_models()) {
    EXPECT_EQ(row_called(built_in().networks, std::string(row.network)).id, row.network);
    EXPECT_EQ(torchtitan_model(row.name, row.flavor), &row);
    const TorchtitanModel* first = torchtitan_model(row.network);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->name, row.name);
  }
  EXPECT_EQ(torchtitan_model("LLAMA4", "17BX16E")->network, "llama4-scout");
  EXPECT_EQ(torchtitan_model("llama3", "9B"), nullptr);
}

TEST(TorchtitanModels, PartsCountTheirLayers) {
  const char* three = "[['tok_embeddings', 'layers.0'], ['layers.1', 'layers.2'], ['norm', 'output']]";
  EXPECT_THAT(torchtitan_part_layers(three), ElementsAre(1, 2, 0));
  EXPECT_THAT(torchtitan_part_layers("[]"), IsEmpty());
}

}  // namespace
}  // namespace stepcast::launch
