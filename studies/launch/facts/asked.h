// What a forecast asks of a launch. The arguments of every framework answer in these words: its table
// (arguments/*.json) says which argument answers which question.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepcast::launch {

// clang-format off
enum class Asked : std::uint8_t {
  // what is trained
  layers, hidden, ffn_hidden, heads, kv_heads, grouped_queries, one_kv_head, head_dim, sequence, vocabulary,
  padded_vocabulary,
  vocabulary_divisor, tokenizer, max_positions, norm, activation, gated_mlp, squared_relu, positions, no_positions,
  rotary, linear_bias, no_linear_bias, qkv_bias, qk_norm, parallel_block, shared_norm, embedding_norm,
  attention_dropout,
  hidden_dropout, untied, tied, decoder_layers, decoder_sequence, layer_pattern, mtp_pattern, attention_variant, index_top_k, index_heads, index_dim, index_every,
  linear_layers, linear_taps,
  linear_key_dim, linear_key_heads,
  linear_value_dim, linear_value_heads, attention_gate, mixer_heads,
  mixer_head_dim, mixer_state, mixer_groups, expert_latent, softmax_type, experts, top_k, expert_ffn, shared_ffn,
  shared_gate, router_bias,
  expert_groups, top_groups, expert_layers, window, window_layers, capacity, mtp_layers, latent, query_rank, key_rank,
  nope_dim, rope_dim, value_dim, model_name,
  model_flavor, config_file, config_name, lora_rank, expansion,  // MLP width over hidden size (llm-foundry)
  // batch
  micro_batch, global_batch, accumulation, stage_batch, micro_batches, tokens_per_rank,
  // where: ranks and axes
  world, nodes, gpus_per_node, tp, pp, cp, ep, etp, replicas, shards, shard_ranks, no_stages, chunks, layers_per_chunk,
  schedule, layout, first_layers, last_layers, embedding_as_layer, loss_as_layer, context_kind, ulysses, stages_inside,
  sequence_parallel, engine,  // what runs it where a program has several: DEEPSPEED, FSDP, MEGATRON_LM
  data_parallel,
  // homes
  zero, sharded_optimizer, fully_sharded, sharding, optimizer_name, keep_weights, offload_weights, offload_optimizer,
  trained_whole,
  // recomputation
  recompute, recompute_all, recompute_method, recompute_layers, recompute_option, recompute_modules, no_selective,
  // number types
  bf16, fp16, fp8, fp8_recipe, fp4, precision, converters, plain_precision, wide_gradients, narrow_gradients,
  gradient_type, weight_type,
  // the loss: which, and in how many pieces
  loss, loss_pieces,
  // what runs beside what
  overlap_gradients, overlap_weights, overlap_tensor, overlap_stages, no_overlap_stages, compiled,
};
// clang-format on

/// Read so that a warning can name it; no forecast follows it, and no plan says it.
constexpr bool is_offload(Asked asked) { return asked == Asked::offload_weights || asked == Asked::offload_optimizer; }

/// The question whose answer is the matrices that are trained whole beside adapters: no plan says it either.
constexpr bool is_beside_plan(Asked asked) { return is_offload(asked) || asked == Asked::trained_whole; }

/// The word of the tables for it: "vocabulary_divisor".
std::string_view asked_name(Asked asked);
/// Nothing where no question has that name.
std::optional<Asked> asked_of(std::string_view name);

}  // namespace stepcast::launch
