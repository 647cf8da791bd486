// Logs in the formats of training programs, written for the tests: times and sizes are round.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

namespace stepcast::calibrate::sample_log {

/// A line of Megatron-LM's training_log.
inline std::string megatron_line(int iteration, double ms, int global_batch = 128) {
  return fmt::format(
      " [2025-03-04 12:00:{:02}.000000] iteration {:8d}/     100 | consumed samples: {:12d} | elapsed time per "
      "iteration (ms): {:.1f} | "
      "throughput per GPU (TFLOP/s/GPU): 412.5 | learning rate: 1.500000E-04 | global batch size: {:5d} | lm loss: "
      "9.1E+00 | "
      "loss scale: 1.0 | grad norm: 1.2 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
      iteration % 60, iteration, iteration * global_batch, ms, global_batch);
}

inline std::string megatron_steps(const std::vector<double>& ms, int global_batch = 128) {
  std::string text;
  for (std::size_t i = 0; i < ms.size(); ++i) text += megatron_line(static_cast<int>(i) + 1, ms[i], global_batch);
  return text;
}

/// print_args of the given lines: "name value".
inline std::string megatron_dump(const std::vector<std::pair<std::string, std::string>>& arguments) {
  std::string text = "------------------------ arguments ------------------------\n";
  for (const auto& [name, value] : arguments)
    text += fmt::format("  {} {} {}\n", name, std::string(name.size() < 48 ? 48 - name.size() : 0, '.'), value);
  return text + "-------------------- end of arguments ---------------------\n";
}

/// Llama 3 8B on 16 GPUs: tp 2, dp 8, micro-batch 1, 16 micro-batches.
inline std::vector<std::pair<std::string, std::string>> llama_arguments() {
  return {{"attention_dropout", "0.0"}, {"bf16", "True"}, {"context_parallel_size", "1"}, {"ffn_hidden_size", "14336"},
      {"fp8", "None"}, {"global_batch_size", "128"}, {"group_query_attention", "True"}, {"hidden_size", "4096"},
      {"kv_channels", "128"}, {"lr", "0.00015"}, {"micro_batch_size", "1"}, {"num_attention_heads", "32"},
      {"num_experts", "None"}, {"num_layers", "32"}, {"num_layers_per_virtual_pipeline_stage", "None"},
      {"num_query_groups", "8"}, {"overlap_grad_reduce", "True"}, {"overlap_param_gather", "True"},
      {"padded_vocab_size", "128256"}, {"pipeline_model_parallel_size", "1"}, {"recompute_granularity", "None"},
      {"seq_length", "8192"}, {"sequence_parallel", "True"}, {"swiglu", "True"}, {"tensor_model_parallel_size", "2"},
      {"untie_embeddings_and_output_weights", "True"}, {"use_distributed_optimizer", "True"}, {"world_size", "16"}};
}

inline const std::vector<double> settled_ms = {9000, 5000, 5010, 4990, 5000, 5000};

inline const char* const megatron_script = R"(#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
# the job
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NUM_NODES=$SLURM_NNODES
TP=${TP:-2}
MODEL_ARGS=(
    --num-layers 32
    --hidden-size 4096     # of Llama 3 8B
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --group-query-attention
    --num-query-groups 8
    --seq-length 8192
    --swiglu
    --untie-embeddings-and-output-weights
    --vocab-size 128256
)
TRAINING_ARGS="--micro-batch-size 1 \
    --global-batch-size 128 \
    --bf16 --use-distributed-optimizer"
TRAINING_ARGS+=" --tensor-model-parallel-size $TP --sequence-parallel"
DATA_PATH=$1

cd /job && torchrun --nproc_per_node $GPUS_PER_NODE --nnodes=$NUM_NODES --node_rank 0 \
    pretrain_gpt.py ${MODEL_ARGS[@]} ${TRAINING_ARGS} \
    --data-path $DATA_PATH --split '949,50,1' --lr "1.5e-4" 2>&1 | tee log.txt
)";

