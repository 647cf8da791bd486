// What launches of torchtitan, llm-foundry, DeepSpeed and accelerate mean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/read/launched_run.h"
#include "tests/studies/launch/given_launch.h"

namespace stepcast::launch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using given_launches::given_launch;
using given_launches::GivenValues;
using given_launches::said;
using given_launches::trained;

TEST(LaunchFrameworks, TorchtitanLaysEmbeddingAndHeadAsLayers) {
  const GivenValues titan = {{"model.name", "llama3"}, {"model.flavor", "8B"}, {"training.seq_len", "8192"},
      {"training.local_batch_size", "8"}, {"parallelism.pipeline_parallel_degree", "4"},
      {"parallelism.data_parallel_shard_degree", "2"}, {"parallelism.pipeline_parallel_schedule", "1F1B"}};
  const auto reading = read_meaning(given_launch("torchtitan", titan), {});
  ASSERT_TRUE(reading) << to_text(reading.error());
  EXPECT_EQ(reading->request.network->id, "llama3-8b");
  EXPECT_EQ(said(*reading, "gpus"), "8");
  EXPECT_EQ(said(*reading, "layout"), "8,9,8,7");  // 34 on 4 parts, less one at both ends
  EXPECT_EQ(said(*reading, "micro_batch"), "1");
  EXPECT_EQ(said(*reading, "global_batch"), "16");
  // gathered weights stay where stages would gather them again for every micro-batch
  EXPECT_EQ(said(*reading, "zero"), "2");
}

TEST(LaunchFrameworks, TorchtitanHasSequencesAndPartsOfItsOwn) {
  GivenValues titan = {{"model.name", "llama3"}, {"model.flavor", "405B"}, {"training.local_batch_size", "8"},
      {"parallelism.pipeline_parallel_degree", "8"}, {"parallelism.data_parallel_shard_degree", "2"}};
  const auto layout = [&](const char* release) {
    Launch launch = given_launch("torchtitan", titan);
    launch.release = release;
    const auto reading = read_meaning(launch, {});
    EXPECT_TRUE(reading) << to_text(reading.error());
    return reading ? said(*reading, "layout") : "";
  };
  const auto reading = read_meaning(given_launch("torchtitan", titan), {});
  ASSERT_TRUE(reading) << to_text(reading.error());
  EXPECT_EQ(said(*reading, "sequence"), "2048");          // whatever Llama's are
  EXPECT_EQ(layout("0.2.2"), "15,16,16,16,16,16,16,15");  // 128 on 8 parts, less one at both ends
  EXPECT_EQ(layout("0.1.0"), layout("0.2.2"));            // as fixed, before there were settings
  EXPECT_EQ(layout("2025-04"), "15,16,16,16,16,16,16,15");
  titan.push_back({"parallelism.pipeline_parallel_first_stage_less_layers", "0"});
  titan.push_back({"parallelism.pipeline_parallel_last_stage_less_layers", "0"});
  EXPECT_EQ(layout("0.2.2"), "16,16,16,16,16,16,15,15");
  titan.push_back({"parallelism.pipeline_parallel_microbatch_size", "3"});
  const auto pieces = read_meaning(given_launch("torchtitan", titan), {});
  ASSERT_FALSE(pieces);
  EXPECT_THAT(pieces.error().what, HasSubstr("pieces of 3 sequences"));
}

TEST(LaunchFrameworks, FoundrysOwnNetworksHaveItsDefaults) {
  GivenValues mpt = {{"model.name", "mpt_causal_lm"}, {"model.d_model", "4096"}, {"model.n_heads", "32"},
      {"model.n_layers", "32"}, {"max_seq_len", "2048"}, {"model.attn_config.kv_n_heads", "8"},
      {"global_train_batch_size", "64"}, {"device_train_microbatch_size", "4"}};
  const auto plain = read_meaning(given_launch("llm-foundry", mpt, 16), {});
  ASSERT_TRUE(plain) << to_text(plain.error());
  EXPECT_TRUE(trained(*plain).linear_bias && trained(*plain).tied_embeddings);
  EXPECT_EQ(trained(*plain).positions, Positions::learned);
  mpt.push_back({"model.attn_config.alibi", "true"});
  mpt.push_back({"model.no_bias", "true"});
  const auto alibi = read_meaning(given_launch("llm-foundry", mpt, 16), {});
  ASSERT_TRUE(alibi) << to_text(alibi.error());
  EXPECT_EQ(trained(*alibi).positions, Positions::alibi);
  EXPECT_FALSE(trained(*alibi).linear_bias);
  const GivenValues unknown = {{"model.name", "hf_causal_lm"},
      {"model.pretrained_model_name_or_path", "somebody/a-model"}, {"max_seq_len", "2048"},
      {"global_train_batch_size", "64"}, {"device_train_microbatch_size", "4"}};
  const auto nobodys = read_meaning(given_launch("llm-foundry", unknown, 16), {});
  ASSERT_FALSE(nobodys);  // not MPT's default of 24 layers
  EXPECT_THAT(nobodys.error().what, HasSubstr("do not tell the layers"));
}

