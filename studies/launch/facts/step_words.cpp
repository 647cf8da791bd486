#include "studies/launch/facts/step_words.h"

#include <algorithm>
#include <string>

#include "model/base/text.h"

namespace stepcast::launch {
namespace {

// clang-format off
/// Parts of names of what frameworks speed up, slow down or split.
constexpr std::string_view effect_words[] = {
    "overlap", "offload", "cuda_graph", "recompute", "checkpoint_activ", "fp8", "fp4", "float8", "parallel", "fusion",
    "fused", "moe_", "mtp", "window", "sparse", "lora", "peft", "delay", "defer", "compile", "attention_backend",
    "flash", "transformer_impl", "bucket", "accum_dtype", "communication_data_type", "main_grads", "profile", "deterministic", "tp_comm", "sharp", "rampup",
    "hierarchical", "dropout", "dispatcher", "grouped_gemm", "multi_latent", "reshard", "packed", "packing", "wgrad",
    "log_timers", "blocking", "checkpointing", "async", "curriculum", "batch_size_sched", "partition", "decoder_first",
    "decoder_last", "pipeline", "squared_relu", "account_for", "hybrid", "cross_entropy_loss_fusion", "timing_log",
    "straggler", "variable_seq", "nccl_ub", "symm_mem", "freeze", "calculate_per_token", "converters", "heterogeneous",
    "hetereogenous", "use_kitchen", "precision_aware", "layer_wise", "symmetric_ar", "high_priority_a2a",
    "mhc_connections", "linear_attention", "experimental_attention", "fp32_residual", "first_last_layers_bf16",
    "partial_activation", "custom_config", "custom_args", "swap_", "reuse_fp32", "ascend_", "coc_", "permutation_async", "padding_length", "no_pad_to",
    "neat_pack", "softcapping", "linear_qkv", "attention_mask_type", "transformer_timers", "layernorm_in_fp32",
    "loss_compute", "efficient_logits", "distribute_saved", "double_buffer", "cp_comm", "op_fuser", "ring_exchange",
    "tp_pp_dp_mapping", "max_seqlen_per_dp", "inprocess_restart",
};

/// Names that hold such a word and say nothing of time (or only of what another argument has switched on).
constexpr std::string_view without_effect[] = {
    "fp8_amax", "fp8_margin", "fp8_interval", "fp8_wgrad", "fp8_reduce_amax", "fp8_weight", "num_layers_at_",
    "fp4_param", "moe_aux_loss", "moe_z_loss", "moe_router_load", "moe_router_score", "moe_router_bias",
    "moe_router_topk_scaling", "moe_router_dtype", "moe_token_drop", "moe_input_jitter", "moe_per_layer",
    "tp_comm_bootstrap", "tp_comm_bulk", "tp_comm_overlap_ag", "tp_comm_overlap_rs", "tp_comm_split", "profile_",
    "profiling.", "profiler.", "save_", "ckpt_", "async_save", "checkpoint.", "checkpointing.", "straggler",
    "log_timers_to", "timing_log", "data_parallel_random", "data_parallel_size", "model_parallel_size",
    "pipeline_model_parallel_comm", "pipeline_model_parallel_split", "encoder_", "transformer_pipeline_model", "mask_",
    "activation_checkpoint.preserve", "activation_checkpoint.determinism", "activation_checkpoint.debug",
    "activation_checkpoint.early", "offload_fraction", "optimizer_offload_fraction", "moe_router_pre_softmax",
    "moe_router_enable_expert_bias", "mtp_loss", "lora_rank",
    "compile.components", "compile.backend", "debug.deterministic_warn", "deterministic_warn", "fused_padded",
    "use_fused", "exp_manager", "async_mode", "partition_id", "straggler_", "attention_dropout_",
    "zero_optimization.stage", "inference_", "rl_", "async_ckpt", "async_strategy", "cuda_graph_modules",
    "cuda_graph_use_single", "cuda_graph_warmup", "cuda_graph_scope", "activation_offload_fraction",
    "cpu_offloading_activations", "cpu_offloading_weights", "cpu_offloading_num", "min_offloaded", "offload_modules",
    "moe_combine_bwd", "moe_dispatch_fwd", "moe_flex_dispatcher", "moe_hybridep", "moe_paged_stash", "fp4_recipe",
    "fp8_recipe", "relative_attention", "throughput_window", "loss_scale_window", "torch_fsdp2_reshard",
    "kitchen_attention_backend", "gdp_num", "linear_attention_type",
};

/// What the stacks have anyway, and defaults that Megatron-LM prints: name and value.
constexpr std::pair<std::string_view, std::string_view> usual_values[] = {
    {"masked_softmax_fusion", "true"}, {"bias_gelu_fusion", "true"}, {"bias_swiglu_fusion", "true"},
    {"bias_dropout_fusion", "true"}, {"bias_activation_fusion", "true"}, {"bias_dropout_add_fusion", "true"},
    {"gradient_accumulation_fusion", "true"}, {"rope_fusion", "true"}, {"apply_rope_fusion", "true"},
    {"cross_entropy_loss_fusion", "true"}, {"attention_backend", "auto"}, {"attention_backend", "fused"},
    {"attention_backend", "flash"}, {"attention_backend", "attnbackend.auto"}, {"use_flash_attn", "true"},
    {"deepspeed_activation_checkpointing", "true"}, {"use_flash_attn_v2", "true"},
    {"transformer_impl", "transformer_engine"}, {"moe_token_dispatcher_type", "alltoall"}, {"moe_grouped_gemm", "true"},
    {"moe_permute_fusion", "true"}, {"overlap_p2p_comm_warmup_flush", "false"}, {"cross_entropy_fusion_impl", "native"},
    {"calculate_per_token_loss", "false"}, {"compile.enable", "true"},
    {"masked_softmax_fusion", "1"}, {"delay_grad_reduce", "true"}, {"delay_param_gather", "true"},
    {"batch_p2p_comm", "true"}, {"deallocate_pipeline_outputs", "true"}, {"parallel_output", "true"},
    {"scatter_gather_tensors_in_pipeline", "true"}, {"log_timers", "false"}, {"fused_linear", "true"},
    {"use_fused_rmsnorm", "true"}, {"variable_seq_lengths", "false"}, {"contiguous_gradients", "true"},
    {"wgrad_deferral_limit", "0"}, {"parallelism.context_parallel_load_balancer", "headtail"},
    {"parallelism.spmd_backend", "spmd_types"}, {"distributed_backend", "nccl"},
    {"moe_use_legacy_grouped_gemm", "false"}, {"zero_optimization.contiguous_gradients", "true"},
    {"zero_optimization.reduce_scatter", "true"}, {"zero_optimization.allgather_partitions", "true"},
    {"async_tensor_model_parallel_allreduce", "true"}, {"gradient_reduce_div_fusion", "true"},
    {"use_layer_wise_param_layout", "true"}, {"attn_impl", "flash"},
    {"attn_impl", "flash_attn"}, {"attn_implementation", "flash_attention_2"}, {"flash_attention", "true"},
    {"use_flash_attention_2", "true"}, {"use_flash_attention", "true"}, {"cp_comm_type", "p2p"}, {"cp_comm_type", "['p2p']"}, {"attention_backend",
        "attnbackend.flash"}, {"attention_backend", "attnbackend.fused"},
};
// clang-format on

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

bool is_off(std::string_view value) {
  constexpr std::string_view off[] = {
      "", "false", "none", "null", "0", "0.0", "[]", "{}", "no", "disabled", "-1", "1", "~", "()"};
  return std::find(std::begin(off), std::end(off), lower_case(value)) != std::end(off);
}

bool says_none(std::string_view value) {
  const std::string plain = lower_case(value);
  return plain.empty() || plain == "none" || plain == "null" || plain == "~" || plain == "auto";
}

bool is_switched_off(std::string_view value) {
  const std::string plain = lower_case(value);
  return plain == "false" || plain == "0" || plain == "no" || plain == "off";
}

bool is_usual_value(std::string_view name, std::string_view value) {
  const std::string plain = lower_case(value);
  const std::string_view part = last_part(name);
  return std::any_of(std::begin(usual_values), std::end(usual_values),
      [&](const auto& row) { return (row.first == name || row.first == part) && row.second == plain; });
}

bool may_change_step(std::string_view name, std::string_view value) {
  const std::string_view part = last_part(name);
  for (const std::string_view word : without_effect)
    if (name.starts_with(word) || part.starts_with(word)) return false;
  if (is_usual_value(name, value)) return false;
  const bool named = std::any_of(std::begin(effect_words), std::end(effect_words),
      [&](std::string_view word) { return name.find(word) != name.npos; });
  return named && !is_off(value);
}

}  // namespace stepcast::launch
