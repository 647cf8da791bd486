#include "studies/launch/read/launch_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/run/forecast.h"
#include "studies/launch/read/launched_run.h"
#include "studies/run/scenario.h"
#include "tests/studies/launch/given_launch.h"

namespace stepcast::launch {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using given_launches::given_launch;
using given_launches::GivenValues;
using given_launches::megatron_reading;
using given_launches::said;
using given_launches::trained;
using given_launches::with_gpt;

TEST(LaunchRequest, MegatronsOwnDefaultsMakeAGptOf2019) {
  const auto reading = megatron_reading({});
  ASSERT_TRUE(reading) << to_text(reading.error());
  const NetworkSpec& spec = trained(*reading);
  EXPECT_EQ(spec.ffn_hidden, 4 * 4096);
  EXPECT_EQ(spec.kv_heads, 32);
  EXPECT_EQ(spec.norm, Norm::layernorm);
  EXPECT_EQ(spec.activation, Activation::gelu);
  EXPECT_EQ(spec.positions, Positions::learned);
  EXPECT_TRUE(spec.linear_bias && spec.tied_embeddings && spec.dropout);
  EXPECT_EQ(said(*reading, "gpus"), "64");
  EXPECT_EQ(said(*reading, "zero"), "0");
  EXPECT_EQ(said(*reading, "sp"), "off");
  EXPECT_EQ(said(*reading, "recompute"), "none");
  EXPECT_EQ(said(*reading, "dp_overlap"), "off");
  EXPECT_EQ(said(*reading, "precision"), "bf16");
  EXPECT_EQ(reading->request.stack->id, "megatron-core");
}

TEST(LaunchRequest, ValuesPointToTheirLine) {
  const auto reading = megatron_reading({{"tensor_model_parallel_size", "8"}});
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->request.where(FieldId::tp), "run.sh:10 --tensor_model_parallel_size");
  EXPECT_EQ(reading->request.where(FieldId::micro_batch), "run.sh:7 --micro_batch_size");
}

TEST(LaunchRequest, QueryGroupsNeedTheirSwitch) {
  const auto without_it = megatron_reading({{"num_query_groups", "8"}});
  const auto with_it = megatron_reading({{"num_query_groups", "8"}, {"group_query_attention", "true"}});
  ASSERT_TRUE(without_it && with_it);
  EXPECT_EQ(trained(*without_it).kv_heads, 32);
  EXPECT_EQ(trained(*with_it).kv_heads, 8);
}

TEST(LaunchRequest, TheVocabularyIsPaddedAsMegatronPads) {
  const auto reading = megatron_reading({{"vocab_size", "50257"}, {"tensor_model_parallel_size", "8"}});
  ASSERT_TRUE(reading);
  EXPECT_EQ(trained(*reading).vocab, 51200);  // 50 x 128 x 8
  EXPECT_THAT(reading->notes, Contains(HasSubstr("padded to 51200")));
}

TEST(LaunchRequest, LlamaIsRecognised) {
  const auto reading = megatron_reading({{"ffn_hidden_size", "14336"}, {"group_query_attention", "true"},
      {"num_query_groups", "8"}, {"swiglu", "true"}, {"normalization", "RMSNorm"}, {"position_embedding_type", "rope"},
      {"disable_bias_linear", "true"}, {"untie_embeddings_and_output_weights", "true"}, {"attention_dropout", "0"},
      {"hidden_dropout", "0.0"}, {"vocab_size", "128256"}, {"seq_length", "8192"}});
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->request.network->id, "llama3-8b");
  EXPECT_EQ(said(*reading, "sequence"), "8192");
}

struct SaidRow {
  GivenValues given;
  const char *key, *value;
};

