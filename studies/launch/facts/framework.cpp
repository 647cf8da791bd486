#include "studies/launch/facts/framework.h"

#include <algorithm>

namespace stepcast::launch {
namespace {

// clang-format off
constexpr Framework framework_rows[] = {
    {.id = "megatron-lm", .name = "Megatron-LM", .software = "Megatron-LM", .stack = "megatron-core", .top_k = 2,
     .expert_tp = true, .quiet_overlap = true},
    {.id = "megatron-bridge", .name = "Megatron-Bridge", .software = "Megatron-Bridge", .stack = "nemo",
     .precision = "bf16", .top_k = 2, .expert_tp = true, .hydra = true},
    {.id = "megatron-deepspeed", .name = "Megatron-DeepSpeed", .software = "Megatron-DeepSpeed",
     .stack = "megatron-deepspeed", .bf16_shards = true},
    {.id = "nemo", .name = "NeMo", .software = "NeMo", .stack = "nemo", .precision = "bf16", .top_k = 2,
     .expert_tp = true, .hydra = true},
    {.id = "torchtitan", .name = "torchtitan", .software = "torchtitan", .stack = "pytorch-fsdp", .precision = "bf16",
     .micro_batch = 8, .zero = 3, .tied = false, .recompute = "selective layer", .sequence_parallel = true,
     .stages_cut_batch = true, .ends_are_layers = true},
    {.id = "deepspeed", .name = "DeepSpeed", .software = "DeepSpeed", .stack = "deepspeed-zero", .micro_batch = 1,
     .micro_follows = true},
    {.id = "llm-foundry", .name = "llm-foundry", .software = "llm-foundry", .stack = "llm-foundry", .precision = "bf16",
     .micro_at_most_local = true},
    {.id = "accelerate", .name = "accelerate", .software = "PyTorch FSDP", .stack = "pytorch-fsdp"},
};

constexpr LaunchFlag launch_flag_rows[] = {
    {"--megatron", "FILE|--", "script, command line (behind --) or argument file of Megatron-LM, Megatron-DeepSpeed, "
                              "Megatron-Bridge or NeMo", "megatron-lm"},
    {"--nemo", "FILE", "YAML or overrides of NeMo or Megatron-Bridge", "nemo"},
    {"--torchtitan", "FILE", "TOML of torchtitan, or the command with it", "torchtitan"},
    {"--deepspeed", "FILE", "JSON of DeepSpeed, or the command with it; the network stands in front", "deepspeed"},
    {"--llm-foundry", "FILE", "YAML of llm-foundry", "llm-foundry"},
    {"--accelerate", "FILE", "YAML of Hugging Face accelerate, or the command with it; the network stands in front",
     "accelerate"},
};
// clang-format on

}  // namespace

std::span<const Framework> frameworks() { return framework_rows; }
std::span<const LaunchFlag> launch_flags() { return launch_flag_rows; }

const Framework* find_framework(std::string_view id) {
  const auto found = std::find_if(
      std::begin(framework_rows), std::end(framework_rows), [&](const Framework& row) { return row.id == id; });
  return found == std::end(framework_rows) ? nullptr : found;
}

}  // namespace stepcast::launch
