// What settling a dialect says: defaults of a program are noted, and values that are none are refused where they stand.
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/read/launch_request.h"

namespace stepcast::launch::settled_dialects_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Expected<Launch> settled(const std::string& text, const std::string& where) {
  LaunchSource source;
  source.flag = find_launch_flag("--megatron");
  source.file = where;
  return read_launch_text(text, where, source);
}

/// What reading a launch notes, one behind the other; else the error.
std::string noted(const std::string& text, const std::string& where = "run.yaml", std::int64_t gpus = 8) {
  const auto launch = settled(text, where);
  if (!launch) return to_text(launch.error());
  LaunchHints hints;
  hints.gpus = gpus;
  hints.told.insert(FieldId::sequence);  // as if --seq told it where samples are not packed
  const auto reading = read_meaning(*launch, hints);
  return reading ? fmt::format("{}", fmt::join(reading->notes, "\n")) : to_text(reading.error());
}

const std::string primus = "modules:\n  pre_trainer:\n    framework: megatron\n    model: llama3.1_8B.yaml\n    "
                           "overrides:\n      train_iters: 50\n";

TEST(SettledDialects, DefaultsOfAProgramAreNoted) {
  EXPECT_THAT(noted(primus), HasSubstr("bf16 true, use_distributed_optimizer true, sequence_parallel true, "
                                       "micro_batch_size 2, global_batch_size 16, seq_length 1024: as Primus has it "
                                       "unless told"));
  EXPECT_THAT(noted(primus + "      seq_length: 4096\n      micro_batch_size: 1\n"),
      HasSubstr("sequence_parallel true, global_batch_size 16: as Primus"));
  EXPECT_THAT(noted("torchrun --nproc_per_node 8 -m verl.trainer.fsdp_sft_trainer "
                    "model.partial_pretrain=google/gemma-7b\n",
                  "run.sh"),
      HasSubstr("data.train_batch_size 256, data.micro_batch_size_per_gpu 4, data.max_length 1024, "
                "model.enable_gradient_checkpointing true: as verl's fine-tuning has it unless told"));
  EXPECT_THAT(noted("NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --max_length 4096\n", "run.sh"),
      AllOf(HasSubstr("micro_batch_size 1, global_batch_size 16, recompute_granularity selective, "
                      "use_distributed_optimizer true, expert_tensor_parallel_size 1: as Megatron-SWIFT has it"),
          HasSubstr("number type bf16")));
  EXPECT_THAT(noted("NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --max_length 4096\n", "run.sh"),
      HasSubstr("lora_rank 8: as ms-swift has it unless told"));
}

/// 2 sequences on each of 64 GPUs are 128, and the default is 16.
TEST(SettledDialects, AnErrorOfADefaultNamesNoLine) {
  EXPECT_THAT(noted(primus, "run.yaml", 64), AllOf(HasSubstr("run.yaml global_batch_size (default of Primus)"),
                                                 HasSubstr("a global batch of 16 is no multiple "
                                                           "of micro-batch 2 x dp 64")));
}

TEST(SettledDialects, NumberTypesOfSwiftAreKnownOrRefused) {
  const std::string megatron = "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --max_length 4096 --torch_dtype ";
  for (const char* odd : {"fp16", "half", "float8_e4m3fn"})
    EXPECT_THAT(noted(megatron + odd + "\n", "run.sh"), HasSubstr(fmt::format("torch_dtype '{}' is not known", odd)));
  EXPECT_THAT(noted(megatron + "float16\n", "run.sh"),
      AllOf(HasSubstr("geometry of qwen3-8b"), Not(HasSubstr("number type bf16"))));
}

/// What settling puts for a name of a GPT-NeoX file; else the error.
std::string put_for_neox(const std::string& lines, const std::string& name = "intermediate_size") {
  const auto launch = settled("pipe_parallel_size: 1\nnum_layers: 2\nnum_attention_heads: 4\n" + lines, "run.yaml");
  if (!launch) return to_text(launch.error());
  const GivenArgument* given = launch->find(name);
  return given == nullptr ? "" : given->value;
}

/// A gated MLP of GPT-NeoX takes two thirds of 4 x 4096 = 16384, which is 10922, and half of that for each part.
TEST(SettledDialects, NumbersAreReadWholeOrRefused) {
  EXPECT_EQ(put_for_neox("hidden_size: 4_096\nactivation: swiglu\n"), "5461");
  EXPECT_EQ(put_for_neox("hidden_size: 16\nactivation: gelu\nexpansion_factor: 1000\n"), "16000");
  EXPECT_THAT(put_for_neox("hidden_size: 4096x\n"),
      AllOf(HasSubstr("run.yaml:4 hidden_size"), HasSubstr("'4096x' is no whole number up to 2,000,000")));
  EXPECT_THAT(put_for_neox("hidden_size: 16\nexpansion_factor: wide\n"), HasSubstr("'wide' is no number above 0"));
}