TEST(LaunchFrameworks, DeepSpeedNeedsANetworkBeside) {
  const GivenValues zero = {{"zero_optimization.stage", "3"}, {"train_micro_batch_size_per_gpu", "2"},
      {"gradient_accumulation_steps", "4"}, {"bf16.enabled", "true"}};
  const auto alone = read_meaning(given_launch("deepspeed", zero, 16), {});
  ASSERT_FALSE(alone);
  EXPECT_THAT(alone.error().hint, HasSubstr("NETWORK"));
  LaunchHints hints;
  hints.network = *choose_network("llama3-8b", "");
  const auto reading = read_meaning(given_launch("deepspeed", zero, 16), hints);
  ASSERT_TRUE(reading) << to_text(reading.error());
  EXPECT_EQ(said(*reading, "zero"), "3");
  EXPECT_EQ(said(*reading, "global_batch"), "128");
  EXPECT_EQ(reading->request.stack->id, "deepspeed-zero");
}

TEST(LaunchFrameworks, TransformersFuseAttentionUnlessTold) {
  LaunchHints hints;
  hints.network = *choose_network("llama3-8b", "");
  GivenValues told = {{"zero_optimization.stage", "3"}, {"per_device_train_batch_size", "2"},
      {"max_seq_length", "4096"}, {"bf16", "true"}};
  const auto stack = [&] {
    const auto reading = read_meaning(given_launch("trainer", told, 16), hints);
    return reading ? reading->request.stack->id : to_text(reading.error());
  };
  EXPECT_EQ(stack(), "deepspeed-transformers");
  told.emplace_back("attn_implementation", "flash_attention_2");
  EXPECT_EQ(stack(), "deepspeed-transformers");
  told.back().second = "eager";
  EXPECT_EQ(stack(), "deepspeed-zero");
}

TEST(LaunchFrameworks, ShardsLieWithinGroupsWhereTheFileSaysSo) {
  LaunchHints hints;
  hints.network = *choose_network("llama3-8b", "");
  GivenValues mics = {{"zero_optimization.stage", "3"}, {"zero_optimization.mics_shard_size", "4"},
      {"train_micro_batch_size_per_gpu", "2"}};
  const auto groups = read_meaning(given_launch("deepspeed", mics, 16), hints);
  ASSERT_TRUE(groups) << to_text(groups.error());
  EXPECT_EQ(said(*groups, "dp_replicate"), "4");
  EXPECT_EQ(groups->request.where(FieldId::replicas), "run.sh:2 --zero_optimization.mics_shard_size");
  mics[1].second = "6";
  const auto uneven = read_meaning(given_launch("deepspeed", mics, 16), hints);
  ASSERT_FALSE(uneven);
  EXPECT_THAT(to_text(uneven.error()),
      HasSubstr("run.sh:2 --zero_optimization.mics_shard_size: shards over 6 ranks do not divide 16 data"));
  mics[0].second = "2";  // MiCS is of stage 3 alone
  EXPECT_EQ(said(*read_meaning(given_launch("deepspeed", mics, 16), hints), "dp_replicate"), "(nothing)");
}

TEST(LaunchFrameworks, FsdpIsAskedForByTheLauncherOrTheTrainer) {
  LaunchHints hints;
  hints.network = *choose_network("llama3-8b", "");
  const GivenValues processes = {{"num_machines", "4"}, {"num_processes", "32"}, {"per_device_train_batch_size", "1"}};
  const std::pair<GivenValues, const char*> rows[] = {{{}, "0"}, {{{"use_fsdp", "true"}}, "3"},
      {{{"use_fsdp", "true"}, {"fsdp_sharding_strategy", "SHARD_GRAD_OP"}}, "2"},
      {{{"use_fsdp", "false"}, {"fsdp_sharding_strategy", "FULL_SHARD"}}, "0"},
      {{{"fsdp", "full_shard auto_wrap"}}, "3"}, {{{"fsdp", "shard_grad_op"}}, "2"}};
  for (const auto& [more, zero] : rows) {
    GivenValues given = processes;
    given.insert(given.end(), more.begin(), more.end());
    const auto reading = read_meaning(given_launch("accelerate", given), hints);
    ASSERT_TRUE(reading) << to_text(reading.error());
    EXPECT_EQ(said(*reading, "zero"), zero) << (more.empty() ? "" : more.back().second);
  }
}

