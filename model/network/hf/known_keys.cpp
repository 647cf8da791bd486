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
    {"", "*", "token ids of images and videos", "image_token_id video_token_id vision_start_token_id "
     "vision_end_token_id boi_token_index eoi_token_index image_token_index media_placeholder_token_id "
     "video_placeholder ignore_index boi_token_id eoi_token_id audio_token_id"},
    {"", "*", "how a serving engine keeps states and logits", "mamba_ssm_dtype mamba_ssm_cache_dtype num_logits_to_keep "
     "calc_logits_for_entire_prompt"},
    {"", "*", "which kernels its class calls", "use_mamba_kernels"},
    {"", "*", "the first values and the bounds of a mixer's time steps",
     "time_step_floor time_step_max time_step_min time_step_limit time_step_rank rescale_prenorm_residual "
     "A_initializer_range"},
    {"", "*", "whether the residual is summed in fp32; --stack says what software does", "residual_in_fp32"},
    {"", "*", "a factor on scores, without weights", "query_pre_attn_scalar logit_scale"},

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
    {"bert bert-masked bert-model modernbert vit roberta-masked vit-model vit-mae dinov2 electra deberta-model deberta-masked", "*", "dropout; where the loss is taken; how a checkpoint is used",
     "attention_probs_dropout_prob hidden_dropout_prob attention_dropout embedding_dropout mlp_dropout classifier_dropout "
     "position_embedding_type directionality pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers "
     "pooler_size_per_head pooler_type classifier_pooling classifier_activation decoder_bias deterministic_flash_attn "
     "global_rope_theta local_rope_theta hidden_activation initializer_cutoff_factor reference_compile "
     "repad_logits_with_grad sparse_pred_ignore_index sparse_prediction encoder_stride head_dim tie_word_embeddings"},
    {"t5 whisper flux wan bart t5-encoder umt5 umt5-encoder dit sd3 pixart hunyuan-video qwen-image cogvideox ltx-video", "*", "dropout, positions without weights, training of speech, how a checkpoint is used",
     "dropout_rate dropout attention_dropout activation_dropout activation_function relative_attention_max_distance "
     "n_positions output_past is_gated_act dense_act_fn encoder_layerdrop decoder_layerdrop scale_embedding "
     "num_hidden_layers apply_spec_augment mask_time_prob mask_time_length mask_time_min_masks mask_feature_prob "
     "mask_feature_length mask_feature_min_masks max_source_positions median_filter_width use_weighted_layer_sum "
     "classifier_proj_size lang_ids _class_name _diffusers_version axes_dims_rope patch_size eps rope_max_seq_len "
     "tie_word_embeddings"},
    {"whisper t5 bart umt5 t5-encoder umt5-encoder", "true", "as its class has it", "is_encoder_decoder"},
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
    {"deepseek-sparse", "*", "as many as heads, or the size of the turned part: latent attention has neither",
     "num_key_value_heads head_dim qk_head_dim"},
    {"deepseek-sparse", "*", "which layers take over a choice of keys, which indexer_types tells; how positions turn; the "
     "router's number type", "index_share_for_mtp_iteration index_skip_topk_offset index_topk_freq index_topk_pattern "
     "indexer_rope_interleave moe_router_dtype"},
    {"mamba", "*", "its activation, the norm of its class, its expansion", "hidden_act rms_norm expand time_step_scale "
     "time_step_init_scheme mixer_rms_eps use_mambapy use_falcon_mambapy d_inner d_state fused_add_norm "
     "pad_vocab_size_multiple ssm_cfg"},
    {"falcon", "*", "its activation; how it is counted elsewhere", "activation ffn_hidden_size num_ln_in_parallel_attn "
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
    {"gemma2 gemma3", "*", "its class goes by hidden_activation", "hidden_act"},
    {"gemma3", "*", "which layers' positions turn how fast", "rope_local_base_freq"},
    {"ernie4.5-moe", "*", "the balance of a router, not how many", "moe_norm_min moe_capacity"},
    {"kimi-linear", "*", "the head size of another part; latent attention has its own",
     "head_dim num_key_value_heads moe_router_activation_func moe_renormalize num_expert_group topk_group use_grouped_topk"},
    {"deepseek", "*", "how images are cut", "use_unified_vision_chunk"},
    {"falcon-h1", "*", "factors on what passes, without weights", "attention_in_multiplier attention_out_multiplier "
     "embedding_multiplier lm_head_multiplier mlp_multipliers ssm_multipliers ssm_in_multiplier ssm_out_multiplier "
     "key_multiplier mamba_norm_before_gate mamba_use_mlp mlp_expansion_factor projectors_bias num_mem_blocks"},
    {"jamba", "*", "as its class has it", "num_mamba_heads"},
    {"mamba2", "*", "the norm of its class; its activation; when its residual is summed",
     "rms_norm norm_before_gate hidden_act D_has_hdim"},
    {"bamba granite-hybrid", "*", "factors on what passes, without weights; the norm of its class",
     "attention_multiplier embedding_multiplier logits_scaling residual_multiplier normalization_function init_method"},
    {"mpt", "*", "as its class; the first values of weights; shapes of its loss; norms by their number type",
     "init_config init_device learned_pos_emb norm_type logit_scale embedding_fraction attn_pdrop emb_pdrop resid_pdrop "
     "verbose use_pad_tok_in_ffn"},
    {"llama4", "false", "as its class has them", "tie_word_embeddings for_llm_compressor"},
    {"baichuan", "*", "as its class has it", "model_max_length"},
    {"baichuan", "0", "no loss on it", "z_loss_weight"},
    {"minicpm minicpm3", "*", "factors on what passes, without weights", "scale_emb dim_model_base scale_depth mup_denominator"},
    {"chatglm", "*", "which kernels its class calls; factors on scores; prompts; angles", "apply_query_key_layer_scaling "
     "bias_dropout_fusion fp32_residual_connection interleaved_qkv original_rope quantization_bit rope_ratio "
     "classifier_dropout pre_seq_len prefix_projection vocab_size"},
    {"ernie4.5", "*", "how positions turn; how tables are cut", "compression_ratio use_flash_attention freq_allocation"},
    {"hunyuan", "*", "token ids; of parts that the file's layers do not have", "eod_token_id pad_id im_start_id im_end_id "
     "im_newline_id text_start_id text_end_id mask_init_id org_vocab_size attention_head_dim cla_share_factor "
     "routed_scaling_factor moe_topk moe_drop_tokens moe_random_routing_dropped_token capacity_factor"},
    {"hunyuan", "1", "one of it is none", "num_experts num_shared_expert"},
    {"hunyuan", "false", "as its class has it", "use_cla add_classification_head mlp_bias use_mixed_mlp_moe use_mla"},
    {"hunyuan", "true \"rms\"", "as its class has it", "use_rotary_pos_emb norm_type"},
    {"granite-moe granite-moe-shared", "*", "factors on what passes, without weights",
     "attention_multiplier embedding_multiplier logits_scaling residual_multiplier"},
    {"exaone", "*", "another name of a size", "num_hidden_layers num_layers layer_norm_epsilon"},
    {"exaone-moe", "*", "which layers have a window, which layer_types tells; which have experts, which mlp_layer_types "
     "tells; prediction modules that its class leaves out", "sliding_window_pattern is_moe_layer first_last_k_dense_replace "
     "mtp_loss_weight mtp_share_layers reorder_and_upcast_attn"},
    {"bailing-moe bailing-moe-v2 bailing-linear bailing-latent", "*", "how a router scores and balances; weights of losses; "
     "norms as their class has them", "score_function router_dtype mtp_loss_scaling_factor use_rmsnorm norm_head "
     "norm_softmax gate_logits_softcap moe_router_enable_routed_scaling multi_gate router_type moe_router_topk_scaling_factor "
     "rotary_type"},
    {"mimo", "false", "as its class has it", "use_mrope"},
    {"minicpm3", "*", "as many as heads: latent attention has its own", "num_key_value_heads qk_head_dim"},
    {"bailing-latent", "false", "latent attention has none", "use_qkv_bias"},
    {"bailing-latent", "*", "as many as heads: latent attention has its own; how heads are cut", "num_key_value_heads qk_head_dim "
     "linear_attn_norm_group_size"},
    {"bailing-linear bailing-latent", "true", "as its class has it", "linear_silu linear_rope"},
    {"bailing-linear bailing-latent", "*", "activations, kinds of decay, positions, without weights", "linear_silu linear_rope "
     "linear_mode"},
    {"afmoe", "*", "how a router scores; a factor on the embedding", "score_func route_norm route_scale mup_enabled "
     "load_balance_coeff num_expert_groups num_limited_groups"},
    {"gpt-bigcode", "*", "which kernels its class calls", "inference_runner max_batch_size max_sequence_length "
     "pad_key_length pre_allocate_kv_cache validate_runner_input scale_attention_softmax_in_fp32"},
    {"glm4-moe-lite", "*", "as many as heads, or the size of the turned part: latent attention has neither",
     "num_key_value_heads head_dim qk_head_dim"},
    {"persimmon", "*", "which kernel its class calls", "num_key_value_heads"},
    {"flex-olmo olmoe olmo2 olmo3", "null", "as its class has it", "clip_qkv"},
    {"llava llava-next llava-onevision paligemma internvl internvl-chat kimi-vl qwen3-omni", "*",
     "how images are cut and where their features are taken; token ids",
     "image_grid_pinpoints image_seq_length vision_feature_layer vision_feature_select_strategy projector_hidden_act "
     "use_image_newline_parameter vision_aspect_ratio video_token_index video_token_id _vocab_size hidden_size "
     "projection_dim vocab_size num_image_tokens num_hidden_layers dynamic_image_size force_image_size max_dynamic_patch min_dynamic_patch "
     "pad2square ps_version select_layer template use_thumbnail system_message audio_start_token_id audio_end_token_id "
     "vision_token_id position_id_per_seconds seconds_per_chunk user_token_id audio_token_index image_token_index "
     "multimodal_projector_bias downsample_ratio image_fold im_start_token_id im_end_token_id tts_bos_token_id "
     "tts_eos_token_id tts_pad_token_id assistant_token_id system_token_id enable_audio_output tie_word_embeddings"},
    {"gemma gemma2", "*", "how many tokens an image has", "num_image_tokens"},
    {"internvl-chat", "0", "no adapters", "use_backbone_lora use_llm_lora"},
    {"glm4 glm4-moe qwen2 qwen3", "*", "token ids of images", "image_start_token_id image_end_token_id video_start_token_id "
     "video_end_token_id"},
    {"gptj", "*", "how much of a head turns; parts of classifiers", "n_ctx summary_activation summary_first_dropout "
     "summary_proj_to_labels summary_type summary_use_proj scale_attn_weights head_dim"},
    {"gptj", "true", "as its class has it", "rotary"},
    {"olmo", "*", "a bound on queries, keys and values", "clip_qkv"},
    {"phi3-small", "*", "which keys attention sees; factors on what passes; how tables are cut", "blocksparse_block_size "
     "blocksparse_homo_head_pattern blocksparse_num_local_blocks blocksparse_triton_kernel_block_size "
     "blocksparse_vert_stride dense_attention_every_n_layers dummy_token_indices ff_dim_multiplier ff_intermediate_size "
     "intermediate_size gegelu_limit gegelu_pad_to_256 mup_attn_multiplier mup_embedding_multiplier mup_use_scaling "
     "mup_width_multiplier pad_sequence_to_multiple_of reorder_and_upcast_attn rope_embedding_base rope_position_scale "
     "original_max_position_embeddings"},
    {"rwkv", "*", "when weights are halved in place of scaling", "rescale_every"},
    {"xlstm", "*", "kernels, number types, bounds of gates; other names of sizes", "autocast_kernel_dtype chunk_size "
     "chunkwise_kernel sequence_kernel step_kernel inference_state_dtype gate_soft_cap output_logit_soft_cap mode "
     "norm_reduction_force_float32 return_last_states weight_mode add_out_norm force_bos_token_insert hidden_size "
     "num_hidden_layers mlstm_round_up_to_multiple_of max_inference_chunksize autocast_kernel_dtype"},
    {"recurrent-gemma", "*", "a bound on logits; the first values of weights; activations", "logits_soft_cap "
     "w_init_variance_scale final_w_init_variance_scale hidden_activation embeddings_scale_by_sqrt_dim block_types "
     "_block_types partial_rotary_factor"},
    {"jetmoe", "*", "activations; as many as key-value heads times experts", "activation_function num_attention_heads glu "
     "num_layers"},
    {"mimo-v2-flash", "*", "how far attention sees; angles, factors", "sliding_window sliding_window_size "
     "attention_chunk_size swa_rope_theta attention_value_scale layernorm_epsilon"},
    {"step3.5", "*", "bounds of gates, angles, how a router scores; how far attention sees; prediction modules",
     "swiglu_limits swiglu_limits_shared partial_rotary_factors use_rope_layers yarn_only_types sliding_window "
     "moe_router_activation moe_router_scaling_factor norm_expert_weight need_fp32_gate num_nextn_predict_layers use_mtp "
     "zero_centered moe_every_n_layer max_seq_len moe_layer_offset use_qk_norm att_impl_type"},
    {"zamba2", "*", "positions and kernels without weights; sizes that others tell", "use_mem_rope use_long_context "
     "use_mem_eff_path mamba_headdim chunk_size num_key_value_heads attention_head_dim attention_hidden_size "
     "mamba_proj_bias kv_channels num_logits_to_keep ffn_hidden_size hidden_act attention_dropout state_size"},
    {"zamba2", "true", "as its class has it", "use_conv_bias use_shared_mlp_adapter"},
    {"longcat-flash", "*", "factors and kinds of routing without weights; sizes that others tell", "routed_scaling_factor "
     "zero_expert_type mla_scale_q_lora mla_scale_kv_lora qk_head_dim head_dim num_hidden_layers num_layers hidden_act "
     "num_key_value_heads expert_ffn_hidden_size ffn_hidden_size moe_intermediate_size intermediate_size "
     "attention_dropout"},
    {"longcat-flash", "\"MLA\"", "as its class has it", "attention_method"},
    {"gemma3n", "*", "which layers see all keys; bounds; token ids; how many tokens an image or a sound has", "layer_types "
     "activation_sparsity_pattern altup_active_idx altup_coef_clip altup_correct_scale altup_lr_multiplier "
     "final_logit_softcapping num_kv_shared_layers audio_soft_tokens_per_image vision_soft_tokens_per_image boa_token_id "
     "eoa_token_id eoa_token_index attention_dropout _sliding_window_pattern hidden_act "
     "query_pre_attn_scalar"},
    {"bart", "*", "names, dropout, what a generator does; as its class has them", "classif_dropout classifier_dropout "
     "extra_pos_embeddings encoder_no_repeat_ngram_size force_bos_token_to_be_generated save_step"},
    {"bart", "true", "as its class has it", "normalize_embedding"},
    {"bart", "false", "as its class has it", "add_bias_logits normalize_before static_position_embeddings add_final_layer_norm"},
    {"electra", "*", "how a summary is made; as its class has it", "summary_activation summary_last_dropout summary_type "
     "summary_use_proj"},
    {"deberta-model deberta-masked", "*", "how distances are used, without weights of their own; how a pooler is made",
     "pos_att_type pooler_dropout pooler_hidden_act pooler_hidden_size share_att_key conv_act max_relative_positions "
     "hidden_act max_position_embeddings attention_head_size"},
    {"nomic-bert", "*", "dropout, kernels, angles, scales of scores; as its class has them", "attn_pdrop embd_pdrop resid_pdrop "
     "fused_bias_fc fused_dropout_add_ln mlp_checkpoint_lvl n_positions pad_vocab_size_multiple reorder_and_upcast_attn "
     "rotary_emb_base rotary_emb_fraction rotary_emb_interleaved rotary_emb_scale_base rotary_scaling_factor "
     "scale_attn_by_inverse_layer_idx scale_attn_weights summary_activation summary_first_dropout summary_proj_to_labels "
     "summary_type summary_use_proj use_flash_attn use_xentropy max_trained_positions parallel_block_tied_norm "
     "dense_seq_output last_layer_subset"},
    {"nomic-bert", "false", "as its class has it", "prenorm causal parallel_block use_rms_norm"},
    {"clip siglip", "*", "the first values; activations, dropout; what a whole class has", "logit_scale_init_value projection_dim "
     "text_config_dict vision_config_dict hidden_act attention_dropout dropout"},
    {"dinov2 vit-model vit-mae", "*", "activations, dropout, which results are handed out", "hidden_act drop_path_rate "
     "layerscale_value apply_layernorm out_features out_indices reshape_hidden_states stage_names pooler_act mask_ratio "
     "norm_pix_loss"},
    {"dit sd3 pixart hunyuan-video qwen-image cogvideox ltx-video", "*", "sizes of samples; angles; norms without weights",
     "sample_size dropout norm_num_groups upcast_attention norm_eps interpolation_scale attention_type pos_embed_max_size "
     "rope_theta rope_axes_dim image_condition_type sample_width sample_height sample_frames temporal_compression_ratio "
     "max_text_seq_length spatial_interpolation_scale temporal_interpolation_scale use_rotary_positional_embeddings "
     "flip_sin_to_cos freq_shift timestep_activation_fn patch_size_t guidance_embeds"},
    {"dit pixart", "false", "as its class has it", "norm_elementwise_affine"},
    {"cogvideox", "true", "as its class has it", "norm_elementwise_affine patch_bias"},
    {"dit pixart", "*", "rows of a table that it does not have", "num_embeds_ada_norm"},
    {"qwen-image", "*", "of a text that its class does not pool", "pooled_projection_dim"},
    {"roberta-masked", "*", "what a forward pass handed out", "output_past"},
    {"qwen-image", "false", "as its class has it", "zero_cond_t use_layer3d_rope"},
    {"llama", "*", "how long texts a tokenizer cuts", "max_tokenizer_truncation"},
    {"gpt2 gpt-bigcode", "*", "as n_positions; parts of classifiers; scales of scores",
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
  if (key.value == "null") return true;  // transformers' word for a part that is not there
  return std::ranges::any_of(rows, [&](const KnownKeys& row) {
    const bool here = *row.family == '\0' || lists(row.family, family);
    const bool harmless = row.values == std::string_view("*") || lists(row.values, key.value);
    return here && harmless && lists(row.keys, key.key);
  });
}

}  // namespace stepcast::detail
