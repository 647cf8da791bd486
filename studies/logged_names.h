// What the arguments of training programs mean: a table per program, and what is known of the rest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace stepcast {

/// What a run record asks of a log. Several names may answer one question.
enum class Asked : std::uint8_t {
  layers,
  hidden,
  ffn_hidden,
  heads,
  kv_heads,
  head_dim,
  sequence,
  vocabulary,
  padded_vocabulary,
  vocabulary_divisor,
  gated_mlp,
  untied,
  tied,
  mamba_layers,
  grouped_queries,
  experts,
  top_k,
  expert_ffn,
  shared_ffn,
  expert_layers,
  capacity,
  mtp_layers,
  latent,
  query_rank,
  key_rank,
  nope_dim,
  rope_dim,
  value_dim,
  model_name,
  model_flavor,
  config_file,
  config_name,
  micro_batch,
  global_batch,
  accumulation,
  stage_batch,
  tokens_per_rank,
  world,
  nodes,
  gpus_per_node,
  tp,
  pp,
  cp,
  ep,
  etp,
  replicas,
  shards,
  no_stages,
  chunks,
  layers_per_chunk,
  schedule,
  sequence_parallel,
  zero,
  sharded_optimizer,
  fully_sharded,
  sharding,
  optimizer_name,
  keep_weights,
  recompute,
  recompute_all,
  recompute_method,
  recompute_layers,
  recompute_option,
  no_selective,
  bf16,
  fp16,
  fp8,
  fp8_recipe,
  fp4,
  precision,
  converters,
  plain_precision,
  overlap_gradients,
  overlap_weights,
  overlap_tensor,
  overlap_stages,
  no_overlap_stages,
};

/// `name` is whole ("training.seq_len"), or its last part where nested names end in it ("tensor_model_parallel_size").
/// Earlier rows of one question go first.
struct ArgumentName {
  Asked asked;
  std::string_view name;
};

/// What a program does where it is told nothing.
struct TrainingProgram {
  std::string_view framework;  ///< as TrainingLog::framework
  std::string_view software;   ///< as the stack rules know it (validation/stack_rule.h)
  std::span<const ArgumentName> names;
  std::string_view precision;       ///< without any word about it
  std::int64_t micro_batch, top_k;  ///< 0: it must be told
  int zero;                         ///< -1: asked of the arguments
  bool tied;                        ///< embeddings and LM head
  std::string_view recompute;
  bool expert_tp;          ///< experts are split like the rest over tp, unless told otherwise
  bool quiet_overlap;      ///< what is not asked for does not overlap (Megatron's flags); else the stack's habit
  bool sequence_parallel;  ///< beside tp without a word
};
const TrainingProgram* find_program(std::string_view framework);

/// Might it change the step time? By words of its name ("overlap", "fp8", "offload"), unless its value is off or what
/// everybody's is.
bool may_change_step(std::string_view name, std::string_view value);

/// "false", "none", "0", "": nothing is asked for.
bool is_off(std::string_view value);

}  // namespace stepcast