TEST(LaunchRequest, WhatMegatronsArgumentsSay) {
  // clang-format off
  const SaidRow rows[] = {
      {{{"sequence_parallel", "true"}, {"tensor_model_parallel_size", "4"}}, "sp", "on"},
      {{{"sequence_parallel", "true"}}, "sp", "off"},  // there is nothing to split without tp
      {{{"use_distributed_optimizer", "true"}}, "zero", "1"},
      {{{"use_megatron_fsdp", "true"}, {"data_parallel_sharding_strategy", "optim_grads_params"}}, "zero", "3"},
      {{{"use_megatron_fsdp", "true"}, {"data_parallel_sharding_strategy", "optim_grads"}}, "zero", "2"},
      {{{"use_torch_fsdp2", "False"}, {"use_megatron_fsdp", "True"}, {"data_parallel_sharding_strategy", "optim"}},
       "zero", "1"},
      {{{"use_torch_fsdp2", "true"}}, "zero", "3"},
      {{{"use_torch_fsdp2", "true"}, {"torch_fsdp2_no_reshard_after_forward", "true"}}, "zero", "2"},
      {{{"use_distributed_optimizer", "true"}, {"num_distributed_optimizer_instances", "2"}}, "dp_replicate", "2"},
      {{{"num_distributed_optimizer_instances", "2"}}, "dp_replicate", "(nothing)"},  // nothing is in shards
      {{{"recompute_activations", "true"}}, "recompute", "selective"},
      {{{"recompute_granularity", "full"}, {"recompute_method", "uniform"}, {"recompute_num_layers", "1"}}, "recompute",
       "full"},
      {{{"recompute_granularity", "full"}, {"recompute_method", "block"}, {"recompute_num_layers", "2"},
        {"pipeline_model_parallel_size", "4"}}, "recompute", "full:2"},
      {{{"recompute_granularity", "full"}, {"recompute_method", "block"}, {"recompute_num_layers", "2"},
        {"pipeline_model_parallel_size", "4"}, {"num_layers_per_virtual_pipeline_stage", "4"}}, "recompute", "full:4"},
      {{{"checkpoint_activations", "true"}}, "recompute", "full"},
      {{{"pipeline_model_parallel_size", "4"}, {"num_layers_per_virtual_pipeline_stage", "2"}}, "chunks", "4"},
      {{{"pipeline_model_parallel_size", "4"}, {"num_virtual_stages_per_pipeline_rank", "2"}}, "chunks", "2"},
      {{{"pipeline_model_parallel_size", "2"}, {"decoder_first_pipeline_num_layers", "14"}}, "layout", "14,18"},
      {{{"num_layers", "30"}, {"pipeline_model_parallel_size", "4"}, {"account_for_embedding_in_pipeline_split",
          "true"}, {"account_for_loss_in_pipeline_split", "true"}}, "layout", "7,8,8,7"},
      {{{"num_layers", "30"}, {"pipeline_model_parallel_size", "4"}, {"num_layers_per_virtual_pipeline_stage", "2"},
        {"account_for_embedding_in_pipeline_split", "true"}, {"account_for_loss_in_pipeline_split", "true"}}, "chunks",
        "4"},
      {{{"context_parallel_size", "2"}, {"cp_comm_type", "a2a"}}, "cp_kind", "ulysses"},
      {{{"context_parallel_size", "2"}, {"cp_comm_type", "all_gather"}}, "cp_kind", "gather"},
      {{{"use_tp_pp_dp_mapping", "true"}}, "order", "tp-cp-pp-dp"},
      {{{"fp8_format", "hybrid"}}, "precision", "fp8"},
      {{{"fp8_format", "e4m3"}, {"fp8_recipe", "mxfp8"}}, "precision", "mxfp8"},
      {{{"overlap_grad_reduce", "true"}, {"use_distributed_optimizer", "true"}}, "param_overlap", "off"},
      {{{"overlap_grad_reduce", "true"}, {"overlap_param_gather", "true"}}, "dp_overlap", "on"},
      {{{"tp_comm_overlap", "true"}, {"tensor_model_parallel_size", "2"}}, "tp_overlap", "on"},
  };
  // clang-format on
  for (const SaidRow& row : rows) {
    const auto reading = megatron_reading(row.given);
    ASSERT_TRUE(reading) << to_text(reading.error());
    EXPECT_EQ(said(*reading, row.key), row.value) << row.given.front().first << " " << row.key;
  }
}

// clang-format off
struct RefusedRow { GivenValues given; std::int64_t gpus; const char *where, *what; };
// clang-format on

TEST(LaunchRequest, ContradictionsNameTheirPlace) {
  const RefusedRow rows[] = {
      {{{"num_layers", "many"}}, 64, "--num_layers", "'many'"},
      {{{"global_batch_size", "500"}}, 64, "--global_batch_size", "no multiple of micro-batch 2 x dp 64"},
      {{{"tensor_model_parallel_size", "8"}, {"pipeline_model_parallel_size", "3"}}, 64, "run.sh",
          "64 GPUs are no multiple of tp 8 x pp 3"},
      {{{"tensor_model_parallel_size", "true"}}, 64, "run.sh:10 --tensor_model_parallel_size", "has no value"},
      {{{"tensor_model_parallel_size", "\?\?\?"}}, 64, "run.sh:10 --tensor_model_parallel_size",
          "left for the user to say"},
      {{{"tensor_model_parallel_size", "eight"}}, 64, "run.sh:10 --tensor_model_parallel_size",
          "'eight' is no whole number"},
      {{}, 0, "run.sh", "number of GPUs"},
      {{{"num_query_groups", "5"}, {"group_query_attention", "true"}}, 64, "--num_query_groups",
          "5 query groups do not divide 32 heads"},
      {{{"hidden_size", "0"}}, 64, "run.sh", "hidden size"},
  };
  for (const RefusedRow& row : rows) {
    const auto reading = megatron_reading(row.given, row.gpus);
    ASSERT_FALSE(reading) << row.what;
    EXPECT_THAT(reading.error().where, HasSubstr(row.where));
    EXPECT_THAT(reading.error().what, HasSubstr(row.what));
  }
}