/// NeMo 2's ProgressPrinter; `seconds` of iterations 0, 1, ...
inline std::string nemo_steps(const std::vector<double>& seconds, int global_batch = 512) {
  std::string text;
  for (std::size_t i = 0; i < seconds.size(); ++i)
    text += fmt::format("[default0]:Training epoch 0, iteration {}/19 | lr: 1.499e-07 | global_batch_size: {} | "
                        "global_step: {} | reduced_train_loss: 11.03 | "
                        "train_step_timing in s: {:.4} | consumed_samples: {}\n",
        i, global_batch, i, seconds[i], global_batch * (i + 1));
  return text;
}

/// NeMo 1: the configuration as Hydra programs print it, then a progress bar over itself.
inline const char* const nemo_log =
    "[NeMo I 2024-05-06 10:00:00 megatron_gpt_pretraining:33] ************** Experiment configuration ***********\n"
    "[NeMo I 2024-05-06 10:00:00 megatron_gpt_pretraining:34] \n"
    "    name: megatron_gpt\n"
    "    trainer:\n"
    "      devices: 8\n"
    "      num_nodes: 2\n"
    "      precision: bf16\n"
    "    exp_manager:\n"
    "      create_checkpoint_callback: false\n"
    "    model:\n"
    "      micro_batch_size: 1\n"
    "      global_batch_size: 128\n"
    "      tensor_model_parallel_size: 2\n"
    "      pipeline_model_parallel_size: 2\n"
    "      virtual_pipeline_model_parallel_size: 4\n"
    "      encoder_seq_length: 4096\n"
    "      num_layers: 32\n"
    "      hidden_size: 4096\n"
    "      ffn_hidden_size: 11008\n"
    "      num_attention_heads: 32\n"
    "      num_query_groups: 32\n"
    "      activation: fast-swiglu\n"
    "      share_embeddings_and_output_weights: false\n"
    "      sequence_parallel: true\n"
    "      vocab_size: 32000\n"
    "      fp8: true\n"
    "      optim:\n"
    "        name: distributed_fused_adam\n"
    "        betas:\n"
    "        - 0.9\n"
    "        - 0.95\n"
    "      data:\n"
    "        data_prefix:\n"
    "        - 1.0\n"
    "        - /data/text\n"
    "\n"
    "\rEpoch 0: :   1%|          | 1/100 [00:10<15:00, v_num=, reduced_train_loss=11.0, global_step=0.000, "
    "consumed_samples=128.0, train_step_timing in s=9.500]"
    "\rEpoch 0: :   2%|          | 2/100 [00:13<14:00, v_num=, reduced_train_loss=10.9, global_step=1.000, "
    "consumed_samples=256.0, train_step_timing in s=3.000]"
    "\rEpoch 0: :   2%|          | 2/100 [00:13<14:00, v_num=, reduced_train_loss=10.9, global_step=1.000, "
    "consumed_samples=256.0, train_step_timing in s=3.000]"
    "\rEpoch 0: :   3%|          | 3/100 [00:16<13:00, v_num=, reduced_train_loss=10.8, global_step=2.000, "
    "consumed_samples=384.0, train_step_timing in s=3.200]\n";

