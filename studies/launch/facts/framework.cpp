#include "studies/launch/facts/framework.h"

#include <algorithm>

namespace stepcast::launch {
namespace {

// clang-format off
// leaves_out_predictors: huggingface/transformers, modeling_deepseek_v3.py and modeling_glm4_moe.py pass over the weights
// of these layers (_keys_to_ignore_on_load_unexpected), so that what accelerate and DeepSpeed start with a network of
// Hugging Face has none; num_mtp_layers 0 in pytorch/torchtitan torchtitan/models/deepseek_v3/__init__.py; mtp_num_layers None
// in modelscope/ms-swift swift/megatron/arguments/megatron_args.py
constexpr Framework framework_rows[] = {
    {.id = "megatron-lm", .name = "Megatron-LM", .software = "Megatron-LM", .stack = "megatron-core", .top_k = 2,
     .expert_tp = true, .quiet_overlap = true, .free_sections = true},
    {.id = "megatron-bridge", .name = "Megatron-Bridge", .software = "Megatron-Bridge", .stack = "nemo",
     .precision = "bf16", .top_k = 2, .expert_tp = true, .hydra = true, .free_sections = true},
    {.id = "megatron-deepspeed", .name = "Megatron-DeepSpeed", .software = "Megatron-DeepSpeed",
     .stack = "megatron-deepspeed", .bf16_shards = true},
    {.id = "nemo", .name = "NeMo", .software = "NeMo", .stack = "nemo", .precision = "bf16", .top_k = 2,
     .expert_tp = true, .hydra = true, .free_sections = true},
    {.id = "torchtitan", .name = "torchtitan", .software = "torchtitan", .stack = "pytorch-fsdp", .precision = "bf16",
     .micro_batch = 8, .zero = 3, .tied = false, .recompute = "selective layer", .sequence_parallel = true,
     .stages_cut_batch = true, .ends_are_layers = true, .compiles = true, .refuses_copies = true,
     .leaves_out_predictors = true, .own_sequence = true,
     .whole_names = true},
    {.id = "deepspeed", .name = "DeepSpeed", .software = "DeepSpeed", .stack = "deepspeed-zero", .micro_batch = 1,
     .micro_follows = true, .leaves_out_predictors = true},
    {.id = "llm-foundry", .name = "llm-foundry", .software = "llm-foundry", .stack = "llm-foundry", .precision = "bf16",
     .micro_at_most_local = true},
    {.id = "accelerate", .name = "accelerate", .software = "PyTorch FSDP", .stack = "pytorch-fsdp",
     .leaves_out_predictors = true},
    {.id = "gpt-neox", .name = "GPT-NeoX", .software = "Megatron-DeepSpeed", .stack = "megatron-deepspeed",
     .quiet_overlap = true, .micro_follows = true, .stands_in = true},
    {.id = "flagscale", .name = "FlagScale", .software = "Megatron-LM", .stack = "megatron-core", .top_k = 2,
     .expert_tp = true, .quiet_overlap = true},
    {.id = "llama-factory", .name = "LLaMA-Factory", .software = "PyTorch FSDP", .stack = "pytorch-fsdp",
     .micro_batch = 8, .trainer = true, .leaves_out_predictors = true, .own_sequence = true},
    {.id = "axolotl", .name = "Axolotl", .software = "PyTorch FSDP", .stack = "pytorch-fsdp", .precision = "bf16",
     .micro_batch = 1, .trainer = true, .leaves_out_predictors = true, .own_sequence = true},
    {.id = "trainer", .name = "Hugging Face's Trainer", .software = "PyTorch FSDP", .stack = "pytorch-fsdp",
     .micro_batch = 8, .trainer = true, .leaves_out_predictors = true, .own_sequence = true},
    // usual_sequences: swift/trainers/arguments.py
    {.id = "ms-swift", .name = "ms-swift", .software = "PyTorch FSDP", .stack = "pytorch-fsdp", .precision = "bf16",
     .micro_batch = 1, .usual_sequences = 16, .trainer = true, .leaves_out_predictors = true, .own_sequence = true},
    {.id = "megatron-swift", .name = "Megatron-SWIFT", .software = "Megatron-LM", .stack = "megatron-core", .top_k = 2,
     .quiet_overlap = true, .leaves_out_predictors = true, .own_sequence = true},
    {.id = "primus", .name = "Primus", .software = "Megatron-LM", .stack = "megatron-core", .top_k = 2,
     .expert_tp = true, .quiet_overlap = true},
    {.id = "torchtune", .name = "torchtune", .software = "PyTorch FSDP", .stack = "pytorch-fsdp", .precision = "bf16",
     .micro_batch = 1, .zero = 3, .sequence_parallel = true, .all_in_16_bits = true, .compiles = true,
     .leaves_out_predictors = true, .own_sequence = true},
    {.id = "verl-sft", .name = "verl's fine-tuning", .software = "PyTorch FSDP", .stack = "pytorch-fsdp",
     .precision = "bf16", .zero = 3, .trainer = true, .leaves_out_predictors = true, .own_sequence = true},
    {.id = "olmo", .name = "OLMo", .software = "PyTorch FSDP", .stack = "pytorch-fsdp", .micro_batch = 16,
     .compiles = true, .own_sequence = true},
    {.id = "litgpt", .name = "LitGPT", .software = "PyTorch FSDP", .stack = "pytorch-fsdp", .precision = "bf16",
     .all_in_16_bits = true, .compiles = true, .leaves_out_predictors = true, .own_sequence = true},
    // openrlhf/cli/train_sft.py
    {.id = "openrlhf-sft", .name = "OpenRLHF's fine-tuning", .software = "DeepSpeed",
     .stack = "deepspeed-zero", .precision = "bf16", .leaves_out_predictors = true, .own_sequence = true},
    {.id = "nanotron", .name = "Nanotron", .software = "Megatron-LM", .stack = "megatron-core", .top_k = 2,
     .tied = false, .quiet_overlap = true, .stands_in = true},
};

constexpr LaunchFlag launch_flag_rows[] = {
    {"--launch", "FILE|--", "script, command line (behind --) or configuration of whichever of these: its program, its "
                            "names and its files tell", ""},
    {"--megatron", "FILE|--", "script, command line (behind --) or argument file of Megatron-LM, Megatron-DeepSpeed, "
                              "Megatron-Bridge or NeMo", "megatron-lm"},
    {"--nemo", "FILE", "YAML or overrides of NeMo or Megatron-Bridge", "nemo"},
    {"--torchtitan", "FILE", "TOML of torchtitan, or the command with it", "torchtitan"},
    {"--deepspeed", "FILE", "JSON of DeepSpeed, or the command with it; the network stands in front", "deepspeed"},
    {"--llm-foundry", "FILE", "YAML of llm-foundry", "llm-foundry"},
    {"--accelerate", "FILE", "YAML of Hugging Face accelerate, or the command with it; the network stands in front",
     "accelerate"},
    {"--gpt-neox", "FILE", "YAML of GPT-NeoX", "gpt-neox"},
    {"--flagscale", "FILE", "YAML of FlagScale: the experiment, or what it trains", "flagscale"},
    {"--llama-factory", "FILE", "YAML of LLaMA-Factory, with DeepSpeed's file beside it", "llama-factory"},
    {"--axolotl", "FILE", "YAML of Axolotl, with DeepSpeed's file beside it", "axolotl"},
    {"--nanotron", "FILE", "YAML of Nanotron", "nanotron"},
    {"--trainer", "FILE", "command of a program on Hugging Face's Trainer, with DeepSpeed's or FSDP's file beside it",
     "trainer"},
    {"--ms-swift", "FILE", "command of ms-swift (swift sft, megatron sft), or its YAML", "ms-swift"},
    {"--primus", "FILE", "YAML of AMD's Primus around Megatron-LM", "primus"},
    {"--torchtune", "FILE", "YAML of torchtune", "torchtune"},
    {"--olmo", "FILE", "YAML of OLMo", "olmo"},
    {"--litgpt", "FILE", "YAML of LitGPT", "litgpt"},
    {"--openrlhf-sft", "FILE", "command of OpenRLHF's train_sft", "openrlhf-sft"},
    {"--verl-sft", "FILE", "command or YAML of verl's fine-tuning", "verl-sft"},
};
// clang-format on

}  // namespace

std::span<const Framework> frameworks() { return framework_rows; }
std::span<const LaunchFlag> launch_flags() { return launch_flag_rows; }

const LaunchFlag* find_launch_flag(std::string_view flag) {
  const auto* found = std::ranges::find(launch_flag_rows, flag, &LaunchFlag::flag);
  return found == std::end(launch_flag_rows) ? nullptr : found;
}

const Framework* find_framework(std::string_view id) {
  const auto found = std::find_if(
      std::begin(framework_rows), std::end(framework_rows), [&](const Framework& row) { return row.id == id; });
  return found == std::end(framework_rows) ? nullptr : found;
}

}  // namespace stepcast::launch