TEST(LaunchRequest, AVariableThatNothingSetsMattersOnlyWhereItCounts) {
  Launch launch =
      given_launch("megatron-lm", with_gpt({{"data_path", "$DATA"}, {"tensor_model_parallel_size", "$TP"}}), 8);
  launch.arguments[9].unset = {"DATA"};
  EXPECT_EQ(launch.arguments[9].name, "data_path");
  launch.arguments[10].unset = {"TP"};
  const auto refused = read_meaning(launch, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "nothing sets $TP");
  EXPECT_THAT(refused.error().hint, HasSubstr("--define TP=VALUE"));
  EXPECT_TRUE(read_meaning(without(launch, "tensor_model_parallel_size"), {}));
  launch.arguments[10].value = "$((2 * TP))";
  EXPECT_EQ(read_meaning(launch, {}).error().what, "$((2 * TP)) hangs on $TP, which nothing sets");
  launch.arguments[10].value = "$(nproc)", launch.arguments[10].unset = {"$(nproc)"};
  EXPECT_THAT(read_meaning(launch, {}).error().what, HasSubstr("nothing of a launch is run"));
}

TEST(LaunchRequest, SecondValuesAreSaid) {
  Launch launch = given_launch("megatron-lm", with_gpt({}), 64);
  launch.arguments.push_back({"micro_batch_size", "--micro-batch-size", "1", 20, {}});
  const auto reading = read_meaning(launch, {});
  ASSERT_TRUE(reading) << to_text(reading.error());
  EXPECT_THAT(reading->notes, Contains("run.sh:7 --micro_batch_size 2 is given again, and the last counts: 1"));
}

TEST(LaunchRequest, WhatTheLaunchAndTheUserNameMustAgree) {
  LaunchHints hints;
  hints.network = *choose_network("llama3-8b", "");
  const auto clash = read_meaning(given_launch("megatron-lm", with_gpt({{"num_layers", "40"}}), 64), hints);
  ASSERT_FALSE(clash);
  EXPECT_THAT(clash.error().what, AllOf(HasSubstr("layers 40"), HasSubstr("32")));
  hints.gpus = 128;  // who asks for another number of GPUs than the launch has gets it
  hints.network.reset();
  const auto more = read_meaning(given_launch("megatron-lm", with_gpt({}), 64), hints);
  ASSERT_TRUE(more);
  EXPECT_EQ(said(*more, "gpus"), "128");
}

TEST(LaunchRequest, TwoNumberTypesAreSaid) {
  const auto reading = megatron_reading({{"fp16", "true"}});
  ASSERT_TRUE(reading);
  EXPECT_EQ(said(*reading, "precision"), "bf16");
  EXPECT_THAT(reading->notes, Contains(HasSubstr("both bf16 and fp16 are on: forecast as bf16")));
}

TEST(LaunchRequest, AnOlderReleaseHasItsStack) {
  Launch launch = given_launch("megatron-lm", with_gpt({}), 64);
  launch.release = "2.5";
  const auto reading = read_meaning(launch, {});
  ASSERT_TRUE(reading) << to_text(reading.error());
  EXPECT_EQ(reading->request.stack->id, "megatron-2020");
}

TEST(LaunchRequest, ModulesThatAreRecomputedBecomeLinesOfTheNotation) {
  const auto reading =
      megatron_reading({{"recompute_granularity", "selective"}, {"recompute_modules", "core_attn layernorm mlp"}});
  ASSERT_TRUE(reading);
  ASSERT_EQ(reading->request.statements.size(), 2U);
  EXPECT_EQ(reading->request.statements[0].text, "recompute norm");
  EXPECT_EQ(reading->request.statements[1].text, "recompute mlp");
  EXPECT_EQ(said(*reading, "recompute"), "selective");
  const auto scenario = complete(reading->request);
  ASSERT_TRUE(scenario) << to_text(scenario.error());
  EXPECT_THAT(scenario->plan.mapping, HasSubstr("recompute mlp\n"));
}

