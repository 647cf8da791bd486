#include "studies/launch/emit/emit_accelerate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/import/config/config_text.h"
#include "studies/launch/facts/argument_facts.h"
#include "tests/studies/launch/emit/emit_fixtures.h"

namespace stepcast::launch {
namespace {

using emit_tests::emit_scenario;
using emit_tests::take_wishes;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// One micro-batch a step, all on two machines.
SplitWishes acc_wishes(std::int64_t zero) {
  SplitWishes wishes;
  wishes.gpus = 16, wishes.zero = zero, wishes.micro_batch = 2, wishes.global_batch = 32, wishes.sequence = 8192;
  return wishes;
}

Scenario acc_scenario(const std::string& network = "llama3-8b", const std::string& stack = "pytorch-fsdp") {
  return emit_scenario(network, stack);
}
/// As accelerate leaves DeepSpeed and Megatron-LM: nothing beside backward.
Scenario without_overlap(Scenario scenario) {
  scenario.ways.dp_overlap = false;
  scenario.stack.row = with_ways(scenario.stack.row, scenario.ways);
  return scenario;
}

Emission acc_written(const SplitWishes& wishes, Scenario scenario = acc_scenario()) {
  EXPECT_TRUE(take_wishes(scenario, wishes)) << "not legal";
  const auto plan = plan_to_emit(scenario);
  EXPECT_TRUE(plan) << to_text(plan.error());
  return plan ? emit_accelerate(*plan) : Emission{};
}
ArgumentMap acc_settings(const Emission& emission) {
  const auto read = read_config(emission.text, "accelerate.yaml");
  EXPECT_TRUE(read) << emission.text;
  return read ? *read : ArgumentMap{};
}

TEST(EmitAccelerate, WeightsInShardsAreFsdp2) {
  const Emission emission = acc_written(acc_wishes(3));
  EXPECT_THAT(emission.unsaid, IsEmpty());
  EXPECT_EQ(emission.beside, "--micro-batch 2 --global-batch 32");
  const ArgumentMap expected = {{"compute_environment", "LOCAL_MACHINE"}, {"distributed_type", "FSDP"},
      {"num_machines", "2"}, {"num_processes", "16"}, {"machine_rank", "0"}, {"main_process_ip", "127.0.0.1"},
      {"main_process_port", "29500"}, {"main_training_function", "main"}, {"mixed_precision", "bf16"},
      {"dynamo_config.dynamo_backend", "INDUCTOR"}, {"fsdp_config.fsdp_version", "2"},
      {"fsdp_config.fsdp_reshard_after_forward", "true"},
      {"fsdp_config.fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP"},
      {"fsdp_config.fsdp_activation_checkpointing", "false"}, {"fsdp_config.fsdp_offload_params", "false"},
      {"fsdp_config.fsdp_state_dict_type", "SHARDED_STATE_DICT"},
      {"fsdp_config.fsdp_cpu_ram_efficient_loading", "true"}};
  EXPECT_EQ(acc_settings(emission), expected);
}

// clang-format off
struct EngineRow { const char* name; void (*change)(SplitWishes&); const char* engine; };
// clang-format on
void PrintTo(const EngineRow& row, std::ostream* out) { *out << row.name; }

class EmitAccelerateEngine : public testing::TestWithParam<EngineRow> {};

TEST_P(EmitAccelerateEngine, IsWhatThePlanNeeds) {
  SplitWishes wishes = acc_wishes(0);
  GetParam().change(wishes);
  EXPECT_EQ(acc_settings(acc_written(wishes, acc_scenario("mixtral-8x7b"))).at("distributed_type"), GetParam().engine);
}

INSTANTIATE_TEST_SUITE_P(Plans, EmitAccelerateEngine,
    testing::Values(EngineRow{"one_gpu", [](SplitWishes& w) { w.gpus = 1, w.global_batch = 2; }, "NO"},
        EngineRow{"data_ranks", [](SplitWishes&) {}, "MULTI_GPU"},
        EngineRow{"zero_1", [](SplitWishes& w) { w.zero = 1; }, "DEEPSPEED"},
        EngineRow{"zero_2", [](SplitWishes& w) { w.zero = 2; }, "FSDP"},
        EngineRow{"zero_2_accumulated", [](SplitWishes& w) { w.zero = 2, w.global_batch = 64; }, "DEEPSPEED"},
        EngineRow{"zero_3", [](SplitWishes& w) { w.zero = 3; }, "FSDP"},
        EngineRow{"tp", [](SplitWishes& w) { w.tp = 2; }, "MEGATRON_LM"},
        EngineRow{"tp_and_zero_3", [](SplitWishes& w) { w.tp = 2, w.zero = 3; }, "FSDP"},
        EngineRow{"cp", [](SplitWishes& w) { w.cp = 2; }, "MEGATRON_LM"},
        EngineRow{"pp", [](SplitWishes& w) { w.pp = 2, w.zero = 3; }, "MEGATRON_LM"},
        EngineRow{"ep", [](SplitWishes& w) { w.ep = 8, w.zero = 3; }, "MEGATRON_LM"}),
    [](const auto& info) { return info.param.name; });

TEST(EmitAccelerate, GradientsInShardsKeepWeightsGathered) {
  const Emission emission = acc_written(acc_wishes(2));
  EXPECT_THAT(emission.unsaid, IsEmpty());
  EXPECT_EQ(acc_settings(emission).at("fsdp_config.fsdp_reshard_after_forward"), "false");
}

TEST(EmitAccelerate, CopiesOfShardsAreFsdpsMesh) {
  SplitWishes wishes = acc_wishes(3);
  wishes.replicas = 2;
  const Emission emission = acc_written(wishes);
  EXPECT_THAT(emission.unsaid, IsEmpty());
  EXPECT_EQ(acc_settings(emission).at("parallelism_config.parallelism_config_dp_replicate_size"), "2");
  EXPECT_EQ(acc_settings(emission).at("parallelism_config.parallelism_config_dp_shard_size"), "8");
  wishes.zero = 1;
  EXPECT_THAT(acc_written(wishes, without_overlap(acc_scenario("llama3-8b", "deepspeed-zero"))).unsaid,
      ElementsAre(HasSubstr("2 copies of what is in shards")));
  wishes.zero = 3, wishes.tp = 2, wishes.replicas = 8;
  EXPECT_THAT(
      acc_written(wishes).unsaid, Contains(HasSubstr("nothing in shards beside tp or cp; accelerate refuses them")));
}

TEST(EmitAccelerate, FsdpKeepsWholeGradientsBetweenMicroBatches) {
  SplitWishes wishes = acc_wishes(3);
  wishes.global_batch = 128;
  EXPECT_THAT(acc_written(wishes).unsaid,
      ElementsAre(HasSubstr("between the 4 micro-batches of a step; accelerate keeps them whole")));
}

TEST(EmitAccelerate, DeepSpeedIsToldItsStageAndAccumulationAndOverlapsNothing) {
  SplitWishes wishes = acc_wishes(2);
  wishes.global_batch = 128;
  const Emission emission = acc_written(wishes, without_overlap(acc_scenario("llama3-8b", "deepspeed-zero")));
  EXPECT_THAT(emission.unsaid, IsEmpty());
  EXPECT_EQ(emission.beside, "--micro-batch 2");
  const ArgumentMap settings = acc_settings(emission);
  EXPECT_EQ(settings.at("deepspeed_config.zero_stage"), "2");
  EXPECT_EQ(settings.at("deepspeed_config.gradient_accumulation_steps"), "4");
  EXPECT_THAT(acc_written(wishes).unsaid, ElementsAre(HasSubstr("accelerate sets no overlap for DeepSpeed"),
                                              HasSubstr("for such a plan accelerate runs DeepSpeed")));
}

TEST(EmitAccelerate, FsdpAndPlainDataParallelismCannotBeKeptFromOverlapping) {
  for (const std::int64_t zero : {0, 3})
    EXPECT_THAT(acc_written(acc_wishes(zero), without_overlap(acc_scenario())).unsaid,
        ElementsAre(HasSubstr("move behind compute")))
        << zero;
}

TEST(EmitAccelerate, MegatronIsToldWhatItsDefaultsWouldSpoil) {
  SplitWishes wishes = acc_wishes(1);
  wishes.tp = 2, wishes.pp = 2, wishes.global_batch = 64, wishes.recompute = {Recompute::Kind::selective, 0};
  const Emission emission = acc_written(wishes, without_overlap(acc_scenario("llama3-8b", "megatron-core")));
  EXPECT_THAT(emission.unsaid, IsEmpty());
  EXPECT_EQ(emission.beside, "--micro-batch 2");
  const ArgumentMap settings = acc_settings(emission);
  const std::pair<const char*, const char*> wanted[] = {{"tp_degree", "2"}, {"pp_degree", "2"},
      {"context_parallel_size", "1"}, {"num_micro_batches", "8"}, {"sequence_parallelism", "true"},
      {"use_distributed_optimizer", "true"}, {"recompute_granularity", "selective"}};
  for (const auto& [name, value] : wanted)
    EXPECT_EQ(settings.at(fmt::format("megatron_lm_config.megatron_lm_{}", name)), value) << name;
}

TEST(EmitAccelerate, MegatronRecomputesBlocksOfAStage) {
  SplitWishes wishes = acc_wishes(0);
  wishes.pp = 2, wishes.recompute = {Recompute::Kind::full, 3};
  const Emission emission = acc_written(wishes, without_overlap(acc_scenario("llama3-8b", "megatron-core")));
  EXPECT_THAT(emission.unsaid, IsEmpty());
  const ArgumentMap settings = acc_settings(emission);
  EXPECT_EQ(settings.at("megatron_lm_config.megatron_lm_recompute_method"), "block");
  EXPECT_EQ(settings.at("megatron_lm_config.megatron_lm_recompute_num_layers"), "3");
}

TEST(EmitAccelerate, ALastStageOfItsOwnIsSaidAndOtherUnevenOnesAreNot) {
  Split split;
  split.layers = {10, 10, 12};
  EXPECT_EQ(accelerate_last_layers(split), 12);
  split.layers = {10, 12, 10};
  EXPECT_EQ(accelerate_last_layers(split), 0);
  split.layers.clear();
  EXPECT_EQ(accelerate_last_layers(split), 0);
}

// clang-format off
struct LostByAccelerate { const char* name; std::int64_t zero; void (*change)(SplitWishes&); const char* said; };
// clang-format on
void PrintTo(const LostByAccelerate& row, std::ostream* out) { *out << row.name; }

class EmitAccelerateLoses : public testing::TestWithParam<LostByAccelerate> {};

TEST_P(EmitAccelerateLoses, AndSaysWhatRunsInstead) {
  SplitWishes wishes = acc_wishes(GetParam().zero);
  GetParam().change(wishes);
  EXPECT_THAT(acc_written(wishes).unsaid, Contains(HasSubstr(GetParam().said)));
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(
    Plans, EmitAccelerateLoses,
    testing::Values(LostByAccelerate{"no_recomputation", 0, [](SplitWishes& w) { w.pp = 2; }, "every layer runs again"},
                    LostByAccelerate{"weights_beside_stages", 3, [](SplitWishes& w) { w.pp = 2; },
                                     "zero 3; Megatron-LM through accelerate"},
                    LostByAccelerate{"schedule", 0, [](SplitWishes& w) { w.pp = 2, w.schedule = "gpipe"; },
                                     "the schedule gpipe"},
                    LostByAccelerate{"sequence_parallel", 3, [](SplitWishes& w) { w.tp = 2; },
                                     "sequence parallelism beside tp"},
                    LostByAccelerate{"vocabulary", 3, [](SplitWishes& w) { w.tp = 2, w.sp = false; },
                                     "keep the embedding whole"},
                    LostByAccelerate{"ulysses", 3, [](SplitWishes& w) { w.cp = 2, w.context = ContextKind::ulysses; },
                                     "split by heads"},
                    LostByAccelerate{"gathered_keys", 0, [](SplitWishes& w) { w.cp = 2,
                        w.context = ContextKind::gather; }, "Megatron-LM sends keys"},
                    LostByAccelerate{"some_layers", 3, [](SplitWishes& w) { w.recompute = {Recompute::Kind::full, 2}; },
                                     "every layer or none"},
                    LostByAccelerate{"programs_recomputation", 0,
                                     [](SplitWishes& w) { w.recompute = {Recompute::Kind::full, 0}; },
                                     "gradient_checkpointing"},
                    LostByAccelerate{"order", 0, [](SplitWishes& w) { w.pp = 2, w.order = *parse_order("tp-cp-pp-dp",
                        ""); }, "the mesh order"},
                    LostByAccelerate{"part_of_a_node", 3, [](SplitWishes& w) { w.gpus = 12, w.global_batch = 24; },
                                     "4 on 3 nodes"}),
    [](const auto& info) { return info.param.name; });
// clang-format on

TEST(EmitAccelerate, KeysAndValuesTravelAsThePlanSays) {
  for (const auto& [kind, word] :
      {std::pair(ContextKind::ring, "alltoall"), std::pair(ContextKind::gather, "allgather")}) {
    SplitWishes wishes = acc_wishes(3);
    wishes.cp = 2, wishes.context = kind, wishes.global_batch = 16;
    const Emission emission = acc_written(wishes);
    EXPECT_THAT(emission.unsaid, IsEmpty());
    const ArgumentMap settings = acc_settings(emission);
    EXPECT_EQ(settings.at("parallelism_config.parallelism_config_cp_comm_strategy"), word);
    EXPECT_EQ(settings.at("parallelism_config.parallelism_config_cp_size"), "2");
    EXPECT_EQ(settings.at("parallelism_config.parallelism_config_dp_shard_size"), "8");
  }
}

TEST(EmitAccelerate, NumberTypes) {
  struct {
    Precision precision;
    const char* word;
    std::size_t unsaid;
  } const rows[] = {{Precision::bf16, "bf16", 0}, {Precision::fp16, "fp16", 0}, {Precision::fp32, "no", 0},
      {Precision::fp8, "fp8", 0}, {Precision::mxfp8, "bf16", 1}};
  for (const auto& row : rows) {
    Scenario scenario = acc_scenario();
    scenario.plan.precision = row.precision;
    const Emission emission = acc_written(acc_wishes(3), scenario);
    EXPECT_EQ(acc_settings(emission).at("mixed_precision"), row.word);
    EXPECT_EQ(acc_settings(emission).count("fp8_config.backend"), row.precision == Precision::fp8 ? 1u : 0u);
    EXPECT_EQ(emission.unsaid.size(), row.unsaid) << to_text(row.precision);
  }
}

TEST(EmitAccelerate, SwitchesWithoutAWordAreNamed) {
  Scenario scenario = acc_scenario();
  scenario.ways.tp_overlap = true;
  scenario.stack.row = with_ways(scenario.stack.row, scenario.ways);
  EXPECT_THAT(
      acc_written(acc_wishes(3), scenario).unsaid, ElementsAre(HasSubstr("moves of activations beside compute")));
}

TEST(EmitAccelerate, SaysInCommentsWhatItCannotSayAndHowToReadItBack) {
  SplitWishes wishes = acc_wishes(3);
  wishes.recompute = {Recompute::Kind::selective, 0}, wishes.sequence = 2048;
  const Emission emission = acc_written(wishes);
  ASSERT_EQ(emission.unsaid.size(), 1u);
  EXPECT_EQ(emission.beside, "--micro-batch 2 --global-batch 32 --seq 2048");
  EXPECT_THAT(emission.text, HasSubstr("# It cannot say: recomputation of the attention core alone"));
  EXPECT_THAT(emission.text, HasSubstr("stepcast predict llama3-8b --accelerate accelerate.yaml"));
}

TEST(EmitAccelerate, EveryKeyIsOneThatTheTableKnows) {
  const ArgumentTable& table = argument_table("accelerate");
  SplitWishes many = acc_wishes(1);
  many.tp = 2, many.pp = 2, many.ep = 2, many.recompute = {Recompute::Kind::full, 0};
  SplitWishes mesh = acc_wishes(3);
  mesh.cp = 2;
  for (const SplitWishes& wishes : {many, mesh, acc_wishes(1), acc_wishes(0)})
    for (const auto& [name, value] : acc_settings(acc_written(wishes, acc_scenario("mixtral-8x7b"))))
      EXPECT_NE(table.find(name), nullptr) << name;
}

}  // namespace
}  // namespace stepcast::launch
