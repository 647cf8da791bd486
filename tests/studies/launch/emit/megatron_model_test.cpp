#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/emit/megatron_arguments.h"
#include "tests/studies/launch/megatron_emission.h"

namespace stepcast::launch {
namespace {

using emit_tests::emitted;
using emit_tests::emit_scenario;
using emit_tests::launch_in;
using emit_tests::megatron_wishes;
using emit_tests::said;
using emit_tests::take_wishes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(MegatronModel, ExpertsLieOnTheirOwnRanks) {
  SplitWishes wishes = megatron_wishes();
  wishes.ep = 8;
  wishes.etp = 2;
  const Emission emission = emitted("mixtral-8x7b", wishes);
  EXPECT_THAT(emission.unsaid, IsEmpty());
  for (const auto& [name, value] : ArgumentMap{{"num_experts", "8"}, {"moe_router_topk", "2"},
           {"moe_ffn_hidden_size", "14336"}, {"expert_model_parallel_size", "8"}, {"expert_tensor_parallel_size", "2"},
           {"moe_token_dispatcher_type", "alltoall"}, {"moe_grouped_gemm", "true"}})
    EXPECT_EQ(said(emission, name), value) << name;
  EXPECT_EQ(said(emission, "moe_layer_freq"), "");
}

TEST(MegatronModel, EitherDropoutIsSaidAlone) {
  const auto rates = [](bool no_attention, bool no_hidden) {
    Scenario scenario = emit_scenario("gpt3-13b");
    NetworkSpec& network = scenario.network.row;
    network.dropout = true, network.no_attention_dropout = no_attention, network.no_hidden_dropout = no_hidden;
    SplitWishes wishes = megatron_wishes();
    wishes.sequence = 2048;  // as many positions as it has learned
    EXPECT_TRUE(take_wishes(scenario, wishes));
    const Emission emission = emitted(scenario);
    return said(emission, "attention_dropout") + " " + said(emission, "hidden_dropout");
  };
  EXPECT_EQ(rates(false, false), "0.1 0.1");
  EXPECT_EQ(rates(true, false), "0 0.1");
  EXPECT_EQ(rates(false, true), "0.1 0");
}

TEST(MegatronModel, LatentAttentionSharedExpertsAndPredictionModules) {
  SplitWishes wishes = megatron_wishes();
  wishes.pp = 1;
  wishes.gpus = 32;
  const Emission emission = emitted("deepseek-v3", wishes);
  for (const auto& [name, value] : ArgumentMap{{"multi_latent_attention", "true"}, {"q_lora_rank", "1536"},
           {"kv_lora_rank", "512"}, {"qk_head_dim", "128"}, {"qk_pos_emb_head_dim", "64"}, {"v_head_dim", "128"},
           {"moe_layer_freq", "([0]*3+[1]*58)"}, {"moe_shared_expert_intermediate_size", "2048"},
           {"moe_router_enable_expert_bias", "true"}, {"mtp_num_layers", "1"}})
    EXPECT_EQ(said(emission, name), value) << name;
  EXPECT_EQ(said(emission, "num_query_groups"), "");
}

TEST(MegatronModel, BiasesOfAllPartsAreMegatronsOneFlag) {
  Scenario scenario = emit_scenario("gpt-oss-120b");
  SplitWishes wishes = megatron_wishes();
  wishes.tp = 1, wishes.gpus = 16;
  ASSERT_TRUE(take_wishes(scenario, wishes));
  const Emission all = emitted(scenario);
  EXPECT_THAT(all.unsaid, IsEmpty());
  EXPECT_EQ(said(all, "disable_bias_linear"), "");
  EXPECT_EQ(said(all, "moe_router_enable_expert_bias"), "");
  scenario.network.row.experts.router_bias = false;
  EXPECT_THAT(emitted(scenario).unsaid, ElementsAre(HasSubstr("a router without a bias")));
  scenario.network.row.experts.expert_bias = false;
  EXPECT_THAT(emitted(scenario).unsaid, ElementsAre(HasSubstr("a bias on the attention's output alone")));
  EXPECT_EQ(said(emitted(scenario), "add_qkv_bias"), "true");
}

TEST(MegatronModel, LayersWithExperts) {
  NetworkSpec network;
  network.layers = 6;
  network.experts.count = 8;
  EXPECT_EQ(expert_layer_pattern(network), "1");
  network.experts.every = 2;
  EXPECT_EQ(expert_layer_pattern(network), "(([0]*1+[1])*3)");
  network.experts.dense_layers = 1;
  EXPECT_EQ(expert_layer_pattern(network), "([0]*1+([0]*1+[1])*2+[0]*1)");
  network.experts.every = 1;
  EXPECT_EQ(expert_layer_pattern(network), "([0]*1+[1]*5)");
}

struct NumbersRow {
  Precision precision;
  std::vector<std::string> names;
};

TEST(MegatronModel, NumberTypes) {
  const NumbersRow rows[] = {{Precision::fp32, {}}, {Precision::bf16, {"bf16"}}, {Precision::fp16, {"fp16"}},
      {Precision::fp8, {"bf16", "fp8_format", "fp8_recipe"}}, {Precision::mxfp8, {"bf16", "fp8_format", "fp8_recipe"}},
      {Precision::nvfp4, {"bf16", "fp4_format"}}};
  const std::vector<std::string> all = {
      "bf16", "fp16", "accumulate_allreduce_grads_in_fp32", "fp8_format", "fp8_recipe", "fp4_format"};
  for (const NumbersRow& row : rows) {
    Scenario scenario = emit_scenario("llama3-8b");
    scenario.plan.precision = row.precision;
    ASSERT_TRUE(take_wishes(scenario, megatron_wishes()));
    const ArgumentMap arguments = launch_in(emitted(scenario)).arguments;
    for (const std::string& name : all)
      EXPECT_EQ(arguments.count(name) == 1, std::count(row.names.begin(), row.names.end(), name) == 1)
          << to_text(row.precision) << " " << name;
  }
}

TEST(MegatronModel, BloomHasThreeThingsOfItsOwn) {
  SplitWishes wishes = megatron_wishes();
  wishes.pp = 1, wishes.gpus = 16;
  wishes.sequence = 2048;
  EXPECT_THAT(emitted("bloom-176b", wishes).unsaid,
      testing::IsSupersetOf({HasSubstr("ALiBi"), HasSubstr("behind the embedding")}));
}

}  // namespace
}  // namespace stepcast::launch