TEST(LaunchFrameworks, HybridShardsLieWithinANode) {
  const GivenValues mpt = {{"model.name", "mpt_causal_lm"}, {"model.d_model", "2048"}, {"model.n_heads", "16"},
      {"model.n_layers", "24"}, {"model.vocab_size", "50368"}, {"max_seq_len", "2048"},
      {"global_train_batch_size", "64"}, {"device_train_microbatch_size", "2"},
      {"fsdp_config.sharding_strategy", "HYBRID_SHARD"}};
  const auto nodes = read_meaning(given_launch("llm-foundry", mpt, 32), {});
  ASSERT_TRUE(nodes) << to_text(nodes.error());
  EXPECT_EQ(said(*nodes, "zero"), "3");
  EXPECT_EQ(said(*nodes, "dp_replicate"), "4");
  EXPECT_EQ(said(*read_meaning(given_launch("llm-foundry", mpt, 8), {}), "dp_replicate"), "(nothing)");  // one node
  Launch unknown = given_launch("llm-foundry", mpt, 32);
  unknown.gpus_per_node = 0;  // nor does the file say it
  const auto whole = read_meaning(unknown, {});
  ASSERT_TRUE(whole) << to_text(whole.error());
  EXPECT_EQ(said(*whole, "dp_replicate"), "(nothing)");
  EXPECT_THAT(whole->notes, Contains(HasSubstr("so that without --dp-replicate N shards lie over all data ranks")));
  LaunchHints hints;
  hints.network = *choose_network("llama3-8b", "");
  hints.micro_batch = 1;
  GivenValues machines = {{"distributed_type", "FSDP"}, {"num_machines", "4"}, {"num_processes", "32"},
      {"fsdp_config.fsdp_version", "1"}, {"fsdp_config.fsdp_sharding_strategy", "HYBRID_SHARD"}};
  const auto four = read_meaning(given_launch("accelerate", machines), hints);
  ASSERT_TRUE(four) << to_text(four.error());
  EXPECT_EQ(said(*four, "dp_replicate"), "4");
  machines[1].second = "1", machines[2].second = "8";
  EXPECT_EQ(said(*read_meaning(given_launch("accelerate", machines), hints), "dp_replicate"), "(nothing)");
}

TEST(LaunchFrameworks, AcceleratesDeepSpeedOverlapsInStageThreeOnly) {
  LaunchHints hints;
  hints.network = *choose_network("llama3-8b", "");
  hints.micro_batch = 1;
  for (const auto& [stage, overlap] : {std::pair{"2", "off"}, std::pair{"3", "(nothing)"}}) {
    const auto reading = read_meaning(
        given_launch("accelerate",
            {{"distributed_type", "DEEPSPEED"}, {"num_processes", "8"}, {"deepspeed_config.zero_stage", stage}}),
        hints);
    ASSERT_TRUE(reading) << to_text(reading.error());
    EXPECT_EQ(said(*reading, "dp_overlap"), overlap) << stage;
  }
}

TEST(LaunchFrameworks, OffloadIsSaidNotToBeCovered) {
  LaunchHints hints;
  hints.network = *choose_network("llama3-8b", "");
  const Launch launch = given_launch("deepspeed",
      {{"zero_optimization.stage", "2"}, {"zero_optimization.offload_optimizer.device", "cpu"},
          {"train_micro_batch_size_per_gpu", "1"}},
      8);
  const auto refused = read_meaning(launch, hints);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("zero_optimization.offload_optimizer.device cpu: what is kept in host "
                                              "memory is not forecast"));
  hints.lenient = true;
  const auto reading = read_meaning(launch, hints);
  ASSERT_TRUE(reading);
  EXPECT_THAT(reading->notes, Contains(HasSubstr("zero_optimization.offload_optimizer.device cpu: what is kept in host "
                                                 "memory or on disk is not covered")));
}

}  // namespace
}  // namespace stepcast::launch
