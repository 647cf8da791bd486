// Logs of the programs beside Megatron-LM as runs.
#include "studies/launch/read/logged_run.h"

#include <gtest/gtest.h>

#include "tests/studies/launch/read/logged_run_checks.h"

namespace stepcast::studies {
namespace {

using namespace launch::sample_log;

TEST(LoggedPrograms, NemoFromItsConfiguration) {
  const auto made = run_of_log(launch::sample_log::nemo_log, {"dgx-h100", "", 0});
  ASSERT_TRUE(made) << refusal_of(made);
  const records::Run& run = made->run;
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

TEST(LoggedPrograms, NemoTwoByItsRecipe) {
  const std::string text =
      "nemo llm pretrain --factory llama3_8b trainer.num_nodes=2 trainer.devices=8 "
      "trainer.strategy.tensor_model_parallel_size=2 data.micro_batch_size=1 data.global_batch_size=512\n" +
      launch::sample_log::nemo_steps({10, 7.5, 7.5});
  const auto made = run_of_log(text, {"dgx-h100", "", 0});
  ASSERT_TRUE(made) << refusal_of(made);
  EXPECT_EQ(made->run.model.hidden, 4096);
  EXPECT_EQ(made->run.parallel.tp, 2);
  EXPECT_EQ(made->run.parallel.gpus, 16);
  EXPECT_EQ(made->run.global_batch, 512);
  EXPECT_TRUE(says(*made, "geometry of llama3-8b, as 'llama3_8b' names it"));
}

TEST(LoggedPrograms, TorchtitanWithFsdp) {
  auto log = read_training_log(launch::sample_log::torchtitan_log({"1,024", "8,192", "8,192"}), "job.log");
  ASSERT_TRUE(log);
  ASSERT_TRUE(add_launch_arguments(*log, launch::sample_log::torchtitan_toml, "llama3_8b.toml"));
  const auto made = logged_run(*log, {});
  ASSERT_TRUE(made) << refusal_of(made);
  const records::Run& run = made->run;
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

TEST(LoggedPrograms, TorchtitanReplicasAndStages) {
  auto log = read_training_log(launch::sample_log::torchtitan_log({"8,192", "8,192"}), "job.log");
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

TEST(LoggedPrograms, TorchtitanNamesAFileThatWasNotGiven) {
  const std::string text =
      "NGPU=8 CONFIG_FILE=\"./train_configs/llama3_8b.toml\" ./run_train.sh --training.seq_len 8192\n"
      "[titan] 2025-06-04 08:51:58,557 - root - INFO - step: 10  loss: 10.7  memory: 30.99GiB(32.62%)  tps: 8,192  "
      "tflops: 407.35  mfu: 41.19%\n";
  EXPECT_TRUE(holds(
      refusal_of(run_of_log(text, {"dgx-h100", "", 0})), "the micro-batch (--launch ./train_configs/llama3_8b.toml)"));
  auto log = read_training_log(text, "job.log");
  ASSERT_TRUE(add_launch_arguments(*log, launch::sample_log::torchtitan_toml, "llama3_8b.toml"));
  const auto made = logged_run(*log, {"dgx-h100", "", 0});
  ASSERT_TRUE(made) << refusal_of(made);
  EXPECT_EQ(made->run.parallel.dp, 8);
  EXPECT_DOUBLE_EQ(*made->run.measured.step_time_s, 1);
}

TEST(LoggedPrograms, DeepSpeedWithZero) {
  const auto made = run_of_log(launch::sample_log::deepspeed_log, {"dgx-a100", "", 0});
  ASSERT_TRUE(made) << refusal_of(made);
  const records::Run& run = made->run;
  EXPECT_EQ(stack_of(run).id, "deepspeed-zero");
  EXPECT_EQ(run.parallel.gpus, 8);
  EXPECT_EQ(run.parallel.zero_stage, 3);
  EXPECT_EQ(run.micro_batch, 2);
  EXPECT_EQ(run.global_batch, 64);
  EXPECT_EQ(run.model.seq_len, 4096);
  EXPECT_EQ(run.precision, "bf16");
  EXPECT_DOUBLE_EQ(*run.measured.step_time_s, 2);  // 64 samples at 32 per second
  EXPECT_TRUE(says(*made, "offload_optimizer.device cpu: what is kept in host memory"));
  EXPECT_GT(forecast_of(run), 0);
}

TEST(LoggedPrograms, DeepSpeedByNetworkHint) {
  const std::string text =
      "Config mesh_device None world_size = 8\nsteps: 1 loss: 2.1 iter time (s): 1.500 samples/sec: 42.667\n";
  EXPECT_FALSE(run_of_log(text, {"dgx-a100", "", 0}));
  auto log = read_training_log(text, "job.log");
  ASSERT_TRUE(add_launch_arguments(*log,
      R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 2}, "fp16": {"enabled": true}})",
      "ds.json"));
  const auto made = logged_run(*log, {"dgx-a100", "llama2-7b", 0});
  ASSERT_TRUE(made) << refusal_of(made);
  EXPECT_EQ(made->run.global_batch, 64);
  EXPECT_EQ(made->run.precision, "fp16");
  EXPECT_TRUE(says(*made, "geometry of llama2-7b where"));
}

TEST(LoggedPrograms, MegatronDeepSpeed) {
  std::string line = launch::sample_log::megatron_line(1, 5000);
  line.insert(line.size() - 1, " tokens per gpu per second (tgs): 819.2 |");
  const auto made = run_of_log(
      launch::sample_log::megatron_dump(changed(launch::sample_log::llama_arguments(),
          {{"deepspeed", "True"}, {"zero_stage", "1"}, {"num_key_value_heads", "8"}, {"num_experts", "[1]"}})) +
          line,
      {"dgx-a100", "", 0});
  ASSERT_TRUE(made) << refusal_of(made);
  EXPECT_EQ(stack_of(made->run).id, "megatron-deepspeed");
  EXPECT_EQ(made->run.parallel.zero_stage, 1);
  EXPECT_FALSE(made->run.model.experts);
}

}  // namespace
}  // namespace stepcast::studies
