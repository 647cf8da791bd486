// The keys are those of transformers' PretrainedConfig (src/transformers/configuration_utils.py) and of the
// configuration classes of the families read here (src/transformers/models/<family>/configuration_<family>.py); what
// they do was looked up in the modeling files beside them.
#include "model/network/hf/known_keys.h"

#include <algorithm>
#include <string_view>

namespace stepcast::detail {
namespace {

constexpr const char* nothing = "null false 0 [] {}";

// clang-format off
constexpr KnownKeys rows[] = {
    {"", "*", "names, versions and classes of the checkpoint's files",
     "model_type _name_or_path name_or_path transformers_version auto_map tokenizer_class prefix finetuning_task "
     "task_specific_params problem_type id2label label2id num_labels _commit_hash custom_pipelines base_model_name"},
    {"", "*", "the number type of the checkpoint: --precision says what a step computes in",
     "torch_dtype dtype quantization_config compression_config use_bfloat16 torchscript"},
    {"", "*", "token ids", "bos_token_id eos_token_id pad_token_id unk_token_id sep_token_id cls_token_id mask_token_id "
     "decoder_start_token_id forced_bos_token_id forced_eos_token_id suppress_tokens begin_suppress_tokens "
     "bad_words_ids"},
    {"", "*", "the first values of weights", "initializer_range initializer_factor init_method_std init_std"},
    {"", "*", "generation, not training",
     "use_cache cache_implementation temperature top_k top_p typical_p do_sample early_stopping num_beams "
     "num_beam_groups num_return_sequences max_length min_length length_penalty diversity_penalty repetition_penalty "
     "no_repeat_ngram_size encoder_no_repeat_ngram_size exponential_decay_length_penalty remove_invalid_values "
     "output_scores return_dict_in_generate is_decoder"},
    {"", "*", "what a forward pass hands out", "return_dict output_attentions output_hidden_states "
     "output_router_logits"},
    {"", "*", "which kernel transformers takes: --stack says that here",
     "_attn_implementation attn_implementation _attn_implementation_autoset _flash_attn_2_enabled attention_softmax_in_fp32 "
     "masked_softmax_fusion bias_dropout_fusion slow_but_exact gradient_checkpointing"},
    {"", "*", "how the checkpoint was split over GPUs", "pretraining_tp ep_size tensor_parallel"},
    {"", "*", "constants inside a norm", "rms_norm_eps layer_norm_eps layer_norm_epsilon norm_eps norm_epsilon"},
    {"", "*", "angles of rotary positions; the length of pre-training is read from them",
     "rope_theta rope_scaling rope_parameters rope_interleave rotary_emb_base rope_local_base_freq"},
    {"", "*", "how much of a head turns: no weights, next to no FLOPs",
     "partial_rotary_factor rotary_pct rotary_percent rope_percent rotary_dim"},
    {"", "*", "weights of losses", "router_aux_loss_coef aux_loss_alpha seq_aux router_z_loss_coef z_loss_coefficient"},
    {"", "*", "which experts a router picks and how their results are scaled, not how many",
     "norm_topk_prob routed_scaling_factor scoring_func n_group topk_group router_jitter_noise topk_method"},
    {"", nothing, "parts that the file says it does not have",
     "is_encoder_decoder add_cross_attention cross_attention_hidden_size tie_encoder_decoder chunk_size_feed_forward "
     "pruned_heads layerdrop sliding_window use_sliding_window max_window_layers layer_types attention_chunk_size "
     "num_local_experts num_experts n_routed_experts n_shared_experts num_shared_experts num_experts_per_tok "
     "shared_expert_intermediate_size moe_intermediate_size first_k_dense_replace num_nextn_predict_layers "
     "vision_config audio_config text_config attention_bias qkv_bias mlp_bias use_qk_norm qk_norm head_dim n_inner "
     "no_rope_layers moe_layers tf_legacy_loss attn_logit_softcapping final_logit_softcapping"},
    {"", "1", "one of it is none", "num_local_experts"},

    {"qwen2 qwen2-moe", "true", "as its class has them", "attention_bias qkv_bias"},
    {"qwen3 qwen3-moe", "true", "as its class has it", "use_qk_norm qk_norm"},
    {"deepseek", "*", "as many as heads, or the size of the turned part: latent attention has neither",
     "num_key_value_heads head_dim qk_head_dim"},
    {"granite", "*", "factors on what passes, without weights",
     "attention_multiplier embedding_multiplier logits_scaling residual_multiplier"},
    {"smollm3", "*", "which layers turn no positions, without weights", "no_rope_layers no_rope_layer_interval"},
    {"gpt-oss", "*", "a bound on activations, and the first of two lengths", "swiglu_limit initial_context_length"},
    {"llama4", "*", "norms and scales without weights, token ids",
     "use_qk_norm attn_temperature_tuning floor_scale attn_scale boi_token_index eoi_token_index image_token_index"},
    {"llama4", "false", "as its class has them", "tie_word_embeddings for_llm_compressor"},
    {"gpt2", "*", "as n_positions; parts of classifiers; scales of scores",
     "n_ctx summary_activation summary_first_dropout summary_proj_to_labels summary_type summary_use_proj "
     "scale_attn_weights scale_attn_by_inverse_layer_idx reorder_and_upcast_attn"},
    {"bloom", "*", "which sum a residual takes; how biases are added; sizes that others tell",
     "apply_residual_connection_post_layernorm skip_bias_add skip_bias_add_qkv offset_alibi n_embed"},
    {"gpt-neox", "*", "parts of classifiers", "classifier_dropout"},
    {"phi3", "*", "the first of two lengths", "original_max_position_embeddings"},
    {"gemma", "*", "its class goes by hidden_activation", "hidden_act"},
    {"opt", "true", "as its class has them", "enable_bias layer_norm_elementwise_affine"},
    {"opt", "false", "as its class has it", "_remove_final_layer_norm"},
    {"opt", "*", "dropout inside the MLP, which dropout tells", "activation_dropout"},
};
// clang-format on

/// Whether one of the words, parted by blanks, is this.
bool lists(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

}  // namespace

bool leaves_layers_alone(const std::string& family, const JsonObject::UnreadKey& key) {
  return std::ranges::any_of(rows, [&](const KnownKeys& row) {
    const bool here = *row.family == '\0' || lists(row.family, family);
    const bool harmless = row.values == std::string_view("*") || lists(row.values, key.value);
    return here && harmless && lists(row.keys, key.key);
  });
}

}  // namespace stepcast::detail