/// torchtitan with FSDP on 8 GPUs: 8192 tokens per rank and step, so that 8192 tokens/s per GPU are one second.
inline std::string torchtitan_log(const std::vector<std::string>& rates, const std::string& launch = "") {
  std::string text = launch +
                     "[rank0]:[titan] 2025-06-12 11:34:02,123 - root - INFO - Starting job: Llama 3 8B training\n"
                     "[rank0]:[titan] 2025-06-12 11:34:03,123 - root - INFO - Building device mesh with parallelism: "
                     "pp=1, dp_replicate=1, dp_shard=8, cp=1, tp=1, ep=1, etp=1\n"
                     "[rank0]:[titan] 2025-06-12 11:34:04,123 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 "
                     "with 79.10GiB memory\n"
                     "[rank0]:[titan] 2025-06-12 11:34:05,123 - root - INFO - \x1b[34mModel llama3 8B \x1b[31msize: "
                     "8,030,261,248 total parameters\x1b[39m\n"
                     "[rank0]:[titan] 2025-06-12 11:34:05,223 - root - INFO - Applied selective activation "
                     "checkpointing to the model\n"
                     "[rank0]:[titan] 2025-06-12 11:34:06,123 - root - INFO - Trainer is initialized with local batch "
                     "size 1, global batch size 8, gradient accumulation steps 1, "
                     "sequence length 8192, total steps 1000 (warmup 200)\n";
  int step = 1;
  for (const std::string& rate : rates) {
    text += fmt::format(
        "[rank0]:[titan] 2025-06-12 11:35:00,123 - root - INFO - \x1b[31mstep: {:2}  \x1b[32mloss: 12.25000  "
        "\x1b[38;2;180;60;0mgrad_norm:  2.1000  "
        "\x1b[36mmemory: 40.00GiB(50.57%)  \x1b[34mtps: {}  \x1b[36mtflops: 410.00  \x1b[35mmfu: 41.46%\x1b[39m\n",
        step, rate);
    step = step == 1 ? 10 : step + 10;
  }
  return text;
}

inline const char* const torchtitan_toml = R"([job]
description = "Llama 3 8B training"

[model]
name = "llama3"
flavor = "8B"
converters = ["float8",
              "other"]  # two of them

[training]
local_batch_size = 1
seq_len = 8192

[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 1

[activation_checkpoint]
mode = "selective"  # ["none", "selective", "full"]
selective_ac_option = "op"
)";

inline const char* const deepspeed_log =
    "[2023-11-07 01:50:00,100] [INFO] [runner.py:568:main] cmd = /usr/bin/python3 -u -m deepspeed.launcher.launch "
    "--world_info=eyJ9 --master_port=29500 train.py "
    "--model_name_or_path llama2-7b --max_seq_len 4096 --deepspeed --num_train_epochs 1\n"
    "[2023-11-07 01:50:01,100] [INFO] [config.py:978:print]   world_size ................... 8\n"
    "[2023-11-07 01:50:01,100] [INFO] [config.py:734:__init__] Config mesh_device None world_size = 8\n"
    "[2023-11-07 01:50:01,101] [INFO] [config.py:964:print_user_config]   json = {\n"
    "    \"train_batch_size\": 64, \n"
    "    \"train_micro_batch_size_per_gpu\": 2, \n"
    "    \"zero_optimization\": {\n"
    "        \"stage\": 3, \n"
    "        \"overlap_comm\": true, \n"
    "        \"reduce_bucket_size\": 5.000000e+08, \n"
    "        \"offload_optimizer\": {\n"
    "            \"device\": \"cpu\"\n"
    "        }\n"
    "    }, \n"
    "    \"bf16\": {\n"
    "        \"enabled\": true\n"
    "    }\n"
    "}\n"
    "[2023-11-07 01:55:23,714] [INFO] [timer.py:260:stop] epoch=0/micro_step=40/global_step=10, "
    "RunningAvgSamplesPerSec=25.0, CurrSamplesPerSec=16.0, MemAllocated=4.32GB, MaxMemAllocated=38.49GB\n"
    "[2023-11-07 01:56:23,714] [INFO] [timer.py:260:stop] epoch=0/micro_step=80/global_step=20, "
    "RunningAvgSamplesPerSec=25.5, CurrSamplesPerSec=32.0, MemAllocated=4.32GB, MaxMemAllocated=38.49GB\n"
    "[2023-11-07 01:57:23,714] [INFO] [timer.py:260:stop] epoch=0/micro_step=120/global_step=30, "
    "RunningAvgSamplesPerSec=26.0, CurrSamplesPerSec=32.0, MemAllocated=4.32GB, MaxMemAllocated=38.49GB\n";

}  // namespace stepcast::calibrate::sample_log
