#include "studies/launch/read/logged_run.h"

#include <gtest/gtest.h>

#include "tests/studies/launch/read/logged_run_checks.h"

namespace stepcast::launch {
namespace {

using namespace sample_log;

TEST(LoggedRun, MegatronFromItsDump) {
  const auto made = megatron_run();
  ASSERT_TRUE(made) << refusal_of(made);
  const records::Run& run = made->run;
  EXPECT_EQ(run.id, "job.log");
  EXPECT_EQ(run.model.layers, 32);
  EXPECT_EQ(run.model.kv_heads, 8);
  EXPECT_EQ(run.model.vocab, 128256);
  EXPECT_EQ(run.model.gated_mlp, true);
  EXPECT_EQ(run.model.tied_embeddings, false);
  EXPECT_EQ(run.parallel.gpus, 16);
  EXPECT_EQ(run.parallel.tp, 2);
  EXPECT_EQ(run.parallel.dp, 8);
  EXPECT_EQ(run.parallel.zero_stage, 1);
  EXPECT_EQ(run.parallel.sequence_parallel, true);
  EXPECT_EQ(run.micro_batch, 1);
  EXPECT_EQ(run.global_batch, 128);
  EXPECT_EQ(run.precision, "bf16");
  EXPECT_EQ(run.recompute, "none");
  EXPECT_EQ(run.overlap.dp_grad, true);
  EXPECT_EQ(run.overlap.tp, false);  // a flag that is absent is off
  EXPECT_EQ(run.date, "2025-03-04");
  EXPECT_EQ(stack_of(run).id, "megatron-core");
  EXPECT_DOUBLE_EQ(*run.measured.step_time_s, 5);
  EXPECT_EQ(made->steady.used, 5);
}

TEST(LoggedRun, CanBeForecast) {
  const auto made = megatron_run();
  ASSERT_TRUE(made);
  // 6 x 8.03e9 parameters x 1048576 tokens (and attention) over 16 GPUs at 989e12: above 3.2 s, and no ten times that.
  const double seconds = forecast_of(made->run);
  EXPECT_GT(seconds, 3.2);
  EXPECT_LT(seconds, 32);
}

TEST(LoggedRun, MegatronFromItsScript) {
  auto log = read_training_log(sample_log::megatron_steps(sample_log::settled_ms), "job.log");
  ASSERT_TRUE(log);
  ASSERT_TRUE(add_launch_arguments(*log, sample_log::megatron_script, "run.sh"));
  const auto made = logged_run(*log, {"dgx-h100", "", 0});
  ASSERT_TRUE(made) << refusal_of(made);
  EXPECT_EQ(made->run.parallel.gpus, 16);
  EXPECT_EQ(made->run.parallel.dp, 8);
  EXPECT_EQ(made->run.parallel.zero_stage, 1);
  EXPECT_EQ(made->run.overlap.dp_grad, false);
  EXPECT_TRUE(says(*made, "data_path=$1"));
}

TEST(LoggedRun, PipelinesWithChunks) {
  const auto by_layers =
      megatron_run({{"pipeline_model_parallel_size", "4"}, {"num_layers_per_virtual_pipeline_stage", "2"}});
  ASSERT_TRUE(by_layers) << refusal_of(by_layers);
  EXPECT_EQ(by_layers->run.parallel.chunks, 4);  // 32 layers on 4 stages: 8, in pieces of 2
  EXPECT_EQ(by_layers->run.parallel.dp, 2);
  EXPECT_GT(forecast_of(by_layers->run), 0);
  const auto by_count =
      megatron_run({{"pipeline_model_parallel_size", "4"}, {"num_virtual_stages_per_pipeline_rank", "2"}});
  EXPECT_EQ(by_count->run.parallel.chunks, 2);
}

TEST(LoggedRun, ExpertsOfMegatron) {
  const Printed experts = {{"num_experts", "8"}, {"moe_router_topk", "2"}, {"moe_ffn_hidden_size", "14336"},
      {"expert_model_parallel_size", "8"}, {"expert_tensor_parallel_size", "1"}, {"moe_layer_freq", "([0]*1+[1]*31)"},
      {"moe_token_dispatcher_type", "alltoall"}};
  const auto made = megatron_run(experts);
  ASSERT_TRUE(made) << refusal_of(made);
  ASSERT_TRUE(made->run.model.experts);
  EXPECT_EQ(made->run.model.experts->count, 8);
  EXPECT_EQ(made->run.model.experts->dense_layers, 1);
  EXPECT_EQ(made->run.parallel.ep, 8);
  EXPECT_EQ(made->run.parallel.etp, 1);
  EXPECT_GT(forecast_of(made->run), 0);
  // Without a word experts are split like the rest over tp.
  Printed silent = experts;
  silent[4] = {"expert_tensor_parallel_size", "None"};
  EXPECT_EQ(megatron_run(silent)->run.parallel.etp, 2);
}

TEST(LoggedRun, LatentAttentionOfMegatron) {
  const auto made = megatron_run({{"multi_latent_attention", "True"}, {"q_lora_rank", "1536"}, {"kv_lora_rank", "512"},
      {"qk_head_dim", "128"}, {"qk_pos_emb_head_dim", "64"}, {"v_head_dim", "128"}});
  ASSERT_TRUE(made);
  ASSERT_TRUE(made->run.model.latent);
  EXPECT_EQ(made->run.model.latent->kv_rank, 512);
  EXPECT_FALSE(megatron_run({{"kv_lora_rank", "32"}})->run.model.latent);  // printed, but off
}

TEST(LoggedRun, WaysOfComputing) {
  EXPECT_EQ(megatron_run({{"fp8", "hybrid"}})->run.precision, "fp8");
  EXPECT_EQ(megatron_run({{"fp8", "e4m3"}, {"fp8_recipe", "mxfp8"}})->run.precision, "mxfp8");
  EXPECT_EQ(megatron_run({{"bf16", "False"}, {"fp16", "True"}})->run.precision, "fp16");
  EXPECT_EQ(megatron_run({{"bf16", "False"}})->run.precision, "fp32");
  EXPECT_EQ(megatron_run({{"recompute_granularity", "full"}})->run.recompute, "full");
  EXPECT_EQ(megatron_run({{"recompute_granularity", "selective"}})->run.recompute, "selective");
  EXPECT_EQ(megatron_run({{"use_distributed_optimizer", "False"}})->run.parallel.zero_stage, 0);
  EXPECT_EQ(megatron_run({{"use_megatron_fsdp", "True"}, {"data_parallel_sharding_strategy", "optim_grads_params"}})
                ->run.parallel.zero_stage,
      3);
  const auto partly =
      megatron_run({{"recompute_granularity", "full"}, {"recompute_method", "block"}, {"recompute_num_layers", "4"}});
  EXPECT_EQ(partly->run.recompute, "full:4");
  EXPECT_TRUE(says(*partly, "4 layers of each stage"));
}

TEST(LoggedRun, NothingIsSilentlyDropped) {
  const auto made = megatron_run({{"optimizer_cpu_offload", "True"}, {"enable_cuda_graph", "True"},
      {"overlap_moe_expert_parallel_comm", "False"}, {"weight_decay", "0.1"}});
  ASSERT_TRUE(made);
  EXPECT_TRUE(says(*made, "not taken into account: enable_cuda_graph=True"));
  EXPECT_TRUE(says(*made, "optimizer_cpu_offload true: what is kept in host memory"));
  EXPECT_TRUE(says(*made, "further arguments"));
  EXPECT_FALSE(says(*made, "weight_decay"));
  EXPECT_FALSE(says(*made, "overlap_moe"));
}

TEST(LoggedRun, Contradictions) {
  EXPECT_TRUE(holds(refusal_of(megatron_run({{"tensor_model_parallel_size", "3"}})),
      "16 GPUs are no multiple of tp 3 x pp 1 x cp 1 = 3 (15 or 18 GPUs)"));
  EXPECT_TRUE(holds(refusal_of(megatron_run({{"micro_batch_size", "3"}})),
      "a global batch of 128 is no multiple of micro-batch 3 x dp 8 (120 or 144)"));
  EXPECT_TRUE(holds(
      refusal_of(megatron_run({{"global_batch_size", "256"}})), "a global batch of 128, but the arguments say 256"));
  EXPECT_TRUE(holds(refusal_of(megatron_run({{"num_layers", "many"}})), "num_layers: 'many'"));
  EXPECT_TRUE(holds(refusal_of(megatron_run({{"num_query_groups", "7"}})), "7 query groups do not divide 32 heads"));
  const std::string dump = sample_log::megatron_dump(sample_log::llama_arguments()) + sample_log::megatron_line(1, 10);
  EXPECT_TRUE(holds(refusal_of(run_of_log(dump, {"dgx-h100", "", 32})), "16 GPUs by world_size, but 32 by --gpus"));
}

TEST(LoggedRun, SizesBeyondAnyJob) {
  for (const char* size : {"3000000", "1e300", "99999999999999999999", "1.5"})
    EXPECT_TRUE(holds(refusal_of(megatron_run({{"tensor_model_parallel_size", size}})), "a whole number")) << size;
  EXPECT_FALSE(megatron_run({{"tensor_model_parallel_size", "1000000"}, {"pipeline_model_parallel_size", "1000000"},
      {"context_parallel_size", "1000000"}}));
}

TEST(LoggedRun, WhatIsMissingAndHowToSayIt) {
  EXPECT_TRUE(
      holds(refusal_of(run_of_log(sample_log::megatron_line(1, 10), {"dgx-h100", "", 0})), "no arguments of the run"));
  EXPECT_TRUE(holds(refusal_of(megatron_run({{"padded_vocab_size", "None"}})), "the vocabulary (--network ID"));
  EXPECT_TRUE(holds(refusal_of(megatron_run({{"world_size", "None"}})), "the number of GPUs (--gpus N)"));
  EXPECT_TRUE(holds(refusal_of(megatron_run({{"micro_batch_size", "None"}})), "the micro-batch"));
  const std::string dump = sample_log::megatron_dump(sample_log::llama_arguments()) + sample_log::megatron_line(1, 10);
  EXPECT_TRUE(holds(refusal_of(run_of_log(dump, {})), "does not name its GPU (--machine"));
  EXPECT_TRUE(holds(refusal_of(run_of_log(dump, {"dgx-h101", "", 0})), "--machine"));
  EXPECT_TRUE(holds(refusal_of(run_of_log(dump, {"dgx-h100", "llama3-9b", 0})), "llama3-8b"));
}

TEST(LoggedRun, AHybridModelIsNoTransformer) {
  const std::string letters = "M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M";  // a letter for each of the 32 layers
  const auto made = megatron_run({{"hybrid_override_pattern", letters}, {"mamba_num_heads", "64"}});
  ASSERT_TRUE(made) << to_text(made.error());
  EXPECT_FALSE(scenario_of(made->run)) << "a record has no field for the pattern";
  const auto other = megatron_run({{"hybrid_override_pattern", "M-M*"}});
  ASSERT_FALSE(other);
  EXPECT_NE(to_text(other.error()).find("4 letters for 32 layers"), std::string::npos) << to_text(other.error());
}

}  // namespace
}  // namespace stepcast::launch
