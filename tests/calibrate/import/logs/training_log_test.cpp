#include "calibrate/import/logs/training_log.h"

#include <gtest/gtest.h>

#include "tests/calibrate/import/sample_logs.h"

namespace stepcast::calibrate {
namespace {

TrainingLog read_log(const std::string& text) {
  auto log = read_training_log(text, "job.log");
  EXPECT_TRUE(log) << (log ? "" : to_text(log.error()));
  return log ? *log : TrainingLog{};
}

std::string refusal(const std::string& text) {
  const auto log = read_training_log(text, "job.log");
  return log ? "read" : to_text(log.error());
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(TrainingLog, MegatronWithItsPrintedArguments) {
  const TrainingLog log = read_log(
      sample_log::megatron_dump(sample_log::llama_arguments()) + sample_log::megatron_steps(sample_log::settled_ms));
  EXPECT_EQ(log.framework, "megatron-lm");
  EXPECT_EQ(log.arguments.at("tensor_model_parallel_size"), "2");
  EXPECT_EQ(log.arguments.at("num_layers_per_virtual_pipeline_stage"), "None");
  EXPECT_EQ(log.printed.size(), sample_log::llama_arguments().size());
  EXPECT_EQ(log.date, "2025-03-04");
  ASSERT_EQ(log.steps.size(), 6u);
  EXPECT_EQ(log.steps[1].iteration, 2);
  EXPECT_DOUBLE_EQ(log.steps[1].seconds.value(), 5);
  EXPECT_DOUBLE_EQ(log.steps[1].tflops_per_gpu, 412.5);
  EXPECT_EQ(log.steps[1].global_batch, 128);
}

TEST(TrainingLog, NamesWithoutDotsAndTheSettledVocabulary) {
  const std::string longest(48, 'x');
  const TrainingLog log = read_log(sample_log::megatron_dump({{longest, "7"}, {"list_of_things", "[1, 2]"}}) +
                                   " > padded vocab (size: 50257) with 943 dummy tokens (new size: 51200)\n" +
                                   sample_log::megatron_line(1, 10));
  EXPECT_EQ(log.arguments.at(longest), "7");
  EXPECT_EQ(log.arguments.at("list_of_things"), "[1, 2]");
  EXPECT_EQ(log.arguments.at("padded_vocab_size"), "51200");
}

TEST(TrainingLog, RanksThatRepeatALineAndTheirPrefixes) {
  const std::string line = sample_log::megatron_line(7, 1000);
  const TrainingLog log = read_log("15: " + line + "31: " + line + "[default7]:[rank7]: " + line);
  ASSERT_EQ(log.steps.size(), 1u);
  EXPECT_EQ(log.steps[0].iteration, 7);
}

TEST(TrainingLog, LinesWithoutALeadingBlank) {
  const std::string rest =
      "/    1000 | consumed samples:          800 | elapsed time per iteration (ms): 430.0 | learning rate: 1.342E-04 "
      "|\n";
  const TrainingLog log = read_log("iteration      200" + rest + "iteration      210" + rest);
  ASSERT_EQ(log.steps.size(), 2u);
  EXPECT_EQ(log.steps[0].iteration, 200);
}

TEST(TrainingLog, TheCommandShownInTheLog) {
  const TrainingLog log =
      read_log("+ torchrun --nproc_per_node=8 --nnodes 2 pretrain_gpt.py --num-layers 32 --swiglu --lr=1e-4\n" +
               sample_log::megatron_line(1, 10));
  EXPECT_EQ(log.gpus, 16);
  EXPECT_EQ(log.gpus_per_node, 8);
  EXPECT_EQ(log.arguments.at("num_layers"), "32");
  EXPECT_EQ(log.arguments.at("swiglu"), "true");
  EXPECT_TRUE(log.printed.empty());
}

TEST(TrainingLog, AScriptBesideTheLog) {
  TrainingLog log = read_log(sample_log::megatron_line(1, 10));
  const auto alone = need_arguments(log);
  ASSERT_FALSE(alone);
  EXPECT_TRUE(has(alone.error().hint, "launch command"));
  ASSERT_TRUE(add_launch_arguments(log, sample_log::megatron_script, "run.sh"));
  EXPECT_TRUE(need_arguments(log));
  EXPECT_EQ(log.gpus, 16);
  EXPECT_EQ(log.arguments.at("hidden_size"), "4096");
  ASSERT_FALSE(log.notes.empty());
  EXPECT_TRUE(has(log.notes.back(), "data_path=$1")) << log.notes.back();
}

TEST(TrainingLog, AScriptOfAnotherRun) {
  auto arguments = sample_log::llama_arguments();
  for (auto& [name, value] : arguments)
    if (name == "hidden_size") value = "5120";
  TrainingLog log = read_log(sample_log::megatron_dump(arguments) + sample_log::megatron_line(1, 10));
  const auto added = add_launch_arguments(log, sample_log::megatron_script, "run.sh");
  ASSERT_FALSE(added);
  EXPECT_TRUE(has(to_text(added.error()), "hidden_size is 4096, but the log prints 5120")) << to_text(added.error());
  // Flags that the program itself turns off, and other spellings of a number, are no contradiction.
  TrainingLog same = read_log(sample_log::megatron_dump({{"sequence_parallel", "False"}, {"lr", "0.00015"}}) +
                              sample_log::megatron_line(1, 10));
  EXPECT_TRUE(add_launch_arguments(same, sample_log::megatron_script, "run.sh"));
  EXPECT_EQ(same.arguments.at("sequence_parallel"), "False");
}

TEST(TrainingLog, ACommandAndADumpThatContradict) {
  const std::string error =
      refusal("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 64\n" +
              sample_log::megatron_dump({{"num_layers", "32"}}) + sample_log::megatron_line(1, 10));
  EXPECT_TRUE(has(error, "num_layers is 32 where the log prints its arguments, and 24 elsewhere")) << error;
}

TEST(TrainingLog, MegatronDeepSpeedAndBridgeAreToldApart) {
  std::string line = sample_log::megatron_line(1, 10);
  line.insert(line.size() - 1, " samples per second: 12.8 | tokens per gpu per second (tgs): 819.2 | TFLOPs: 55.1 |");
  EXPECT_EQ(read_log(line).framework, "megatron-deepspeed");
  EXPECT_DOUBLE_EQ(read_log(line).steps[0].tokens_per_s_per_gpu, 819.2);
  const std::string bridge =
      "model:\n  num_layers: 32\n  tensor_model_parallel_size: 4\ntrain:\n  global_batch_size: 128\nStep Time : 0.01s "
      "GPU utilization: 512.3MODEL_TFLOP/s/GPU\n" +
      sample_log::megatron_line(1, 10);
  EXPECT_EQ(read_log(bridge).framework, "megatron-bridge");
  EXPECT_EQ(read_log(bridge).arguments.at("model.tensor_model_parallel_size"), "4");
  EXPECT_EQ(read_log(bridge).arguments.at("train.global_batch_size"), "128");
}

TEST(TrainingLog, PeakMemoryOfMegatron) {
  const TrainingLog log = read_log(
      "[Rank 0] (after 2 iterations) memory (MB) | allocated: 10.0 | max allocated: 1000.00 | reserved: 1.0\n"
      "[Rank 8] (after 2 iterations) memory (MB) | allocated: 10.0 | max allocated: 2000.00 | reserved: 1.0\n" +
      sample_log::megatron_line(1, 10));
  EXPECT_DOUBLE_EQ(log.steps[0].peak_memory.value(), 2000.0 * 1024 * 1024);
}

TEST(TrainingLog, NemoLines) {
  const TrainingLog log = read_log(sample_log::nemo_steps({10.31, 7.549, 7.556}));
  EXPECT_EQ(log.framework, "nemo");
  ASSERT_EQ(log.steps.size(), 3u);
  EXPECT_EQ(log.steps[2].iteration, 3);
  EXPECT_DOUBLE_EQ(log.steps[2].seconds.value(), 7.556);
  EXPECT_EQ(log.steps[2].global_batch, 512);
}

TEST(TrainingLog, NemoProgressBarAndConfiguration) {
  const TrainingLog log = read_log(sample_log::nemo_log);
  ASSERT_EQ(log.steps.size(), 3u);
  EXPECT_DOUBLE_EQ(log.steps[1].seconds.value(), 3.0);
  EXPECT_EQ(log.steps[2].iteration, 3);
  EXPECT_EQ(log.arguments.at("model.tensor_model_parallel_size"), "2");
  EXPECT_EQ(log.arguments.at("trainer.num_nodes"), "2");
  EXPECT_EQ(log.arguments.at("model.optim.name"), "distributed_fused_adam");
  EXPECT_EQ(log.arguments.at("model.optim.betas"), "0.9 0.95");
  EXPECT_EQ(log.date, "2024-05-06");
}

TEST(TrainingLog, TorchtitanRatesAndSizes) {
  const TrainingLog log = read_log(sample_log::torchtitan_log({"4,096", "8,192"}));
  EXPECT_EQ(log.framework, "torchtitan");
  ASSERT_EQ(log.steps.size(), 2u);
  EXPECT_EQ(log.steps[1].iteration, 10);
  EXPECT_DOUBLE_EQ(log.steps[1].tokens_per_s_per_gpu, 8192);
  EXPECT_DOUBLE_EQ(log.steps[1].seconds.value(), 0);
  EXPECT_DOUBLE_EQ(log.steps[1].peak_memory.value(), 40.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(log.device, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(log.arguments.at("parallelism.data_parallel_shard_degree"), "8");
  EXPECT_EQ(log.arguments.at("training.seq_len"), "8192");
  EXPECT_EQ(log.arguments.at("model.flavor"), "8B");
}

TEST(TrainingLog, TorchtitanTomlAndOverrides) {
  TrainingLog log = read_log(sample_log::torchtitan_log({"8,192"},
      "NGPU=8 ./run_train.sh --job.config_file llama3_8b.toml --activation_checkpoint.selective_ac_option 2\n"));
  ASSERT_TRUE(add_launch_arguments(log, sample_log::torchtitan_toml, "llama3_8b.toml"));
  EXPECT_EQ(log.gpus, 8);
  EXPECT_EQ(log.arguments.at("activation_checkpoint.selective_ac_option"), "2");  // the command line overrides the file
  EXPECT_EQ(log.arguments.at("parallelism.data_parallel_shard_degree"), "8");     // -1: as the log prints it
  EXPECT_EQ(log.arguments.at("model.converters"), "[\"float8\", \"other\"]");
  // A file that the job wrote into its log.
  const TrainingLog shown = read_log(std::string(sample_log::torchtitan_toml) + sample_log::torchtitan_log({"8,192"}));
  EXPECT_EQ(shown.arguments.at("activation_checkpoint.selective_ac_option"), "op");
}

TEST(TrainingLog, TorchtitanOf2024) {
  const TrainingLog log = read_log(
      "[rank0]:2024-12-01 10:00:00,000 - root - INFO - Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]\n"
      "[rank0]:2024-12-01 10:00:00,000 - root - INFO - step: 10  loss:  7.1  memory: 30.00GiB(40%)  wps: 3,000  mfu: "
      "30.00%\n");
  EXPECT_EQ(log.arguments.at("parallelism.tensor_parallel_degree"), "2");
  EXPECT_EQ(log.arguments.at("parallelism.data_parallel_shard_degree"), "4");
  EXPECT_DOUBLE_EQ(log.steps[0].tokens_per_s_per_gpu, 3000);
}

TEST(TrainingLog, LinesThatEndInTheirFigure) {
  const std::string line =
      "[rank0]:[titan] 2025-01-29 10:15:45,267 - root - INFO - step: 10  loss:  9.3  memory: 48.00GiB(51%)  tps: "
      "21,734";
  EXPECT_DOUBLE_EQ(read_log(line + "\n").steps[0].tokens_per_s_per_gpu, 21734);
  EXPECT_TRUE(has(refusal(line), "no step") || has(refusal(line), "none of 1 lines"));  // perhaps 21,734,000
  const std::string nemo = "Training epoch 0, iteration 0/19 | global_batch_size: 8 | train_step_timing in s: 10.31";
  EXPECT_DOUBLE_EQ(read_log(nemo + "\n" + nemo).steps[0].seconds.value(), 10.31);
}

TEST(TrainingLog, CheckpointingOfTorchtitan2026) {
  const TrainingLog log = read_log(
      "[titan] 2026-05-04 13:58:14,761 - root - INFO - Applied SelectiveAC activation checkpointing to the model\n" +
      sample_log::torchtitan_log({"8,192"}));
  EXPECT_EQ(log.arguments.at("activation_checkpoint.selective_ac_option"), "op");
}

TEST(TrainingLog, DeepSpeedTimerAndItsJson) {
  const TrainingLog log = read_log(sample_log::deepspeed_log);
  EXPECT_EQ(log.framework, "deepspeed");
  EXPECT_EQ(log.gpus, 8);
  ASSERT_EQ(log.steps.size(), 3u);
  EXPECT_EQ(log.steps[1].iteration, 20);
  EXPECT_DOUBLE_EQ(log.steps[1].samples_per_s, 32);
  EXPECT_EQ(log.arguments.at("zero_optimization.stage"), "3");
  EXPECT_EQ(log.arguments.at("zero_optimization.reduce_bucket_size"), "500000000");
  EXPECT_EQ(log.arguments.at("bf16.enabled"), "true");
  EXPECT_EQ(log.arguments.at("max_seq_len"), "4096");
}

TEST(TrainingLog, DeepSpeedPipelineAndAJsonBesideIt) {
  TrainingLog log =
      read_log("steps: 10 loss: 2.1000 iter time (s): 1.500 samples/sec: 42.667\n"
               "[2023-11-07 01:55:23,714] [INFO] 0/11, RunningAvgSamplesPerSec=25.0, CurrSamplesPerSec=16.0, "
               "MaxMemAllocated=3.0GB\n");
  ASSERT_EQ(log.steps.size(), 1u);
  EXPECT_DOUBLE_EQ(log.steps[0].seconds.value(), 1.5);
  ASSERT_TRUE(add_launch_arguments(log, R"({"train_batch_size": 64, "zero_optimization": {"stage": 1}})", "ds.json"));
  EXPECT_EQ(log.arguments.at("zero_optimization.stage"), "1");
}

TEST(TrainingLog, WhatIsNoLog) {
  EXPECT_TRUE(has(refusal(""), "empty"));
  const std::string error = refusal("hello\nworld\n");
  EXPECT_TRUE(has(error, "none of 2 lines")) << error;
  for (const char* program : {"Megatron-LM", "NeMo", "torchtitan", "DeepSpeed"})
    EXPECT_TRUE(has(error, program)) << error;
}

TEST(TrainingLog, TimesThatAreNone) {
  EXPECT_TRUE(has(refusal(sample_log::megatron_line(3, 0)), "job.log:1: iteration 3 has no time above zero"));
  EXPECT_TRUE(has(refusal(sample_log::torchtitan_log({"0"})), "no time above zero"));
}

TEST(TrainingLog, CutOffAtTheEndAndInTheMiddle) {
  const std::string
      good = sample_log::megatron_line(1, 5000),
      cut = " iteration        2/     100 | consumed samples:          256 | elapsed time per iteration (ms): 50";
  const TrainingLog log = read_log(good + cut);
  EXPECT_EQ(log.steps.size(), 1u);
  ASSERT_EQ(log.notes.size(), 1u);
  EXPECT_EQ(log.notes[0], "line 2: cut off, left out");
  EXPECT_TRUE(has(refusal(cut + "\n" + good), "job.log:1: a step line of Megatron-LM that is cut off"));
  EXPECT_EQ(
      read_log(sample_log::torchtitan_log({"8,192"}) + "[titan] step: 20  loss:  7.1  grad_norm: 1.0").steps.size(),
      1u);
  EXPECT_TRUE(
      has(refusal("json = {\n \"stage\": 3\nsteps: 1 loss: 1 iter time (s): 1.5 samples/sec: 2\n"), "does not end"));
}

TEST(TrainingLog, FilesOfArgumentsThatAreNone) {
  TrainingLog log = read_log(sample_log::megatron_line(1, 10));
  const auto prose = add_launch_arguments(log, "dear reader\n", "notes.txt");
  ASSERT_FALSE(prose);
  EXPECT_TRUE(has(to_text(prose.error()), "notes.txt:1")) << to_text(prose.error());
  EXPECT_FALSE(add_launch_arguments(log, "", "notes.txt"));
  EXPECT_FALSE(add_launch_arguments(log, "{\"a\": ", "ds.json"));
  EXPECT_FALSE(add_launch_arguments(log, "{}", "ds.json"));
}

}  // namespace
}  // namespace stepcast::calibrate