TEST(SettledDialects, AnOddMlpNamesTheNearestWidths) {
  EXPECT_THAT(put_for_neox("hidden_size: 256\nactivation: gelu\nintermediate_size: 1001\n"),
      AllOf(HasSubstr("1002 columns and 1001 rows"), HasSubstr("intermediate_size 1000 or 1002")));
  EXPECT_EQ(put_for_neox("hidden_size: 256\nactivation: gelu\nintermediate_size: 1002\n"), "1002");
}

TEST(SettledDialects, NodesOfVerlMustAgreeWithTheLauncher) {
  const std::string verl = "torchrun --nproc_per_node 8 -m verl.trainer.fsdp_sft_trainer "
                           "model.partial_pretrain=google/gemma-7b trainer.nnodes=1 trainer.n_gpus_per_node=";
  EXPECT_THAT(noted(verl + "4\n", "run.sh"),
      HasSubstr("4 GPUs by the nodes and devices of the configuration, but 8 by the launcher"));
  EXPECT_THAT(noted(verl + "8\n", "run.sh"), Not(HasSubstr("by the launcher")));
}

/// 8 GPUs are 2 ways of tensor parallelism and 4 copies of the weights.
TEST(SettledDialects, WhatTorchtitanRefusesIsNotSaidOfTorchtune) {
  EXPECT_THAT(noted("tokenizer:\n  max_seq_len: 2048\nbatch_size: 1\ntensor_parallel_dim: 2\n"
                    "data_parallel_replicate_dim: 4\nmodel:\n  _component_: torchtune.models.llama2.llama2_7b\n"),
      AllOf(HasSubstr("global batch 4"), Not(HasSubstr("copies alone"))));
}

std::string of_titan(const std::string& network, const std::string& more = "", const char* preset = "pre_trainer") {
  return noted(fmt::format("modules:\n  pre_trainer:\n    framework: torchtitan\n    config: {}.yaml\n    model: {}\n"
                           "    overrides:\n      training:\n        steps: 50\n{}",
      preset, network, more));
}

/// "none" is a way of recomputing, and null and an empty value say nothing.
TEST(SettledDialects, ArgumentsOfPrimusThatAreNoneAreRead) {
  const std::string section = "      activation_checkpoint:\n        mode: ";
  const char* untold = "activation_checkpoint.mode none, compile.enable true";
  EXPECT_THAT(of_titan("llama3.1_8B.yaml", section + "none\n"),
      AllOf(HasSubstr("as Primus' preset of training has it"), Not(HasSubstr(untold))));
  EXPECT_THAT(of_titan("llama3.1_8B.yaml", section + "null\n"), HasSubstr(untold));
  EXPECT_THAT(of_titan(""), HasSubstr("no preset of a network"));
}

/// Presets in 8 bits have linear layers alone in them, and some networks have none.
TEST(SettledDialects, PresetsOfPrimusThatAreNotForecastAreErrors) {
  const std::string experts = "      primus_turbo:\n        use_turbo_grouped_mm: true\n        use_moe_fp8: ";
  EXPECT_THAT(of_titan("llama3.1_8B-fp8.yaml"), HasSubstr("as Primus' preset of training has it"));
  EXPECT_THAT(of_titan("qwen3_8b-fp8.yaml"), HasSubstr("'qwen3_8b-fp8.yaml' is no preset of a network"));
  EXPECT_THAT(of_titan("llama3.2_1B-fp8.yaml"), HasSubstr("is no preset of a network"));
  for (const std::string& more : {std::string(), experts + "false\n"})
    EXPECT_THAT(
        of_titan("deepseek_v3_16b-fp8.yaml", more), HasSubstr("linear layers alone in 8 bits are not forecast"));
  EXPECT_THAT(of_titan("deepseek_v3_16b-fp8.yaml", experts + "true\n"), Not(HasSubstr("linear layers alone")));
  EXPECT_THAT(of_titan("deepseek_v3_16b.yaml", experts + "true\n"), HasSubstr("experts alone in 8 bits"));
  EXPECT_THAT(of_titan("llama3.1_8B.yaml", "", "sft_trainer"),
      AllOf(
          HasSubstr("run.yaml:4 "), HasSubstr("the preset 'sft_trainer.yaml' is not read"), HasSubstr("fine-tuning")));
}

}  // namespace
}  // namespace stepcast::launch::settled_dialects_test
