#include "studies/records/stack_rule.h"

#include "studies/run/usual_software.h"

namespace stepcast::records {
namespace {

// Months are those of the stacks' own `from` and `until`. Megatron-LM attained sequence parallelism and selective
// recomputation in May 2022 (arXiv 2205.05198), Megatron-Core with Transformer Engine became its body in 2023.
// torchtitan's shipped configurations left torch.compile off; its benchmarks since December 2024 say where it is on
// (pytorch/torchtitan benchmarks/). fully_shard and torchtitan's models are of mid-2024 (pytorch/torchtitan's first
// benchmark of August 2024): what lay in shards before was FSDP1, operator by operator, whose attention kernels and
// overlap are those of llm-foundry's row. Where nothing known is named, what is usual is taken
// (studies/run/usual_software.h); of the records in fp16 since May 2022 106 of 116 are of Megatron-DeepSpeed;
// of the dense ones in narrower types whose weights are whole, which need Transformer Engine, all but one are of NeMo
// and Megatron-Bridge (studies/records/runs.json, 2026-11). With experts those are too, but their recipes have switches
// that are not taken for usual: such records stay with Megatron-Core.
constexpr StackRule stack_rule_rows[] = {
    {"AutoModel", "", "pytorch-fsdp"},
    {"torchtitan", "", "pytorch-fsdp-eager", "-eager"},
    {"torchtitan", "2024-12", "pytorch-fsdp-eager"},
    {"torchtitan", "", "pytorch-fsdp"},
    {"PyTorch FSDP", "", "pytorch-fsdp"},
    {"PyTorch, one GPU, autocast", "", "pytorch-autocast"},
    {"PyTorch, one GPU, torch.compile", "", "pytorch-compile"},
    {"PyTorch, one GPU", "", "pytorch"},
    {"llm-foundry", "", "llm-foundry"},
    {"Sailor", "", "deepspeed-zero"},
    {"Megatron-DeepSpeed", "2022-02", "megatron-deepspeed"},
    {"Megatron-DeepSpeed", "2023-01", "megatron-deepspeed-2022"},
    {"Megatron-DeepSpeed", "", "megatron-deepspeed"},
    {"DeepSpeed + Megatron-LM", "", "megatron-deepspeed"},
    {"DeepSpeed", "", "deepspeed-zero"},
    {"PyTorch, LAMB", "", "nvidia-bert"},
    {"InternEvo", "", "internevo"},
    {"nanotron", "", "nanotron"},
    {"Primus", "", "megatron-core"},
    {"Megatron-Bridge", "", "nemo"},
    {"NeMo", "", "nemo"},
    {"MaxText", "", "jax"},
    {"Paxml", "", "jax"},
    {"JAX", "", "jax"},
    {"Megatron-LM", "2022-05", "megatron-2020"},
    {"Megatron-LM", "2023-07", "megatron-2022"},
    {"Megatron-LM", "", "megatron-core"},
    {"", "2024-06", "llm-foundry", "", "", true},
    {"", "2024-12", "pytorch-fsdp-eager", "", "", true},
    {"", "", usual_sharded_software, "", "", true},
    {"", "", "nemo", "", "fp8", false, true},
    {"", "", "nemo", "", "mxfp8", false, true},
    {"", "", "nemo", "", "nvfp4", false, true},
    {"", "2022-05", "megatron-2020"},
    {"", "", "megatron-deepspeed", "", "fp16"},
    {"", "2023-07", "megatron-2022"},
    {"", "", usual_software},
};

bool fits(const StackRule& rule, const Run& run) {
  const bool named = rule.software.empty() || run.software.value_or("").find(rule.software) != std::string::npos;
  const bool in_time = rule.until.empty() || (!run.date.empty() && run.date < rule.until);
  const bool laid_so = !rule.sharded || run.parallel.zero_stage.value_or(0) == 3;
  const bool as_plain = !rule.dense || (!run.model.experts && run.model.attention.value_or("") != "hybrid");
  const bool in_precision = rule.precision.empty() || run.precision.value_or("") == rule.precision;
  return named && in_time && laid_so && as_plain && in_precision && run.id.find(rule.id) != std::string::npos;
}

}  // namespace

std::span<const StackRule> stack_rules() { return stack_rule_rows; }

RunStack stack_of(const Run& run) {
  for (const StackRule& rule : stack_rule_rows)
    if (fits(rule, run)) return {std::string(rule.stack), rule.software.empty()};
  return {std::string(stack_rule_rows[std::size(stack_rule_rows) - 1].stack), true};
}

}  // namespace stepcast::records
