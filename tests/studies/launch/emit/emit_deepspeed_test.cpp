#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "calibrate/import/config/config_text.h"
#include "studies/launch/facts/argument_facts.h"
#include "studies/launch/emit/emit.h"
#include "tests/studies/launch/emit/emit_fixtures.h"

namespace stepcast::launch {
namespace {

using emit_tests::emit_scenario;
using emit_tests::take_wishes;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using nlohmann::json;

SplitWishes zero_wishes(std::int64_t zero = 2) {
  SplitWishes wishes;
  wishes.gpus = 64, wishes.zero = zero, wishes.micro_batch = 2, wishes.global_batch = 512, wishes.sequence = 8192;
  return wishes;
}

/// What is written of the wishes in a scenario that may be changed before.
Emission ds_written(const SplitWishes& wishes, Scenario scenario = emit_scenario("llama3-8b", "deepspeed-zero")) {
  EXPECT_TRUE(take_wishes(scenario, wishes)) << "not legal";
  const auto plan = plan_to_emit(scenario);
  EXPECT_TRUE(plan) << to_text(plan.error());
  return plan ? emit_deepspeed(*plan) : Emission{};
}
json ds_json(const Emission& emission) { return json::parse(emission.text); }

TEST(EmitDeepSpeed, SaysADataParallelPlan) {
  const Emission emission = ds_written(zero_wishes());
  EXPECT_THAT(emission.unsaid, IsEmpty());
  EXPECT_EQ(emission.beside, "--gpus 64");
  json file = ds_json(emission);
  file.erase("_comment");
  EXPECT_EQ(file, json::parse(R"({
    "train_batch_size": 512, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "bf16": {"enabled": true},
    "zero_optimization": {"stage": 2, "overlap_comm": true}, "gradient_clipping": 1})"));
}

TEST(EmitDeepSpeed, CommentsStandInTheFirstKeyAndSayHowToReadItBack) {
  const json file = ds_json(ds_written(zero_wishes()));
  ASSERT_TRUE(file.contains("_comment"));
  EXPECT_THAT(file["_comment"].get<std::vector<std::string>>(),
      Contains(HasSubstr("stepcast predict llama3-8b --deepspeed ds_config.json --gpus 64 --machine dgx-h100 --stack "
                         "deepspeed-zero")));
  EXPECT_EQ(ds_written(zero_wishes()).text.find("\"_comment\""), 4u);
}

/// Without its stack a file of another software would be read as DeepSpeed's own.
TEST(EmitDeepSpeed, TheStackStandsBesideTheFile) {
  EXPECT_EQ(
      ds_written(zero_wishes(), emit_scenario("llama3-8b", "megatron-core")).beside, "--gpus 64 --stack megatron-core");
}

TEST(EmitDeepSpeed, WhatItCannotSayStandsInTheFileToo) {
  SplitWishes wishes = zero_wishes();
  wishes.recompute = {Recompute::Kind::full, 0};
  const Emission emission = ds_written(wishes);
  ASSERT_THAT(emission.unsaid, ElementsAre(HasSubstr("recomputation of every layer; the program turns it on")));
  EXPECT_THAT(ds_json(emission)["_comment"].get<std::vector<std::string>>(),
      Contains("It cannot say: " + emission.unsaid.front() + "."));
}

TEST(EmitDeepSpeed, NumberTypesAreSections) {
  struct {
    Precision precision;
    const char* on;
    std::size_t unsaid;
  } const rows[] = {{Precision::bf16, "bf16", 0}, {Precision::fp16, "fp16", 0}, {Precision::fp32, "", 0},
      {Precision::tf32, "", 1}, {Precision::fp8, "bf16", 1}};
  for (const auto& row : rows) {
    Scenario scenario = emit_scenario("llama3-8b", "deepspeed-zero");
    scenario.plan.precision = row.precision;
    const Emission emission = ds_written(zero_wishes(), scenario);
    const json file = ds_json(emission);
    for (const std::string type : {"bf16", "fp16"})
      EXPECT_EQ(file.contains(type), type == row.on) << to_text(row.precision);
    EXPECT_EQ(emission.unsaid.size(), row.unsaid) << to_text(row.precision);
  }
}

TEST(EmitDeepSpeed, OverlapIsThatOfTheStack) {
  Scenario scenario = emit_scenario("llama3-8b", "deepspeed-zero");
  scenario.ways.dp_overlap = false;
  scenario.stack.row = with_ways(scenario.stack.row, scenario.ways);
  EXPECT_EQ(ds_json(ds_written(zero_wishes(), scenario))["zero_optimization"]["overlap_comm"], false);
  EXPECT_EQ(ds_json(ds_written(zero_wishes(0), scenario))["zero_optimization"]["overlap_comm"], false);
  // Without ZeRO the key does nothing, so a habit is not written.
  EXPECT_FALSE(ds_json(ds_written(zero_wishes(0)))["zero_optimization"].contains("overlap_comm"));
}

TEST(EmitDeepSpeed, OverlapThatWasAskedForWithoutZeroIsSaidToBeLost) {
  Scenario scenario = emit_scenario("llama3-8b", "deepspeed-zero");
  scenario.ways.dp_overlap = true;
  EXPECT_THAT(ds_written(zero_wishes(0), scenario).unsaid, ElementsAre(HasSubstr("it reduces them behind backward")));
  EXPECT_THAT(ds_written(zero_wishes(1), scenario).unsaid, IsEmpty());
}

TEST(EmitDeepSpeed, MannersThatDifferHaveNoWord) {
  Scenario scenario = emit_scenario("llama3-8b", "deepspeed-zero");
  scenario.stack.row.weight_gathers = Manners::blocking;
  EXPECT_THAT(ds_written(zero_wishes(3), scenario).unsaid, ElementsAre(HasSubstr("overlap_comm says one for both")));
}

TEST(EmitDeepSpeed, TensorParallelismIsAutoTp) {
  SplitWishes wishes = zero_wishes(1);
  wishes.tp = 4, wishes.global_batch = 128, wishes.sp = false;
  const Emission emission = ds_written(wishes);
  EXPECT_EQ(ds_json(emission)["tensor_parallel"], json::parse(R"({"autotp_size": 4, "tp_overlap_comm": false})"));
  EXPECT_EQ(ds_json(emission)["gradient_accumulation_steps"], 4);
  EXPECT_THAT(emission.unsaid, ElementsAre(HasSubstr("keeps the embedding whole")));
  wishes.sp = true;
  EXPECT_THAT(ds_written(wishes).unsaid, Contains(HasSubstr("sequence parallelism beside tp")));
}

TEST(EmitDeepSpeed, UlyssesIsAMeshOfSequenceAndDataRanks) {
  SplitWishes wishes = zero_wishes();
  wishes.cp = 4, wishes.context = ContextKind::ulysses;
  const Emission emission = ds_written(wishes);
  EXPECT_THAT(emission.unsaid, IsEmpty());
  EXPECT_EQ(ds_json(emission)["sequence_parallel_size"], 4);
  EXPECT_EQ(ds_json(emission)["data_parallel_size"], 16);
  for (const ContextKind kind : {ContextKind::ring, ContextKind::gather}) {
    wishes.context = kind;
    EXPECT_THAT(ds_written(wishes).unsaid, ElementsAre(HasSubstr("it splits sequences by heads")));
    EXPECT_FALSE(ds_json(ds_written(wishes)).contains("sequence_parallel_size"));
  }
}

TEST(EmitDeepSpeed, StagesAreTheModelsButTheirRecomputationIsTheFiles) {
  SplitWishes wishes = zero_wishes(1);
  wishes.pp = 4, wishes.recompute = {Recompute::Kind::full, 0};
  const Emission emission = ds_written(wishes);
  EXPECT_THAT(emission.unsaid, ElementsAre(HasSubstr("PipelineModule(num_stages=4)")));
  EXPECT_EQ(ds_json(emission)["pipeline"], json::parse(R"({"activation_checkpoint_interval": 1})"));
  wishes.recompute = {};
  EXPECT_EQ(ds_json(ds_written(wishes))["pipeline"], json::parse(R"({"activation_checkpoint_interval": 0})"));
}

// clang-format off
struct LostBesideStages { const char* name; void (*change)(SplitWishes&); const char* said; };
// clang-format on
void PrintTo(const LostBesideStages& row, std::ostream* out) { *out << row.name; }

class EmitDeepSpeedStages : public testing::TestWithParam<LostBesideStages> {};

TEST_P(EmitDeepSpeedStages, SayWhatTheEngineDoesInstead) {
  SplitWishes wishes = zero_wishes(1);
  wishes.pp = 4;
  GetParam().change(wishes);
  EXPECT_THAT(ds_written(wishes).unsaid, Contains(HasSubstr(GetParam().said)));
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(
    Lost, EmitDeepSpeedStages,
    testing::Values(LostBesideStages{"tensors", [](SplitWishes& w) { w.tp = 2; }, "tp 2 beside stages"},
                    LostBesideStages{"zero", [](SplitWishes& w) { w.zero = 3; }, "refuses stages 2 and 3 of ZeRO"},
                    LostBesideStages{"schedule", [](SplitWishes& w) { w.schedule = "gpipe"; }, "the schedule gpipe"},
                    LostBesideStages{"chunks", [](SplitWishes& w) { w.chunks = 2; }, "the schedule interleaved-1f1b"},
                    LostBesideStages{"order", [](SplitWishes& w) { w.order = *parse_order("tp-cp-pp-dp", ""); },
                                     "the mesh order tp-cp-pp-dp"},
                    LostBesideStages{"some_layers", [](SplitWishes& w) { w.recompute = {Recompute::Kind::full, 2}; },
                                     "recomputation of 2 layers of each stage"},
                    LostBesideStages{"core", [](SplitWishes& w) { w.recompute = {Recompute::Kind::selective, 0}; },
                                     "of the attention core alone"}),
    [](const auto& info) { return info.param.name; });
// clang-format on

TEST(EmitDeepSpeed, CopiesOfStageThreeAreMics) {
  SplitWishes wishes = zero_wishes(3);
  wishes.replicas = 8;
  const Emission emission = ds_written(wishes);
  EXPECT_THAT(emission.unsaid, IsEmpty());
  EXPECT_EQ(ds_json(emission)["zero_optimization"]["mics_shard_size"], 8);
  wishes.zero = 2;
  EXPECT_THAT(ds_written(wishes).unsaid, ElementsAre(HasSubstr("8 copies of what zero 2 keeps in shards")));
}

TEST(EmitDeepSpeed, ExpertsAreSpreadByAutoEp) {
  SplitWishes wishes = zero_wishes(1);
  wishes.ep = 8;
  const Emission emission = ds_written(wishes, emit_scenario("mixtral-8x7b", "deepspeed-zero"));
  EXPECT_THAT(emission.unsaid, IsEmpty());
  EXPECT_EQ(ds_json(emission)["expert_parallel"],
      json::parse(R"({"enabled": true, "autoep_size": 8, "expert_tensor_parallel_size": 1})"));
  wishes.tp = 2, wishes.etp = 2, wishes.ep = 4;
  EXPECT_THAT(ds_written(wishes, emit_scenario("mixtral-8x7b", "deepspeed-zero")).unsaid,
      Contains(HasSubstr("etp 2 beside ep 4")));
}

TEST(EmitDeepSpeed, ASequenceOfItsOwnStandsBesideTheFile) {
  SplitWishes wishes = zero_wishes();
  wishes.sequence = 2048;
  EXPECT_EQ(ds_written(wishes).beside, "--gpus 64 --seq 2048");
}

TEST(EmitDeepSpeed, AdaptersAreTheProgramsOwn) {
  Scenario scenario = emit_scenario("llama3-8b", "deepspeed-zero");
  scenario.plan.lora_rank = 16;
  EXPECT_THAT(ds_written(zero_wishes(), scenario).unsaid, ElementsAre(HasSubstr("adapters of rank 16")));
}

TEST(EmitDeepSpeed, EveryKeyIsOneThatTheTableKnows) {
  const ArgumentTable& table = argument_table("deepspeed");
  SplitWishes many = zero_wishes(1);
  many.tp = 2, many.pp = 4, many.ep = 2, many.etp = 1;
  SplitWishes ulysses = zero_wishes();
  ulysses.cp = 2, ulysses.context = ContextKind::ulysses;
  for (const SplitWishes& wishes : {many, ulysses}) {
    const auto read =
        read_config(ds_written(wishes, emit_scenario("mixtral-8x7b", "deepspeed-zero")).text, "ds_config.json");
    ASSERT_TRUE(read) << to_text(read.error());
    for (const auto& [name, value] : *read)
      if (!name.starts_with('_')) {
        EXPECT_NE(table.find(name), nullptr) << name;
      }
  }
}

}  // namespace
}  // namespace stepcast::launch