TEST(LaunchRequest, LayersThatMegatronWouldNotDivideAreSaid) {
  const auto ends =
      megatron_reading({{"pipeline_model_parallel_size", "4"}, {"account_for_loss_in_pipeline_split", "true"}});
  ASSERT_TRUE(ends);
  EXPECT_THAT(ends->notes, Contains(HasSubstr("33 layers, embedding or head among them, do not divide over 4 parts")));
  const auto chunks =
      megatron_reading({{"pipeline_model_parallel_size", "4"}, {"num_layers_per_virtual_pipeline_stage", "3"}});
  ASSERT_TRUE(chunks);
  EXPECT_THAT(chunks->notes, Contains(HasSubstr("32 layers on pp 4 do not divide into chunks of 3")));
}

TEST(LaunchRequest, MockTokenizersHadATokenMore) {
  GivenValues mock = with_gpt({{"vocab_size", "51200"}, {"tokenizer_type", "NullTokenizer"}});
  Launch launch = given_launch("megatron-lm", mock, 64);
  launch.release = "core 0.15.0";
  const auto before = read_meaning(launch, {});
  launch.release = "core 0.18.0";
  const auto since = read_meaning(launch, {});
  ASSERT_TRUE(before && since);
  EXPECT_EQ(trained(*before).vocab, 51328);
  EXPECT_EQ(trained(*since).vocab, 51200);
}

/// Megatron cuts dp x cp into instances; copies here are of data ranks.
TEST(LaunchRequest, InstancesThatCutContextRanksAreTheNearestCopies) {
  GivenValues given = {{"use_distributed_optimizer", "true"}, {"num_distributed_optimizer_instances", "4"},
      {"context_parallel_size", "2"}};
  EXPECT_EQ(said(*megatron_reading(given, 8), "dp_replicate"), "4");
  const auto cut = megatron_reading(given, 4);  // dp 2, cp 2
  ASSERT_TRUE(cut) << to_text(cut.error());
  EXPECT_EQ(said(*cut, "dp_replicate"), "2");
  EXPECT_THAT(
      cut->notes, Contains(HasSubstr("4 copies of shards over 1 data and context ranks, forecast as 2 copies over 2")));
  given.push_back({"use_torch_fsdp2", "true"});  // which shards over all of them
  EXPECT_EQ(said(*megatron_reading(given, 8), "dp_replicate"), "(nothing)");
}

TEST(LaunchRequest, WhatCopiesAreForecastOtherwiseIsSaid) {
  GivenValues titan = {{"model.name", "llama3"}, {"model.flavor", "8B"}, {"training.seq_len", "8192"},
      {"training.local_batch_size", "1"}, {"training.global_batch_size", "64"},
      {"parallelism.data_parallel_replicate_degree", "2"}, {"parallelism.data_parallel_shard_degree", "8"}};
  const auto reading = read_meaning(given_launch("torchtitan", titan), {});
  ASSERT_TRUE(reading) << to_text(reading.error());
  EXPECT_THAT(
      reading->notes, Contains(HasSubstr("summed once per step here; torchtitan does it in each of 4 micro-batches")));
  LaunchHints fewer;
  fewer.gpus = 8;
  const auto half = read_meaning(given_launch("torchtitan", titan), fewer);
  ASSERT_TRUE(half) << to_text(half.error());
  EXPECT_THAT(half->notes, Contains(HasSubstr("shards over 4 data ranks, not over 8, as there are 8 GPUs")));
  // more copies than ranks, once there are 16 GPUs
  titan[4].second = "16", titan[5].second = "32", titan[6].second = "1";
  fewer.gpus = 16;
  const auto many = read_meaning(given_launch("torchtitan", titan), fewer);
  ASSERT_TRUE(many) << to_text(many.error());
  EXPECT_EQ(said(*many, "dp_replicate"), "32");  // which the split refuses
  const auto outer =
      megatron_reading({{"use_megatron_fsdp", "true"}, {"data_parallel_sharding_strategy", "optim_grads_params"},
                           {"num_distributed_optimizer_instances", "2"}, {"outer_dp_sharding_strategy", "optim"}},
          16);
  ASSERT_TRUE(outer) << to_text(outer.error());
  EXPECT_THAT(outer->notes, Contains(HasSubstr("outer_dp_sharding_strategy optim")));
}

