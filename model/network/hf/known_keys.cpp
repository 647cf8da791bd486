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
     "model_type architectures _name_or_path name_or_path transformers_version auto_map tokenizer_class prefix finetuning_task "
     "task_specific_params transformers.js_config problem_type id2label label2id num_labels _num_labels sentence_transformers _commit_hash custom_pipelines base_model_name "
     "is_composition"},
    {"", "*", "the number type of the checkpoint: --precision says what a step computes in",
     "torch_dtype dtype quantization_config compression_config use_bfloat16 torchscript"},
    {"", "{...}", "the same, as files of MLX tell it beside quantization_config (mlx-lm, utils.py, save_config)",
     "quantization"},
    {"", "*", "token ids", "bos_token_id eos_token_id pad_token_id unk_token_id sep_token_id cls_token_id mask_token_id "
     "decoder_start_token_id forced_bos_token_id forced_eos_token_id suppress_tokens begin_suppress_tokens "
     "bad_words_ids forced_decoder_ids eof_token_id eol_token_id img_token_id"},
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
    {"", "*", "how it was trained", "training_steps training_tokens"},
    {"", "*", "how positions were stretched; the first of two lengths", "original_max_position_embeddings"},
    {"", "*", "what a class gave out once", "output_past"},
    {"", "*", "token ids of images and videos", "image_token_id video_token_id vision_start_token_id "
     "vision_end_token_id boi_token_index eoi_token_index image_token_index media_placeholder_token_id "
     "video_placeholder ignore_index boi_token_id eoi_token_id audio_token_id"},
    {"eurobert", "*", "how a class that sorts texts pools them", "clf_pooling"},
    {"", "*", "how a serving engine keeps states and logits", "mamba_ssm_dtype mamba_ssm_cache_dtype num_logits_to_keep logits_to_keep "
     "calc_logits_for_entire_prompt"},
    {"", "*", "which kernels its class calls", "use_mamba_kernels"},
    {"", "*", "the first values and the bounds of a mixer's time steps",
     "time_step_floor time_step_max time_step_min time_step_limit time_step_rank rescale_prenorm_residual "
     "A_initializer_range"},
    {"", "*", "whether the residual is summed in fp32; --stack says what software does", "residual_in_fp32"},
    {"", "*", "a factor on scores, without weights", "query_pre_attn_scalar logit_scale"},

    {"vision", "*", "which GELU; positions that turn, without weights; how pictures and films are cut; parts of a checkpoint "
     "that its class does not run", "hidden_act hidden_activation tokens_per_second image_size init_pos_emb_time merge_type "
     "mm_hidden_size mm_projector_type pos_emb_type projector_hidden_act projector_ln_eps video_attn_type "
     "position_embedding_type rope_mode vision_segment_max_frames vocab_size max_position_embeddings image_seq_length "
     "video_seq_length default_output_length global_head_dim vision_use_head attention_dropout hidden_dropout dropout "
     "initializer_factor spatial_patch_size tie_word_embeddings"},
    {"vision", "*", "how much is dropped, how weights begin, how pictures are cut", "drop_path_rate projector_dropout "
     "projection_dropout vision_feature_select_strategy layer_scale_init_value num_image_tokens num_positions size "
     "max_image_size use_base_siglip supported_aspect_ratios hidden_dropout_prob"},
    {"sound", "*", "dropout, the first values of weights, a scale of what goes in, words that nobody reads, cuts",
     "activation_dropout attention_dropout dropout encoder_layerdrop layerdrop scale_embedding vocab_size "
     "chunk_length max_position_embeddings num_hidden_layers use_cache is_encoder_decoder"},
    {"vision", "-1 true", "as its class has them", "vision_feature_layer use_absolute_position_embeddings"},
    {"vision", "false", "as its class has it", "multi_modal_projector_bias"},
    {"clip siglip", "*", "its texts have no table of logits", "tie_word_embeddings"},
    {"decilm", "*", "of blocks that block_configs tells", "num_key_value_heads intermediate_size mlp_bias"},
    {"minimax-m3", "*", "bounds of a gate, the offset of a norm's scale, images", "swiglu_alpha swiglu_limit use_gemma_norm "
     "img_token_compression_config image_grid_pinpoints image_seq_length multimodal_projector_bias num_reward_heads "
     "process_image_mode projector_hidden_act vision_feature_layer vision_feature_select_strategy projector_hidden_size "
     "video_token_index"},
    {"gemma4", "*", "token ids; how many tokens an image has; the table of inputs that the file's layers do not have",
     "boa_token_id eoa_token_id eoa_token_index vision_soft_tokens_per_image vocab_size_per_layer_input audio_seq_length "
     "audio_ms_per_token"},
    {"gemma4", "\"vision\" false", "among an image's tokens alone", "use_bidirectional_attention"},
    {"gemma4", nothing, "experts that the file does not have", "expert_intermediate_size top_k_experts"},
    {"deepseek-v4", "*", "constants of the mixing of streams, bounds of a gate, the number type of experts, angles",
     "hc_eps swiglu_limit expert_dtype compress_rope_theta hidden_act"},
    {"bert bert-masked esm mpnet-model mpnet-masked albert-masked gte-new modernbert vit roberta-masked vit-model vit-mae dinov2 electra deberta-model deberta-masked", "*", "dropout; where the loss is taken; how a checkpoint is used",
     "attention_probs_dropout_prob hidden_dropout_prob attention_dropout embedding_dropout mlp_dropout classifier_dropout "
     "position_embedding_type directionality pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers "
     "pooler_size_per_head pooler_type classifier_pooling classifier_activation decoder_bias deterministic_flash_attn "
     "global_rope_theta local_rope_theta hidden_activation initializer_cutoff_factor reference_compile "
     "repad_logits_with_grad sparse_pred_ignore_index sparse_prediction encoder_stride head_dim tie_word_embeddings"},
    {"t5 whisper flux wan bart marian mbart m2m100 blenderbot t5-encoder umt5 umt5-encoder dit sd3 pixart hunyuan-video qwen-image cogvideox ltx-video flux2 chroma lumina2 z-image wan-own", "*", "dropout, positions without weights, training of speech, how a checkpoint is used",
     "dropout_rate dropout attention_dropout activation_dropout activation_function relative_attention_max_distance "
     "n_positions output_past is_gated_act dense_act_fn encoder_layerdrop decoder_layerdrop scale_embedding "
     "num_hidden_layers apply_spec_augment mask_time_prob mask_time_length mask_time_min_masks mask_feature_prob "
     "mask_feature_length mask_feature_min_masks max_source_positions median_filter_width use_weighted_layer_sum "
     "classifier_proj_size lang_ids _class_name _diffusers_version axes_dims_rope patch_size eps rope_max_seq_len "
     "tie_word_embeddings"},
    {"whisper t5 bart marian mbart m2m100 blenderbot umt5 t5-encoder umt5-encoder", "true", "as its class has it", "is_encoder_decoder"},
    {"qwen2 qwen2-moe", "true", "as its class has them", "attention_bias qkv_bias"},
    {"qwen3 qwen3-moe", "true", "as its class has it", "use_qk_norm qk_norm"},
    {"deepseek mistral", "*", "as many as heads, or the size of the turned part: latent attention has neither",
     "num_key_value_heads head_dim qk_head_dim"},
    {"granite", "*", "factors on what passes, without weights",
     "attention_multiplier embedding_multiplier logits_scaling residual_multiplier"},
    {"smollm3", "*", "which layers turn no positions, without weights", "no_rope_layers no_rope_layer_interval"},
    {"gpt-oss", "*", "a bound on activations, and the first of two lengths", "swiglu_limit initial_context_length"},
    {"llama4", "*", "norms and scales without weights, token ids",
     "use_qk_norm attn_temperature_tuning floor_scale attn_scale boi_token_index eoi_token_index image_token_index"},
    {"deepseek-sparse", "*", "as many as heads, or the size of the turned part: latent attention has neither",
     "num_key_value_heads head_dim qk_head_dim"},
    {"deepseek-sparse", "*", "which layers take over a choice of keys, which indexer_types tells; how positions turn; the "
     "router's number type", "index_share_for_mtp_iteration index_skip_topk_offset index_topk_freq index_topk_pattern "
     "indexer_rope_interleave moe_router_dtype"},
    {"mamba", "*", "its activation, the norm of its class, its expansion", "hidden_act rms_norm expand time_step_scale "
     "time_step_init_scheme mixer_rms_eps use_mambapy use_falcon_mambapy d_inner d_state fused_add_norm "
     "pad_vocab_size_multiple ssm_cfg"},
    {"falcon", "*", "how it is counted elsewhere", "ffn_hidden_size "
     "apply_residual_connection_post_layernorm parallel_attn multi_query n_head_kv ff_factor"},
    {"phi3", "*", "angles, and how many positions a server takes at once", "full_attn_mod interpolate_factor"},
    {"phi3", "false", "as its class has it", "lm_head_bias"},
    {"cohere cohere2", "*", "as its class has them; how the files were split",
     "order_of_interleaved_layers position_embedding_type use_gated_activation use_parallel_block use_parallel_embedding "
     "use_embedding_sharing rotary_pct layer_switch"},
    {"lfm2 lfm2-moe", "*", "other names of the sizes", "block_dim conv_dim conv_dim_out num_heads block_mlp_init_scale "
     "block_norm_eps block_out_init_scale block_use_swiglu block_use_xavier_init conv_use_xavier_init theta "
     "full_attn_idxs use_pos_enc"},
    {"granite-hybrid", "*", "of parts that the file's layers do not have", "intermediate_size mamba_n_heads mamba_d_head "
     "mamba_d_state mamba_n_groups mamba_d_conv mamba_chunk_size mamba_expand num_experts_per_tok"},
    {"gemma3", "*", "the period that layer_types or sliding_window_pattern tell", "_sliding_window_pattern "
     "sliding_window_pattern"},
    {"gemma3 gemma2", "false", "as its class has it", "use_bidirectional_attention"},
    {"internlm2", "*", "which kernel its class calls", "attn_implementation"},
    {"dbrx", "*", "where its class writes what it does", "mup attn_pdrop"},
    {"minimax-text", "*", "factors on what passes, without weights; angles", "layernorm_full_attention_alpha "
     "layernorm_full_attention_beta layernorm_linear_attention_alpha layernorm_linear_attention_beta layernorm_mlp_alpha "
     "layernorm_mlp_beta postnorm shared_moe_mode rotary_dim layer_types full_attn_alpha_factor full_attn_beta_factor "
     "linear_attn_alpha_factor linear_attn_beta_factor mlp_alpha_factor mlp_beta_factor"},
    {"mistral", "*", "how images are cut and where their features are taken", "spatial_merge_size vision_feature_layer "
     "projector_hidden_act multimodal_projector_bias image_token_index"},
    {"gemma3", "*", "how many tokens an image has", "mm_tokens_per_image"},
    {"qwen2", "*", "token ids of images", "vision_token_id"},
    {"qwen3-next", nothing, "layers that it does not have", "mlp_only_layers"},
    {"qwen3-next", "*", "whether a server loads the images' part", "language_model_only"},
    {"minimax-m2 qwen3-next", "*", "which activation a gate has", "output_gate_type"},
    {"nemotron-h", "\"silu\"", "as its class has it", "mamba_hidden_act hidden_act"},
    {"nemotron-h", "*", "whether the shared expert runs beside the routed ones; --stack says that here",
     "moe_shared_expert_overlap"},
    {"gemma2 gemma3 gemma4 gemma3n vault-gemma", "*", "its class goes by hidden_activation", "hidden_act"},
    {"gemma3", "*", "which layers' positions turn how fast", "rope_local_base_freq"},
    {"ernie4.5-moe", "*", "the balance of a router, not how many", "moe_norm_min moe_capacity"},
    {"kimi-linear", "*", "the head size of another part; latent attention has its own",
     "head_dim num_key_value_heads moe_router_activation_func moe_renormalize num_expert_group topk_group use_grouped_topk"},
    {"deepseek", "*", "how images are cut", "use_unified_vision_chunk"},
    {"falcon-h1", "*", "factors on what passes, without weights", "attention_in_multiplier attention_out_multiplier "
     "embedding_multiplier lm_head_multiplier mlp_multipliers ssm_multipliers ssm_in_multiplier ssm_out_multiplier "
     "key_multiplier mamba_norm_before_gate mamba_use_mlp mlp_expansion_factor num_mem_blocks"},
    {"falcon-h1", "false", "as its class has it", "projectors_bias"},
    {"jamba", "*", "as its class has it", "num_mamba_heads"},
    {"mamba2", "*", "the norm of its class; its activation; when its residual is summed",
     "rms_norm norm_before_gate hidden_act D_has_hdim"},
    {"bamba granite-hybrid", "*", "factors on what passes, without weights; the norm of its class",
     "attention_multiplier embedding_multiplier logits_scaling residual_multiplier normalization_function init_method"},
    {"mpt", "*", "as its class; the first values of weights; shapes of its loss",
     "init_config init_device learned_pos_emb logit_scale embedding_fraction attn_pdrop emb_pdrop resid_pdrop "
     "verbose use_pad_tok_in_ffn tokenizer_name"},
    {"phimoe", nothing, "it drops no expert in training", "expert_dropout"},
    {"phimoe", "*", "noise of its router in training", "input_jitter_noise"},
    {"llama", "*", "how large a picture of words is (Emu3)", "image_area"},
    {"llama4", "false", "as its class has them", "tie_word_embeddings for_llm_compressor"},
    {"gpt2 gpt-bigcode", "*", "as n_positions; parts of classifiers; scales of scores",
     "n_ctx summary_activation summary_first_dropout summary_proj_to_labels summary_type summary_use_proj "
     "scale_attn_weights scale_attn_by_inverse_layer_idx reorder_and_upcast_attn"},
    {"bloom", "*", "which sum a residual takes; how biases are added; sizes that others tell",
     "apply_residual_connection_post_layernorm skip_bias_add skip_bias_add_qkv offset_alibi n_embed"},
    {"gpt-neox", "*", "parts of classifiers", "classifier_dropout"},
    {"gemma", "*", "its class goes by hidden_activation", "hidden_act"},
    {"opt", "true", "as its class has them", "enable_bias layer_norm_elementwise_affine"},
    {"opt", "false", "as its class has it", "_remove_final_layer_norm"},
    {"opt", "*", "dropout inside the MLP, which dropout tells", "activation_dropout"},
};
// clang-format on

}  // namespace

bool lists(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

bool leaves_layers_alone(const std::string& family, const JsonObject::UnreadKey& key) {
  if (key.value == "null") return true;  // transformers' word for a part that is not there
  const auto harmless = [&](const KnownKeys& row) {
    const bool here = *row.family == '\0' || lists(row.family, family);
    const bool so = row.values == std::string_view("*") || lists(row.values, key.value);
    return here && so && lists(row.keys, key.key);
  };
  return std::ranges::any_of(rows, harmless) || std::ranges::any_of(more_known_keys(), harmless);
}

}  // namespace stepcast::detail
