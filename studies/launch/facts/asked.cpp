#include "studies/launch/facts/asked.h"

#include <algorithm>
#include <array>

namespace stepcast::launch {
namespace {

// clang-format off
/// In the order of the enumeration.
constexpr auto asked_names = std::to_array<std::string_view>({
    "layers", "hidden", "ffn_hidden", "heads", "kv_heads", "grouped_queries", "one_kv_head", "head_dim", "sequence",
    "vocabulary",
    "padded_vocabulary", "vocabulary_divisor", "tokenizer", "max_positions", "norm", "activation", "gated_mlp",
    "squared_relu", "positions", "no_positions", "rotary", "linear_bias", "no_linear_bias", "qkv_bias", "qk_norm",
    "parallel_block", "shared_norm", "embedding_norm", "attention_dropout", "hidden_dropout", "untied", "tied", "decoder_layers",
    "decoder_sequence",
    "layer_pattern", "mtp_pattern",
    "attention_variant", "index_top_k", "index_heads", "index_dim", "index_every", "linear_layers", "linear_taps", "linear_key_dim", "linear_key_heads", "linear_value_dim",
    "linear_value_heads", "attention_gate", "mixer_heads", "mixer_head_dim", "mixer_state", "mixer_groups",
    "expert_latent", "softmax_type",
    "experts", "top_k", "expert_ffn", "shared_ffn", "shared_gate", "router_bias", "expert_groups",
    "top_groups", "expert_layers", "window", "window_layers", "capacity",
    "mtp_layers", "latent", "query_rank", "key_rank", "nope_dim", "rope_dim", "value_dim", "model_name", "model_flavor",
    "config_file", "config_name", "lora_rank", "expansion",
    "micro_batch", "global_batch", "accumulation", "stage_batch", "micro_batches", "tokens_per_rank",
    "world", "nodes", "gpus_per_node", "tp", "pp", "cp", "ep", "etp", "replicas", "shards", "shard_ranks", "no_stages",
    "chunks", "layers_per_chunk", "schedule", "layout", "first_layers", "last_layers", "embedding_as_layer",
    "loss_as_layer", "context_kind", "ulysses", "stages_inside", "sequence_parallel", "engine",
    "data_parallel",
    "zero", "sharded_optimizer", "fully_sharded", "sharding", "optimizer_name", "keep_weights", "offload_weights",
    "offload_optimizer", "trained_whole",
    "recompute", "recompute_all", "recompute_method", "recompute_layers", "recompute_option", "recompute_modules",
    "no_selective",
    "bf16", "fp16", "fp8", "fp8_recipe", "fp4", "precision", "converters", "plain_precision", "wide_gradients",
    "narrow_gradients", "gradient_type", "weight_type", "loss", "loss_pieces",
    "overlap_gradients", "overlap_weights", "overlap_tensor", "overlap_stages", "no_overlap_stages",
    "compiled",
});
// clang-format on
static_assert(asked_names.size() == static_cast<std::size_t>(Asked::compiled) + 1);

}  // namespace

std::string_view asked_name(Asked asked) { return asked_names[static_cast<std::size_t>(asked)]; }

std::optional<Asked> asked_of(std::string_view name) {
  const auto found = std::find(asked_names.begin(), asked_names.end(), name);
  if (found == asked_names.end()) return std::nullopt;
  return static_cast<Asked>(found - asked_names.begin());
}

}  // namespace stepcast::launch
