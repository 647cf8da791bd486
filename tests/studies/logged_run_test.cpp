#include "studies/logged_run.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "studies/forecast.h"
#include "studies/validation/run_scenario.h"
#include "studies/validation/stack_rule.h"
#include "tests/calibrate/import/sample_logs.h"

namespace stepcast {
namespace {

using Arguments = std::vector<std::pair<std::string, std::string>>;

Arguments changed(Arguments arguments, const Arguments& changes) {
  for (const auto& [name, value] : changes) {
    const auto found =
        std::find_if(arguments.begin(), arguments.end(), [&](const auto& row) { return row.first == name; });
    if (found == arguments.end())
      arguments.emplace_back(name, value);
    else
      found->second = value;
  }
  return arguments;
}

Expected<LoggedRun> run_of_log(const std::string& text, const LoggedRunHints& hints) {
  const auto log = read_training_log(text, "logs/job.log");
  if (!log) return tl::unexpected(log.error());
  return logged_run(*log, hints);
}

Expected<LoggedRun> megatron_run(const Arguments& changes = {}) {
  return run_of_log(
      sample::megatron_dump(changed(sample::llama_arguments(), changes)) + sample::megatron_steps(sample::settled_ms),
      {"dgx-h100", "", 0});
}

std::string refusal_of(const Expected<LoggedRun>& run) { return run ? "made" : to_text(run.error()); }

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

bool says(const LoggedRun& run, std::string_view part) {
  return std::any_of(run.assumptions.begin(), run.assumptions.end(),
                     [&](const std::string& text) { return holds(text, part); });
}

/// The forecast of the run, in seconds.
double forecast_of(const stepcast::Run& run) {
  const auto made = scenario_of(run);
  EXPECT_TRUE(made) << (made ? "" : to_text(made.error()));
  if (!made) return 0;
  const auto prediction = predict(made->scenario);
  EXPECT_TRUE(prediction) << (prediction ? "" : to_text(prediction.error()));
  return prediction ? prediction->step.step_time.value() : 0;
}

TEST(LoggedRun, MegatronFromItsDump) {
  const auto made = megatron_run();
  ASSERT_TRUE(made) << refusal_of(made);
  const stepcast::Run& run = made->run;
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
  auto log = read_training_log(sample::megatron_steps(sample::settled_ms), "job.log");
  ASSERT_TRUE(log);
  ASSERT_TRUE(add_launch_arguments(*log, sample::megatron_script, "run.sh"));
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
  const Arguments experts = {{"num_experts", "8"},
                             {"moe_router_topk", "2"},
                             {"moe_ffn_hidden_size", "14336"},
                             {"expert_model_parallel_size", "8"},
                             {"expert_tensor_parallel_size", "1"},
                             {"moe_layer_freq", "([0]*1+[1]*31)"},
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
  Arguments silent = experts;
  silent[4] = {"expert_tensor_parallel_size", "None"};
  EXPECT_EQ(megatron_run(silent)->run.parallel.etp, 2);
}

TEST(LoggedRun, LatentAttentionOfMegatron) {
  const auto made = megatron_run({{"multi_latent_attention", "True"},
                                  {"q_lora_rank", "1536"},
                                  {"kv_lora_rank", "512"},
                                  {"qk_head_dim", "128"},
                                  {"qk_pos_emb_head_dim", "64"},
                                  {"v_head_dim", "128"}});
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
  EXPECT_TRUE(says(*partly, "4 of each 32"));
}

TEST(LoggedRun, NothingIsSilentlyDropped) {
  const auto made = megatron_run({{"optimizer_cpu_offload", "True"},
                                  {"enable_cuda_graph", "True"},
                                  {"overlap_moe_expert_parallel_comm", "False"},
                                  {"weight_decay", "0.1"}});
  ASSERT_TRUE(made);
  EXPECT_TRUE(says(*made, "not taken into account: enable_cuda_graph=True, optimizer_cpu_offload=True"));
  EXPECT_TRUE(says(*made, "further arguments"));
  EXPECT_FALSE(says(*made, "weight_decay"));
  EXPECT_FALSE(says(*made, "overlap_moe"));
}

TEST(LoggedRun, Contradictions) {
  EXPECT_TRUE(holds(refusal_of(megatron_run({{"tensor_model_parallel_size", "3"}})),
                    "16 GPUs are no multiple of tp 3 x pp 1 x cp 1 = 3 (15 or 18 GPUs)"));
  EXPECT_TRUE(holds(refusal_of(megatron_run({{"micro_batch_size", "3"}})),
                    "a global batch of 128 is no multiple of micro-batch 3 x dp 8 (120 or 144)"));
  EXPECT_TRUE(holds(refusal_of(megatron_run({{"global_batch_size", "256"}})),
                    "a global batch of 128, but the arguments say 256"));
  EXPECT_TRUE(holds(refusal_of(megatron_run({{"num_layers", "many"}})), "num_layers: 'many'"));
  EXPECT_TRUE(holds(refusal_of(megatron_run({{"num_query_groups", "7"}})), "7 query groups do not divide 32 heads"));
  const std::string dump = sample::megatron_dump(sample::llama_arguments()) + sample::megatron_line(1, 10);
  EXPECT_TRUE(holds(refusal_of(run_of_log(dump, {"dgx-h100", "", 32})), "16 GPUs by world_size, but 32 by --gpus"));
}

TEST(LoggedRun, WhatIsMissingAndHowToSayIt) {
  EXPECT_TRUE(
      holds(refusal_of(run_of_log(sample::megatron_line(1, 10), {"dgx-h100", "", 0})), "no arguments of the run"));
  EXPECT_TRUE(holds(refusal_of(megatron_run({{"padded_vocab_size", "None"}})), "the vocabulary (--network ID"));
  EXPECT_TRUE(holds(refusal_of(megatron_run({{"world_size", "None"}})), "the number of GPUs (--gpus N)"));
  EXPECT_TRUE(holds(refusal_of(megatron_run({{"micro_batch_size", "None"}})), "the micro-batch"));
  const std::string dump = sample::megatron_dump(sample::llama_arguments()) + sample::megatron_line(1, 10);
  EXPECT_TRUE(holds(refusal_of(run_of_log(dump, {})), "does not name its GPU (--machine"));
  EXPECT_TRUE(holds(refusal_of(run_of_log(dump, {"dgx-h101", "", 0})), "--machine"));
  EXPECT_TRUE(holds(refusal_of(run_of_log(dump, {"dgx-h100", "llama3-9b", 0})), "llama3-8b"));
}

TEST(LoggedRun, AHybridModelIsNoTransformer) {
  const auto made = megatron_run({{"hybrid_override_pattern", "M-M*"}});
  ASSERT_TRUE(made);
  EXPECT_FALSE(scenario_of(made->run));
}

TEST(LoggedRun, NemoFromItsConfiguration) {
  const auto made = run_of_log(sample::nemo_log, {"dgx-h100", "", 0});
  ASSERT_TRUE(made) << refusal_of(made);
  const stepcast::Run& run = made->run;
  EXPECT_EQ(stack_of(run).id, "nemo");
  EXPECT_EQ(run.parallel.gpus, 16);
  EXPECT_EQ(run.parallel.pp, 2);
  EXPECT_EQ(run.parallel.chunks, 4);
  EXPECT_EQ(run.parallel.zero_stage, 1);
  EXPECT_EQ(run.model.gated_mlp, true);
  EXPECT_EQ(run.model.tied_embeddings, false);
  EXPECT_EQ(run.precision, "fp8");
  EXPECT_NEAR(*run.measured.step_time_s, 3.1, 1e-12);
  EXPECT_GT(forecast_of(run), 0);
}

TEST(LoggedRun, NemoTwoByItsRecipe) {
  const std::string text =
      "nemo llm pretrain --factory llama3_8b trainer.num_nodes=2 trainer.devices=8 "
      "trainer.strategy.tensor_model_parallel_size=2 data.micro_batch_size=1 data.global_batch_size=512\n" +
      sample::nemo_steps({10, 7.5, 7.5});
  const auto made = run_of_log(text, {"dgx-h100", "", 0});
  ASSERT_TRUE(made) << refusal_of(made);
  EXPECT_EQ(made->run.model.hidden, 4096);
  EXPECT_EQ(made->run.parallel.tp, 2);
  EXPECT_EQ(made->run.parallel.gpus, 16);
  EXPECT_EQ(made->run.global_batch, 512);
  EXPECT_TRUE(says(*made, "geometry of llama3-8b, as 'llama3_8b' names it"));
}

TEST(LoggedRun, TorchtitanWithFsdp) {
  auto log = read_training_log(sample::torchtitan_log({"1,024", "8,192", "8,192"}), "job.log");
  ASSERT_TRUE(log);
  ASSERT_TRUE(add_launch_arguments(*log, sample::torchtitan_toml, "llama3_8b.toml"));
  const auto made = logged_run(*log, {});
  ASSERT_TRUE(made) << refusal_of(made);
  const stepcast::Run& run = made->run;
  EXPECT_EQ(stack_of(run).id, "pytorch-fsdp");
  EXPECT_EQ(run.hardware.gpu, "h100-sxm");  // the log names its GPU
  EXPECT_EQ(run.parallel.gpus, 8);
  EXPECT_EQ(run.parallel.zero_stage, 3);
  EXPECT_EQ(run.recompute, "selective op");
  EXPECT_EQ(run.precision, "fp8");
  EXPECT_EQ(run.global_batch, 8);
  EXPECT_DOUBLE_EQ(*run.measured.step_time_s, 1);  // 8 x 8192 tokens on 8 GPUs at 8192 tokens/s each
  EXPECT_DOUBLE_EQ(*run.measured.peak_memory_gb, 40.0 * 1024 * 1024 * 1024 * 1e-9);
  EXPECT_GT(forecast_of(run), 0);
}

TEST(LoggedRun, TorchtitanReplicasAndStages) {
  auto log = read_training_log(sample::torchtitan_log({"8,192", "8,192"}), "job.log");
  log->arguments["parallelism.data_parallel_replicate_degree"] = "2";
  const auto hybrid = logged_run(*log, {"dgx-h100", "", 0});
  ASSERT_FALSE(hybrid);  // 8 sequences of a step are no multiple of 16 ranks
  log->arguments["training.global_batch_size"] = "16";
  const auto replicated = logged_run(*log, {"dgx-h100", "", 0});
  ASSERT_TRUE(replicated) << refusal_of(replicated);
  EXPECT_EQ(replicated->run.parallel.gpus, 16);
  EXPECT_EQ(replicated->run.parallel.shard_group, 8);
  log->arguments["parallelism.pipeline_parallel_degree"] = "2";
  log->arguments["parallelism.pipeline_parallel_schedule"] = "Interleaved1F1B";
  log->arguments["training.local_batch_size"] = "8";
  log->arguments["training.global_batch_size"] = "128";
  const auto staged = logged_run(*log, {"dgx-h100", "", 0});
  ASSERT_TRUE(staged) << refusal_of(staged);
  EXPECT_EQ(staged->run.micro_batch, 1);
  EXPECT_EQ(staged->run.parallel.chunks, 2);
  EXPECT_EQ(staged->run.parallel.zero_stage, 2);
}

TEST(LoggedRun, TorchtitanNamesAFileThatWasNotGiven) {
  const std::string text =
      "NGPU=8 CONFIG_FILE=\"./train_configs/llama3_8b.toml\" ./run_train.sh --training.seq_len 8192\n"
      "[titan] 2025-06-04 08:51:58,557 - root - INFO - step: 10  loss: 10.7  memory: 30.99GiB(32.62%)  tps: 8,192  "
      "tflops: 407.35  mfu: 41.19%\n";
  EXPECT_TRUE(holds(refusal_of(run_of_log(text, {"dgx-h100", "", 0})),
                    "the micro-batch (give ./train_configs/llama3_8b.toml beside the log)"));
  auto log = read_training_log(text, "job.log");
  ASSERT_TRUE(add_launch_arguments(*log, sample::torchtitan_toml, "llama3_8b.toml"));
  const auto made = logged_run(*log, {"dgx-h100", "", 0});
  ASSERT_TRUE(made) << refusal_of(made);
  EXPECT_EQ(made->run.parallel.dp, 8);
  EXPECT_DOUBLE_EQ(*made->run.measured.step_time_s, 1);
}

TEST(LoggedRun, DeepSpeedWithZero) {
  const auto made = run_of_log(sample::deepspeed_log, {"dgx-a100", "", 0});
  ASSERT_TRUE(made) << refusal_of(made);
  const stepcast::Run& run = made->run;
  EXPECT_EQ(stack_of(run).id, "deepspeed-zero");
  EXPECT_EQ(run.parallel.gpus, 8);
  EXPECT_EQ(run.parallel.zero_stage, 3);
  EXPECT_EQ(run.micro_batch, 2);
  EXPECT_EQ(run.global_batch, 64);
  EXPECT_EQ(run.model.seq_len, 4096);
  EXPECT_EQ(run.precision, "bf16");
  EXPECT_DOUBLE_EQ(*run.measured.step_time_s, 2);  // 64 samples at 32 per second
  EXPECT_TRUE(says(*made, "zero_optimization.offload_optimizer.device=cpu"));
  EXPECT_GT(forecast_of(run), 0);
}

TEST(LoggedRun, DeepSpeedByNetworkHint) {
  const std::string text =
      "Config mesh_device None world_size = 8\nsteps: 1 loss: 2.1 iter time (s): 1.500 samples/sec: 42.667\n";
  EXPECT_FALSE(run_of_log(text, {"dgx-a100", "", 0}));
  auto log = read_training_log(text, "job.log");
  ASSERT_TRUE(add_launch_arguments(
      *log,
      R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 2}, "fp16": {"enabled": true}})",
      "ds.json"));
  const auto made = logged_run(*log, {"dgx-a100", "llama2-7b", 0});
  ASSERT_TRUE(made) << refusal_of(made);
  EXPECT_EQ(made->run.global_batch, 64);
  EXPECT_EQ(made->run.precision, "fp16");
  EXPECT_TRUE(says(*made, "geometry of llama2-7b where the log has none"));
}

TEST(LoggedRun, MegatronDeepSpeed) {
  std::string line = sample::megatron_line(1, 5000);
  line.insert(line.size() - 1, " tokens per gpu per second (tgs): 819.2 |");
  const auto made = run_of_log(
      sample::megatron_dump(
          changed(sample::llama_arguments(),
                  {{"deepspeed", "True"}, {"zero_stage", "1"}, {"num_key_value_heads", "8"}, {"num_experts", "[1]"}})) +
          line,
      {"dgx-a100", "", 0});
  ASSERT_TRUE(made) << refusal_of(made);
  EXPECT_EQ(stack_of(made->run).id, "megatron-deepspeed");
  EXPECT_EQ(made->run.parallel.zero_stage, 1);
  EXPECT_FALSE(made->run.model.experts);
}

}  // namespace
}  // namespace stepcast
