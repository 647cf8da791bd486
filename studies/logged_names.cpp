#include "studies/logged_names.h"

#include <algorithm>

namespace stepcast {
namespace {

// megatron/training/arguments.py; num_key_value_heads, topk, zero_stage and the checkpoint_ names are Megatron-DeepSpeed's.
constexpr ArgumentName megatron_names[] = {
    {Asked::layers, "num_layers"}, {Asked::layers, "encoder_num_layers"}, {Asked::hidden, "hidden_size"},
    {Asked::ffn_hidden, "ffn_hidden_size"}, {Asked::heads, "num_attention_heads"},
    {Asked::kv_heads, "num_query_groups"}, {Asked::kv_heads, "num_key_value_heads"},
    {Asked::grouped_queries, "group_query_attention"}, {Asked::head_dim, "kv_channels"},
    {Asked::sequence, "seq_length"}, {Asked::sequence, "encoder_seq_length"}, {Asked::vocabulary, "vocab_size"},
    {Asked::padded_vocabulary, "padded_vocab_size"}, {Asked::vocabulary_divisor, "make_vocab_size_divisible_by"},
    {Asked::gated_mlp, "swiglu"}, {Asked::untied, "untie_embeddings_and_output_weights"},
    {Asked::mamba_layers, "hybrid_override_pattern"}, {Asked::mamba_layers, "hybrid_layer_pattern"},
    {Asked::experts, "num_experts"}, {Asked::top_k, "moe_router_topk"}, {Asked::top_k, "topk"},
    {Asked::expert_ffn, "moe_ffn_hidden_size"}, {Asked::shared_ffn, "moe_shared_expert_intermediate_size"},
    {Asked::expert_layers, "moe_layer_freq"}, {Asked::capacity, "moe_expert_capacity_factor"},
    {Asked::mtp_layers, "mtp_num_layers"}, {Asked::latent, "multi_latent_attention"},
    {Asked::query_rank, "q_lora_rank"}, {Asked::key_rank, "kv_lora_rank"}, {Asked::nope_dim, "qk_head_dim"},
    {Asked::rope_dim, "qk_pos_emb_head_dim"}, {Asked::value_dim, "v_head_dim"},
    {Asked::micro_batch, "micro_batch_size"}, {Asked::global_batch, "global_batch_size"}, {Asked::world, "world_size"},
    {Asked::tp, "tensor_model_parallel_size"}, {Asked::tp, "model_parallel_size"},
    {Asked::pp, "pipeline_model_parallel_size"}, {Asked::cp, "context_parallel_size"},
    {Asked::ep, "expert_model_parallel_size"}, {Asked::etp, "expert_tensor_parallel_size"},
    {Asked::no_stages, "no_pipeline_parallel"}, {Asked::chunks, "num_virtual_stages_per_pipeline_rank"},
    {Asked::chunks, "virtual_pipeline_model_parallel_size"},
    {Asked::layers_per_chunk, "num_layers_per_virtual_pipeline_stage"}, {Asked::sequence_parallel, "sequence_parallel"},
    {Asked::zero, "zero_stage"}, {Asked::zero, "zero_optimization.stage"},
    {Asked::sharded_optimizer, "use_distributed_optimizer"}, {Asked::fully_sharded, "use_torch_fsdp2"},
    {Asked::fully_sharded, "use_megatron_fsdp"}, {Asked::fully_sharded, "use_custom_fsdp"},
    {Asked::sharding, "data_parallel_sharding_strategy"}, {Asked::recompute, "recompute_granularity"},
    {Asked::recompute_all, "checkpoint_activations"}, {Asked::recompute, "recompute_activations"},
    {Asked::recompute_method, "recompute_method"}, {Asked::recompute_layers, "recompute_num_layers"},
    {Asked::bf16, "bf16"}, {Asked::fp16, "fp16"}, {Asked::bf16, "bf16.enabled"}, {Asked::fp16, "fp16.enabled"},
    {Asked::fp8, "fp8_format"}, {Asked::fp8, "fp8"}, {Asked::fp8_recipe, "fp8_recipe"}, {Asked::fp4, "fp4_format"},
    {Asked::fp4, "fp4"}, {Asked::overlap_gradients, "overlap_grad_reduce"},
    {Asked::overlap_weights, "overlap_param_gather"}, {Asked::overlap_tensor, "tp_comm_overlap"},
    {Asked::overlap_stages, "overlap_p2p_comm"}, {Asked::no_overlap_stages, "no_overlap_p2p_communication"},
};

// NeMo 1 (examples/nlp/language_modeling/conf/megatron_gpt_config.yaml), NeMo 2 (trainer.strategy, model.config, data) and
// Megatron-Bridge (ConfigContainer: model, train, dataset, ddp, mixed_precision, comm_overlap).
constexpr ArgumentName nemo_names[] = {
    {Asked::layers, "model.num_layers"}, {Asked::layers, "model.config.num_layers"}, {Asked::layers, "num_layers"},
    {Asked::hidden, "model.hidden_size"}, {Asked::hidden, "hidden_size"}, {Asked::ffn_hidden, "model.ffn_hidden_size"},
    {Asked::ffn_hidden, "ffn_hidden_size"}, {Asked::heads, "model.num_attention_heads"},
    {Asked::heads, "num_attention_heads"}, {Asked::kv_heads, "model.num_query_groups"},
    {Asked::kv_heads, "num_query_groups"}, {Asked::head_dim, "model.kv_channels"}, {Asked::head_dim, "kv_channels"},
    {Asked::sequence, "model.encoder_seq_length"}, {Asked::sequence, "dataset.sequence_length"},
    {Asked::sequence, "dataset.seq_length"}, {Asked::sequence, "data.seq_length"},
    {Asked::sequence, "model.data.seq_length"}, {Asked::sequence, "model.seq_length"}, {Asked::sequence, "seq_length"},
    {Asked::sequence, "max_seq_length"}, {Asked::vocabulary, "model.vocab_size"},
    {Asked::vocabulary, "tokenizer.vocab_size"}, {Asked::vocabulary, "vocab_size"},
    {Asked::padded_vocabulary, "padded_vocab_size"}, {Asked::vocabulary_divisor, "make_vocab_size_divisible_by"},
    {Asked::gated_mlp, "model.gated_linear_unit"}, {Asked::gated_mlp, "gated_linear_unit"},
    {Asked::gated_mlp, "model.activation"}, {Asked::tied, "share_embeddings_and_output_weights"},
    {Asked::mamba_layers, "hybrid_override_pattern"}, {Asked::mamba_layers, "hybrid_layer_pattern"},
    {Asked::experts, "num_moe_experts"}, {Asked::top_k, "moe_router_topk"}, {Asked::expert_ffn, "moe_ffn_hidden_size"},
    {Asked::shared_ffn, "moe_shared_expert_intermediate_size"}, {Asked::expert_layers, "moe_layer_freq"},
    {Asked::capacity, "moe_expert_capacity_factor"}, {Asked::mtp_layers, "mtp_num_layers"},
    {Asked::latent, "multi_latent_attention"}, {Asked::query_rank, "q_lora_rank"}, {Asked::key_rank, "kv_lora_rank"},
    {Asked::nope_dim, "qk_head_dim"}, {Asked::rope_dim, "qk_pos_emb_head_dim"}, {Asked::value_dim, "v_head_dim"},
    {Asked::model_name, "factory"}, {Asked::model_name, "recipe"}, {Asked::micro_batch, "model.micro_batch_size"},
    {Asked::micro_batch, "train.micro_batch_size"}, {Asked::micro_batch, "data.micro_batch_size"},
    {Asked::micro_batch, "micro_batch_size"}, {Asked::global_batch, "model.global_batch_size"},
    {Asked::global_batch, "train.global_batch_size"}, {Asked::global_batch, "data.global_batch_size"},
    {Asked::global_batch, "global_batch_size"}, {Asked::world, "world_size"}, {Asked::nodes, "trainer.num_nodes"},
    {Asked::gpus_per_node, "trainer.devices"}, {Asked::tp, "tensor_model_parallel_size"},
    {Asked::pp, "pipeline_model_parallel_size"}, {Asked::cp, "context_parallel_size"},
    {Asked::ep, "expert_model_parallel_size"}, {Asked::etp, "expert_tensor_parallel_size"},
    {Asked::chunks, "virtual_pipeline_model_parallel_size"}, {Asked::sequence_parallel, "sequence_parallel"},
    {Asked::sharded_optimizer, "use_distributed_optimizer"}, {Asked::optimizer_name, "optim.name"},
    {Asked::fully_sharded, "use_megatron_fsdp"}, {Asked::fully_sharded, "use_custom_fsdp"},
    {Asked::fully_sharded, "fsdp"}, {Asked::sharding, "data_parallel_sharding_strategy"},
    {Asked::recompute, "activations_checkpoint_granularity"}, {Asked::recompute, "recompute_granularity"},
    {Asked::recompute_method, "activations_checkpoint_method"}, {Asked::recompute_method, "recompute_method"},
    {Asked::recompute_layers, "activations_checkpoint_num_layers"}, {Asked::recompute_layers, "recompute_num_layers"},
    {Asked::precision, "trainer.precision"}, {Asked::precision, "precision"}, {Asked::precision, "mixed_precision"},
    {Asked::bf16, "mixed_precision.bf16"}, {Asked::fp16, "mixed_precision.fp16"}, {Asked::bf16, "model.bf16"},
    {Asked::fp8, "model.fp8"}, {Asked::fp8, "mixed_precision.fp8"}, {Asked::fp8, "fp8"},
    {Asked::fp8_recipe, "fp8_recipe"}, {Asked::fp4, "mixed_precision.fp4"}, {Asked::fp4, "fp4"},
    {Asked::overlap_gradients, "overlap_grad_reduce"}, {Asked::overlap_gradients, "overlap_grad_sync"},
    {Asked::overlap_weights, "overlap_param_gather"}, {Asked::overlap_weights, "overlap_param_sync"},
    {Asked::overlap_tensor, "ub_tp_comm_overlap"}, {Asked::overlap_tensor, "tp_comm_overlap"},
    {Asked::overlap_stages, "overlap_p2p_comm"},
};

// torchtitan/config/job_config.py (2025) and config/configs.py (2026); the names before 2025-01 below them.
constexpr ArgumentName torchtitan_names[] = {
    {Asked::layers, "model_args.n_layers"}, {Asked::hidden, "model_args.dim"}, {Asked::heads, "model_args.n_heads"},
    {Asked::kv_heads, "model_args.n_kv_heads"}, {Asked::vocabulary, "model_args.vocab_size"},
    {Asked::sequence, "training.seq_len"}, {Asked::sequence, "training.max_context_length"},
    {Asked::model_name, "model.name"}, {Asked::model_flavor, "model.flavor"}, {Asked::model_name, "module"},
    {Asked::config_name, "config"}, {Asked::config_file, "job.config_file"},
    {Asked::micro_batch, "training.local_batch_size"}, {Asked::micro_batch, "training.batch_size"},
    {Asked::global_batch, "training.global_batch_size"}, {Asked::accumulation, "training.gradient_accumulation_steps"},
    {Asked::stage_batch, "parallelism.pipeline_parallel_microbatch_size"},
    {Asked::tokens_per_rank, "training.num_tokens_per_microbatch_per_dp_rank"},
    {Asked::tp, "parallelism.tensor_parallel_degree"}, {Asked::tp, "training.tensor_parallel_degree"},
    {Asked::pp, "parallelism.pipeline_parallel_degree"}, {Asked::pp, "experimental.pipeline_parallel_degree"},
    {Asked::cp, "parallelism.context_parallel_degree"}, {Asked::cp, "experimental.context_parallel_degree"},
    {Asked::ep, "parallelism.expert_parallel_degree"}, {Asked::etp, "parallelism.expert_tensor_parallel_degree"},
    {Asked::replicas, "parallelism.data_parallel_replicate_degree"},
    {Asked::replicas, "training.data_parallel_replicate_degree"},
    {Asked::shards, "parallelism.data_parallel_shard_degree"}, {Asked::shards, "training.data_parallel_shard_degree"},
    {Asked::shards, "training.data_parallel_degree"}, {Asked::schedule, "parallelism.pipeline_parallel_schedule"},
    {Asked::schedule, "experimental.pipeline_parallel_schedule"},
    {Asked::layers_per_chunk, "parallelism.pipeline_parallel_layers_per_stage"},
    {Asked::sequence_parallel, "parallelism.enable_sequence_parallel"},
    {Asked::keep_weights, "parallelism.fsdp_reshard_after_forward"}, {Asked::recompute, "activation_checkpoint.mode"},
    {Asked::recompute_option, "activation_checkpoint.selective_ac_option"},
    {Asked::precision, "training.mixed_precision_param"}, {Asked::converters, "model.converters"},
    {Asked::fp8, "float8.enable_float8_linear"}, {Asked::fp8_recipe, "quantize.linear.float8.recipe_name"},
    {Asked::overlap_tensor, "parallelism.enable_async_tensor_parallel"},
    {Asked::overlap_tensor, "experimental.enable_async_tensor_parallel"},
    {Asked::overlap_tensor, "compile.enable_async_tensor_parallel"},
};

// deepspeed/runtime/constants.py and config.py; programs name sequence length as they like.
constexpr ArgumentName deepspeed_names[] = {
    {Asked::layers, "num_layers"}, {Asked::layers, "num_hidden_layers"}, {Asked::hidden, "hidden_size"},
    {Asked::ffn_hidden, "intermediate_size"}, {Asked::heads, "num_attention_heads"},
    {Asked::kv_heads, "num_key_value_heads"}, {Asked::vocabulary, "vocab_size"}, {Asked::sequence, "seq_length"},
    {Asked::sequence, "seq_len"}, {Asked::sequence, "max_seq_len"}, {Asked::sequence, "max_seq_length"},
    {Asked::sequence, "model_max_length"}, {Asked::sequence, "block_size"}, {Asked::sequence, "cutoff_len"},
    {Asked::model_name, "model_name_or_path"}, {Asked::micro_batch, "train_micro_batch_size_per_gpu"},
    {Asked::micro_batch, "per_device_train_batch_size"}, {Asked::global_batch, "train_batch_size"},
    {Asked::accumulation, "gradient_accumulation_steps"}, {Asked::world, "world_size"},
    {Asked::pp, "pipeline_parallel_size"}, {Asked::pp, "num_stages"}, {Asked::tp, "tensor_parallel.autotp_size"},
    {Asked::zero, "zero_optimization.stage"}, {Asked::zero, "zero_stage"}, {Asked::bf16, "bf16.enabled"},
    {Asked::bf16, "bfloat16.enabled"}, {Asked::fp16, "fp16.enabled"}, {Asked::bf16, "bf16"}, {Asked::fp16, "fp16"},
    {Asked::recompute_all, "gradient_checkpointing"}, {Asked::overlap_gradients, "zero_optimization.overlap_comm"},
};

constexpr TrainingProgram training_programs[] = {
    {"megatron-lm", "Megatron-LM", megatron_names, "fp32", 0, 2, -1, true, "none", true, true, false},
    {"megatron-bridge", "Megatron-Bridge", nemo_names, "bf16", 0, 2, -1, true, "none", true, false, false},
    {"megatron-deepspeed", "Megatron-DeepSpeed", megatron_names, "fp32", 0, 1, -1, true, "none", false, false, false},
    {"nemo", "NeMo", nemo_names, "bf16", 0, 2, -1, true, "none", true, false, false},
    {"torchtitan", "torchtitan", torchtitan_names, "bf16", 8, 1, 3, false, "selective layer", false, false, true},
    {"deepspeed", "DeepSpeed", deepspeed_names, "fp32", 1, 1, -1, true, "none", false, false, false},
};

}  // namespace

const TrainingProgram* find_program(std::string_view framework) {
  const auto found = std::find_if(std::begin(training_programs), std::end(training_programs),
                                  [&](const TrainingProgram& row) { return row.framework == framework; });
  return found == std::end(training_programs) ? nullptr : found;
}

}  // namespace stepcast