TEST(LaunchRequest, ShardsMayBeRepeated) {
  GivenValues titan = {{"model.name", "llama3"}, {"model.flavor", "8B"}, {"training.seq_len", "8192"},
      {"training.local_batch_size", "1"}, {"parallelism.data_parallel_replicate_degree", "4"},
      {"parallelism.data_parallel_shard_degree", "2"}};
  const auto reading = read_meaning(given_launch("torchtitan", titan), {});
  ASSERT_TRUE(reading) << to_text(reading.error());
  EXPECT_EQ(said(*reading, "zero"), "3");
  EXPECT_EQ(said(*reading, "dp_replicate"), "4");
  titan[5].second = "1";
  titan.push_back({"parallelism.context_parallel_degree", "2"});  // FSDP shards over the context ranks then
  const auto context = read_meaning(given_launch("torchtitan", titan), {});
  ASSERT_TRUE(context) << to_text(context.error());
  EXPECT_EQ(said(*context, "zero"), "3");
  EXPECT_EQ(said(*context, "dp_replicate"), "4");
}

/// megatron/training/arguments.py: bf16 is summed in fp32 unless told otherwise, fp16 in fp16 unless told otherwise.
TEST(LaunchRequest, GradientsHaveTheBytesThatMegatronGivesThem) {
  struct GradientRow {
    const char* framework;
    GivenValues values;
    Precision precision;
    double bytes;
  };
  const GradientRow rows[] = {{"megatron-lm", {}, Precision::bf16, 4},
      {"megatron-lm", {{"bf16", "false"}, {"fp16", "true"}}, Precision::fp16, 2},
      {"megatron-lm", {{"bf16", "false"}, {"fp16", "true"}, {"accumulate_allreduce_grads_in_fp32", "true"}},
          Precision::fp16, 4},
      {"megatron-lm", {{"accumulate_allreduce_grads_in_fp32", "false"}}, Precision::bf16, 4},
      {"megatron-lm", {{"grad_reduce_in_bf16", "true"}}, Precision::bf16, 2},
      {"megatron-lm", {{"main_grads_dtype", "bf16"}}, Precision::bf16, 2},
      {"megatron-lm", {{"main_grads_dtype", "fp32"}}, Precision::bf16, 4},
      {"megatron-deepspeed", {{"bf16", "false"}, {"fp16", "true"}}, Precision::fp16, 2},
      // DeepSpeed's engine keeps its own, whatever Megatron is told
      {"megatron-deepspeed",
          {{"bf16", "false"}, {"fp16", "true"}, {"accumulate_allreduce_grads_in_fp32", "true"}, {"deepspeed", "true"},
              {"zero_stage", "1"}},
          Precision::fp16, 2},
      {"nemo", {}, Precision::bf16, 2}, {"nemo", {{"grad_reduce_in_fp32", "true"}}, Precision::bf16, 4}};
  for (const GradientRow& row : rows) {
    const auto reading = read_meaning(given_launch(row.framework, with_gpt(row.values), 64), {});
    ASSERT_TRUE(reading) << to_text(reading.error());
    EXPECT_EQ(gradient_bytes(reading->request.stack->row, row.precision), row.bytes)
        << row.framework << (row.values.empty() ? "" : row.values.back().first);
  }
}

TEST(LaunchRequest, ModulesThatTheNetworkLacksAreLeftOut) {
  Launch launch = given_launch("megatron-lm",
      {{"recompute_granularity", "selective"}, {"recompute_modules", "moe mla_up_proj moe_act mlp"},
          {"micro_batch_size", "1"}, {"global_batch_size", "64"}, {"bf16", "true"}},
      64);
  LaunchHints hints;
  const std::pair<const char*, std::vector<std::string>> rows[] = {
      {"mixtral-8x7b", {"recompute router, dispatch, expert, combine", "recompute expert.act"}},
      {"llama3-8b", {"recompute mlp"}},
      {"deepseek-v3", {"recompute router, dispatch, expert, shared, combine",
                          "recompute attn.up.Q, attn.up.K, attn.up.V, attn.rope.Q, attn.rope.kr",
                          "recompute expert.act", "recompute mlp"}}};
  for (const auto& [network, lines] : rows) {
    hints.network = *choose_network(network, "");
    const auto reading = read_meaning(launch, hints);
    ASSERT_TRUE(reading) << network << to_text(reading.error());
    std::vector<std::string> said;
    for (const Request::Statement& statement : reading->request.statements) said.push_back(statement.text);
    EXPECT_EQ(said, lines) << network;
    EXPECT_TRUE(run::predict(*complete(reading->request))) << network;
  }
}

}  // namespace
}  // namespace stepcast::launch
