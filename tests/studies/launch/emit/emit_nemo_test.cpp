#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/import/config/config_text.h"
#include "model/catalog.h"
#include "studies/launch/facts/argument_facts.h"
#include "studies/launch/emit/emit.h"
#include "studies/launch/emit/emit_nemo_settings.h"
#include "studies/run/split/split_plan.h"
#include "tests/studies/launch/emit/emit_fixtures.h"

namespace stepcast::launch {
namespace {

using emit_tests::EmitCase;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

struct NemoCase : EmitCase {
  explicit NemoCase(const SplitWishes& wishes, const std::string& network = "llama3-70b")
      : EmitCase(wishes, network, "megatron-core") {}

  [[nodiscard]] ArgumentMap settings() const {
    const std::string text = emit_nemo(plan).text;
    const auto read = read_config_arguments(text, "overrides.yaml");
    EXPECT_TRUE(read) << text;
    ArgumentMap all;  // null is a setting too
    if (read)
      for (const GivenArgument& given : *read) all[given.name] = given.value;
    return all;
  }
  /// "" where it is not written.
  [[nodiscard]] std::string said(const std::string& name) const {
    const ArgumentMap all = settings();
    return all.count(name) == 0 ? "" : all.at(name);
  }
  [[nodiscard]] std::vector<std::string> unsaid() const { return emit_nemo(plan).unsaid; }
};

SplitWishes nemo_wishes() {
  SplitWishes wishes;
  wishes.gpus = 128, wishes.tp = 8, wishes.pp = 4, wishes.chunks = 5, wishes.cp = 2;
  wishes.micro_batch = 1, wishes.global_batch = 64, wishes.sequence = 8192;
  return wishes;
}

TEST(EmitNemo, ADensePlanIsSaidInFull) {
  const NemoCase c(nemo_wishes());
  EXPECT_THAT(c.unsaid(), IsEmpty());
  const ArgumentMap expected = {{"mixed_precision", "bf16_mixed"}, {"dataset.seq_length", "8192"},
      {"model.seq_length", "8192"}, {"model.num_layers", "80"}, {"model.hidden_size", "8192"},
      {"model.ffn_hidden_size", "28672"}, {"model.num_attention_heads", "64"}, {"model.num_query_groups", "8"},
      {"model.kv_channels", "128"}, {"model.vocab_size", "128256"}, {"model.should_pad_vocab", "false"},
      {"model.make_vocab_size_divisible_by", "1"}, {"model.share_embeddings_and_output_weights", "false"},
      {"model.normalization", "RMSNorm"}, {"model.gated_linear_unit", "true"}, {"model.activation_func", "silu"},
      {"model.position_embedding_type", "rope"}, {"model.add_bias_linear", "false"}, {"model.add_qkv_bias", "false"},
      {"model.qk_layernorm", "false"}, {"model.attention_dropout", "0.0"}, {"model.hidden_dropout", "0.0"},
      {"model.mtp_num_layers", "null"}, {"model.multi_latent_attention", "false"}, {"model.num_moe_experts", "null"},
      {"model.tensor_model_parallel_size", "8"}, {"model.sequence_parallel", "true"},
      {"model.context_parallel_size", "2"}, {"model.cp_comm_type", "p2p"}, {"model.pipeline_model_parallel_size", "4"},
      {"model.virtual_pipeline_model_parallel_size", "5"}, {"model.pipeline_model_parallel_layout", "null"},
      {"model.expert_model_parallel_size", "1"}, {"model.expert_tensor_parallel_size", "1"},
      {"model.recompute_granularity", "null"}, {"model.recompute_method", "null"},
      {"model.recompute_num_layers", "null"}, {"train.micro_batch_size", "1"}, {"train.global_batch_size", "64"},
      {"ddp.use_distributed_optimizer", "true"}, {"ddp.use_megatron_fsdp", "false"},
      {"optimizer.use_distributed_optimizer", "true"}, {"dist.use_megatron_fsdp", "false"},
      {"dist.use_tp_pp_dp_mapping", "false"}, {"comm_overlap.data_parallel_size", "2"},
      {"comm_overlap.tp_comm_overlap", c.said("comm_overlap.tp_comm_overlap")},
      {"comm_overlap.overlap_grad_reduce", "true"}, {"comm_overlap.overlap_param_gather", "true"},
      {"comm_overlap.overlap_p2p_comm", "false"}};
  EXPECT_EQ(c.settings(), expected);
  // A name with an underscore in front is no setting, but the object that the settings make.
  EXPECT_THAT(emit_nemo(c.plan).text, HasSubstr("_target_: megatron.bridge.training.comm_overlap.CommOverlapConfig"));
}

TEST(EmitNemo, EverySettingIsARowOfItsTable) {
  const ArgumentTable& table = argument_table("megatron-bridge");
  for (const char* network : {"llama3-70b", "deepseek-v3", "mixtral-8x7b", "gpt3-175b"}) {
    SplitWishes wishes = nemo_wishes();
    wishes.chunks = 1;
    NemoCase c(wishes, network);
    c.plan.split.zero = 3;
    c.scenario.plan.lora_rank = 16;
    c.scenario.plan.precision = Precision::fp32;
    for (const auto& [name, value] : c.settings()) EXPECT_NE(table.find(name), nullptr) << network << ": " << name;
  }
}

TEST(EmitNemo, TheLaunchLineStandsInAComment) {
  EXPECT_THAT(
      emit_nemo(NemoCase(nemo_wishes()).plan).text, HasSubstr("\n#   torchrun --nproc_per_node=8 --nnodes=16 "));
}

TEST(EmitNemo, StagesOfShardingAreTheOptimizersAndFsdps) {
  NemoCase c(nemo_wishes());
  const auto said = [&](std::int64_t zero) {
    c.plan.split.zero = zero;
    return c.said("ddp.use_distributed_optimizer") + " " + c.said("dist.use_megatron_fsdp") + " " +
           c.said("ddp.data_parallel_sharding_strategy");
  };
  EXPECT_EQ(said(0), "false false ");
  EXPECT_EQ(said(1), "true false ");
  EXPECT_EQ(said(2), "true true optim_grads");
  EXPECT_EQ(said(3), "true true optim_grads_params");
  EXPECT_EQ(c.said("checkpoint.ckpt_format"), "fsdp_dtensor");
  EXPECT_EQ(c.said("ddp.num_distributed_optimizer_instances"), "");
  c.plan.split.replicas = 2;
  EXPECT_EQ(c.said("ddp.num_distributed_optimizer_instances"), "2");
  c.plan.split.zero = 0;
  EXPECT_EQ(c.said("comm_overlap.overlap_param_gather"), "");
  EXPECT_EQ(c.said("checkpoint.ckpt_format"), "");
}

TEST(EmitNemo, ExpertsOfDeepSeekAreAListOfLayers) {
  SplitWishes wishes = nemo_wishes();
  wishes.tp = 1, wishes.cp = 1, wishes.chunks = 1, wishes.ep = 8;
  NemoCase c(wishes, "deepseek-v3");
  c.plan.split.layers = {16, 15, 15, 15};
  EXPECT_THAT(c.said("model.moe_layer_freq"), StartsWith("[0, 0, 0, 1, 1, "));
  EXPECT_EQ(c.said("model.q_lora_rank"), "1536");
  EXPECT_EQ(c.said("model.kv_channels"), "") << "latent attention has sizes of its own";
  EXPECT_EQ(c.said("model.expert_model_parallel_size"), "8");
  EXPECT_EQ(c.said("model.pipeline_model_parallel_layout"), "Et*16|(t*15|)*2t*15mL");
}

TEST(EmitNemo, RecomputedLayersAreCountedInEachChunk) {
  NemoCase c(nemo_wishes());
  const auto said = [&](Recompute recompute) {
    c.plan.split.recompute = recompute;
    return c.said("model.recompute_granularity") + " " + c.said("model.recompute_method") + " " +
           c.said("model.recompute_num_layers");
  };
  EXPECT_EQ(said({Recompute::Kind::full, 0}), "full uniform 1");
  EXPECT_EQ(said({Recompute::Kind::full, 10}), "full block 2") << "5 chunks";
  EXPECT_THAT(c.unsaid(), IsEmpty());
  EXPECT_EQ(said({Recompute::Kind::full, 11}), "full block 2");
  EXPECT_THAT(c.unsaid(), ElementsAre(HasSubstr("11 layers over 5 chunks")));
  EXPECT_EQ(said({Recompute::Kind::selective, 0}), "selective null null");
  EXPECT_EQ(c.said("model.recompute_modules"), "[core_attn]");
}

TEST(EmitNemo, NumberTypesAreRecipesButForFp32) {
  NemoCase c(nemo_wishes());
  c.scenario.plan.precision = Precision::mxfp8;
  EXPECT_EQ(c.said("mixed_precision"), "bf16_with_mxfp8_mixed");
  c.scenario.plan.precision = Precision::fp32;
  EXPECT_EQ(c.said("mixed_precision"), "");
  EXPECT_EQ(c.said("mixed_precision.fp32"), "true");
  EXPECT_THAT(c.unsaid(), IsEmpty());
  c.scenario.plan.precision = Precision::tf32;
  EXPECT_THAT(c.unsaid(), ElementsAre(HasSubstr("tf32")));
}

TEST(EmitNemo, TwoOrdersOfRanksCanBeSaid) {
  SplitWishes wishes = nemo_wishes();
  const auto with_order = [&](const char* order) {
    wishes.order = *parse_order(order, "");
    return NemoCase(wishes).said("dist.use_tp_pp_dp_mapping");
  };
  EXPECT_EQ(with_order("tp-cp-pp-dp"), "true");
  EXPECT_EQ(with_order("dp-tp-cp-pp"), "false");
  EXPECT_THAT(NemoCase(wishes).unsaid(), ElementsAre(HasSubstr("the order dp-tp-cp-pp")));
  wishes.cp = 1, wishes.order = *parse_order("tp-dp-cp-pp", "");
  EXPECT_THAT(NemoCase(wishes).unsaid(), IsEmpty()) << "an axis of one rank has no place";
  wishes.order = *parse_order("tp-cp-pp-dp", ""), wishes.zero = 3;
  EXPECT_THAT(NemoCase(wishes).unsaid(), ElementsAre(HasSubstr("Megatron-FSDP refuses that order")));
}

TEST(EmitNemo, SendsBetweenStagesCanWaitButNotRunBesideWithoutChunks) {
  SplitWishes wishes = nemo_wishes();
  wishes.chunks = 1;
  NemoCase c(wishes);
  EXPECT_EQ(c.said("comm_overlap.overlap_p2p_comm"), "") << "the stack's habit";
  c.scenario.ways.pp_overlap = false;
  EXPECT_EQ(c.said("comm_overlap.overlap_p2p_comm"), "false");
  EXPECT_THAT(c.unsaid(), IsEmpty());
  c.scenario.ways.pp_overlap = true;
  EXPECT_THAT(c.unsaid(), ElementsAre(HasSubstr("without chunks")));
}

// clang-format off
struct NemoRefusal { const char* text; void (*make)(NemoCase& c); };
const NemoRefusal nemo_refusals[] = {
    {"the schedule zb-h1; Megatron-Bridge runs 1f1b", [](NemoCase& c) { c.plan.split.schedule = "zb-h1",
                                                                       c.plan.split.chunks = 1; }},
    {"inputs kept gathered", [](NemoCase& c) { c.plan.split.kept_gathers = {"norm1.y"}; }},
    {"in pieces", [](NemoCase& c) { c.plan.split.scatter = Scatter::stated; }},
    {"whole between stages", [](NemoCase& c) { c.scenario.ways.scatter_boundary = false; }},
    {"experts beside tensor parallelism", [](NemoCase& c) { c.plan.split.sequence = false, c.plan.split.ep = 2; }},
    {"a vocabulary of 128256", [](NemoCase& c) { c.plan.split.vocabulary = false; }},
    {"alibi", [](NemoCase& c) { c.scenario.network.row.positions = Positions::alibi; }},
    {"a table of 9000 positions", [](NemoCase& c) { c.scenario.network.row.positions = Positions::learned,
        c.scenario.network.row.max_positions = 9000; }},
    {"a norm behind the embedding", [](NemoCase& c) { c.scenario.network.row.embedding_norm = true; }},
    {"side by side", [](NemoCase& c) { c.scenario.network.row.parallel_block = true; }},
    {"some projections only", [](NemoCase& c) { c.scenario.network.row.out_bias = true; }},
    {"the statement 'x'", [](NemoCase& c) { c.plan.apart = {"x"}; }},
};
// clang-format on

TEST(EmitNemo, WhatItCannotSayIsNamedInTheFileToo) {
  for (const NemoRefusal& refusal : nemo_refusals) {
    NemoCase c(nemo_wishes());
    refusal.make(c);
    const Emission emission = emit_nemo(c.plan);
    EXPECT_THAT(emission.unsaid, Contains(HasSubstr(refusal.text))) << refusal.text;
    EXPECT_THAT(emission.text, HasSubstr("# Not said here: ")) << refusal.text;
    EXPECT_TRUE(read_config(emission.text, "overrides.yaml")) << emission.text;
  }
}

TEST(EmitNemo, BiasesOfExpertsAreOneSwitch) {
  NemoCase c(nemo_wishes(), "mixtral-8x7b");
  NetworkSpec& n = c.scenario.network.row;
  n.qkv_bias = n.out_bias = n.experts.expert_bias = n.experts.router_bias = true;
  EXPECT_EQ(c.said("model.add_bias_linear"), "true");
  EXPECT_EQ(c.said("model.moe_router_enable_expert_bias"), "false") << "the router has its own by the switch";
  EXPECT_THAT(c.unsaid(), Not(Contains(HasSubstr("bias"))));
  n.experts.router_bias = false;
  EXPECT_THAT(c.unsaid(), Contains(HasSubstr("a router without a bias")));
  n.experts.expert_bias = false;
  EXPECT_THAT(c.unsaid(), Contains(HasSubstr("biases on some projections only")));
}

TEST(EmitNemo, WhatALaunchSaysBesideTheStepIsKept) {
  NemoCase c(nemo_wishes());
  Launch like;
  like.framework = find_framework("megatron-bridge");
  like.arguments = {{"optimizer.lr", "optimizer.lr", "0.0003", 1, {}},
      {"model.num_layers", "model.num_layers", "2", 2, {}}, {"checkpoint.save", "checkpoint.save", "/out", 3, {}}};
  c.plan.like = &like;
  EXPECT_EQ(c.said("optimizer.lr"), "0.0003");
  EXPECT_EQ(c.said("checkpoint.save"), "/out");
  EXPECT_EQ(c.said("model.num_layers"), "80");
}

TEST(EmitNemo, WhatIsKeptBreaksNoFile) {
  NemoCase c(nemo_wishes());
  Launch like;
  like.framework = find_framework("megatron-bridge");
  const std::pair<const char*, const char*> given[] = {{"checkpoint.own_a", "one: two # three"},
      {"checkpoint.own_b", "{open"}, {"checkpoint.own_c", "line\nmore: 1"}, {"checkpoint.own_d", "*star"},
      {"checkpoint.own_e", "True"}, {"checkpoint.? f", "1"}, {"'checkpoint.g", "1"}};
  for (const auto& [name, value] : given) like.arguments.push_back({name, name, value, 1, {}});
  c.plan.like = &like;
  const auto read = read_config_arguments(emit_nemo(c.plan).text, "overrides.yaml");
  ASSERT_TRUE(read) << to_text(read.error());
  std::map<std::string, std::string> kept;
  for (const GivenArgument& argument : *read)
    if (argument.name.find("checkpoint.") != std::string::npos) kept[argument.name] = argument.value;
  EXPECT_EQ(
      kept, (std::map<std::string, std::string>{{"checkpoint.own_a", "one: two # three"}, {"checkpoint.own_b", "{open"},
                {"checkpoint.own_c", "line\nmore: 1"}, {"checkpoint.own_d", "*star"}, {"checkpoint.own_e", "True"}}));
}

}  // namespace
}  // namespace stepcast::launch
