// The keys of further families, of files around a text and of diffusers: configuration_<family>.py of transformers or
// of the files themselves, and the classes' own arguments in diffusers.
#include "model/network/hf/known_keys.h"

namespace stepcast::detail {
namespace {

// clang-format off
constexpr KnownKeys more_rows[] = {
    {"", "*", "names and tools", "unsloth_version unsloth_fixed model_name model_id is_llama_config "
     "_attn_implementation_internal "
     "attn_impl use_flash_attn use_flash_attention use_flash_attention_2 flash_attn_version fused_rms_norm fused_mlp "
     "use_fused_moe "
     "use_liger_kernel onnx_safe loss_type generation_config tokenizer_model_max_length revision code_revision "
     "license"},
    {"", "*", "how positions turn, without weights", "rope_interleaved use_mrope mrope_section mrope_interleaved "
     "rope_type rope_ratio "
     "use_dynamic_ntk use_logn_attn rope_style rotary_base rope_traditional rope_base original_rope alibi_bias_max"},
    {"", "*", "lengths that servers take at most", "model_max_length max_sequence_length max_seq_len max_seq_length "
     "seq_length "
     "max_batch_size max_window_length"},
    {"", "*", "token ids", "eod_token_id im_start_id im_end_id sep_id bos_token eos_token pad_token unk_token "
     "sep_token image_token "
     "video_token audio_token img_token_id image_start_token_id image_end_token_id video_start_token_id "
     "video_end_token_id "
     "user_token_id assistant_token_id"},
    {"", "*", "constants inside a norm", "layernorm_epsilon rms_norm_epsilon norm_epsilon layernorm_eps rmsnorm_eps"},
    {"", "*", "weights of losses; how routers compute and balance, not what they pick", "moe_loss_weight "
     "mtp_loss_weight moe_aux_loss_coeff "
     "router_dtype moe_router_dtype moe_use_aux_free moe_gate moe_implementation bias_update_speed "
     "router_bias_update_speed "
     "load_balance_loss_weight aux_loss_coef router_load_balancing_type moe_router_load_balancing_type"},
    {"", "*", "parts of classifiers", "classifier_dropout summary_activation summary_first_dropout "
     "summary_proj_to_labels summary_type "
     "summary_use_proj score_bias"},
    {"", "null false 0 [] {}", "parts that the file says it does not have", "hidden_dropout hidden_dropout_prob "
     "attention_dropout embd_pdrop "
     "resid_pdrop attn_pdrop embed_dropout residual_dropout dropout emb_dropout_prob attn_dropout_prob ffn_dropout "
     "embedding_dropout "
     "use_bias bias lm_head_bias add_qkv_bias use_qkv_bias use_parallel_residual parallel_attn use_mla use_cla "
     "use_mixed_mlp_moe "
     "use_lora use_backbone_lora use_llm_lora num_mtp_modules logits_soft_cap router_bias sparse_attention_config "
     "use_bidirectional_attention attention_out_bias add_classification_head"},
    {"cohere2 exaone4 olmo3 olmo2", "*", "the period that layer_types or sliding_window_pattern "
     "tell", "_sliding_window_pattern"},
    {"qwen1", "*", "number types and kernels", "bf16 fp16 fp32 scale_attn_weights use_cache_kernel "
     "use_cache_quantization softmax_in_fp32 "
     "max_position_embeddings seq_length attn_dropout_prob emb_dropout_prob"},
    {"grok", "*", "factors and bounds on what passes, without weights", "attn_output_multiplier "
     "embedding_multiplier_scale output_multiplier_scale "
     "max_attn_value attn_logit_softcapping router_logit_softcapping attn_temperature_len "
     "attn_temperature_type"},
    {"grok", "-1 0", "no window", "sliding_window_size"},
    {"grok", "1 0", "all layers see all keys", "global_attn_every_n"},
    {"arctic", "*", "how experts are laid out and balanced", "enable_expert_tensor_parallelism "
     "moe_eval_capacity_factor moe_min_capacity "
     "moe_token_dropping moe_train_capacity_factor quantization sliding_window moe_layer_frequency"},
    {"arctic", "true", "as its class has it", "use_residual"},
    {"ouro", "*", "when a token stops", "early_exit_threshold early_exit_step use_sliding_window layer_types"},
    {"nanochat", "*", "a bound on logits", "final_logit_softcapping"},
    {"iquest-loop", "*", "how far the second pass looks", "loop_window_size"},
    {"openelm", "*", "other names of sizes; activations", "activation_fn_name normalization_layer_name "
     "num_gqa_groups qkv_multipliers "
     "rope_freq_constant rope_max_length max_context_length"},
    {"mamba mamba2", "*", "which kernels flash-linear-attention's classes call (fla/models/mamba/configuration_mamba.py)",
     "fuse_norm fuse_cross_entropy"},
    {"llama", "*", "which residuals skip layers, without weights", "bskcn_1 bskcn_2 bskcn_3 bskcn_4 bskcn_tv"},
    {"youtu", "*", "as many as heads: latent attention has its own", "num_key_value_heads head_dim qk_head_dim"},
    {"hunyuan-large", "*", "token ids; how experts are balanced", "im_start_id im_end_id im_newline_id text_start_id "
     "text_end_id mask_init_id "
     "eod_token_id pad_id org_vocab_size capacity_factor moe_drop_tokens moe_random_routing_dropped_token "
     "routed_scaling_factor "
     "use_rotary_pos_emb norm_type group_limited_greedy attention_head_dim pool_type use_mixed_mlp_moe"},
    {"mamba2", "*", "the first values of time steps", "time_step_init_scheme time_step_scale"},
    {"deepseek", "*", "of parts that the file's layers do not have; whether a server has a head", "q_lora_rank "
     "kv_lora_rank qk_nope_head_dim "
     "qk_rope_head_dim v_head_dim lm_head rm_head"},
    {"bailing-moe-v2", "*", "which layers predict; windows, which its class has not",
     "mtp_loss_scaling_factor max_window_layers"},
    {"baichuan", "*", "as its class has it", "model_max_length"},
    {"baichuan", "0", "no loss on it", "z_loss_weight"},
    {"minicpm minicpm3", "*", "factors on what passes, without weights", "scale_emb dim_model_base scale_depth "
     "mup_denominator"},
    {"chatglm", "*", "which kernels its class calls; factors on scores; prompts; "
     "angles", "apply_query_key_layer_scaling "
     "bias_dropout_fusion fp32_residual_connection interleaved_qkv original_rope quantization_bit rope_ratio "
     "classifier_dropout pre_seq_len prefix_projection vocab_size"},
    {"ernie4.5", "*", "how positions turn; how tables are cut", "compression_ratio use_flash_attention "
     "freq_allocation"},
    {"hunyuan", "*", "token ids; of parts that the file's layers do not have", "eod_token_id pad_id im_start_id "
     "im_end_id "
     "im_newline_id text_start_id text_end_id mask_init_id org_vocab_size attention_head_dim cla_share_factor "
     "routed_scaling_factor moe_topk moe_drop_tokens moe_random_routing_dropped_token capacity_factor"},
    {"hunyuan", "1", "one of it is none", "num_experts num_shared_expert"},
    {"hunyuan", "false", "as its class has it", "use_cla add_classification_head mlp_bias use_mixed_mlp_moe use_mla"},
    {"hunyuan", "true \"rms\"", "as its class has it", "use_rotary_pos_emb norm_type"},
    {"granite-moe granite-moe-shared", "*", "factors on what passes, without weights",
     "attention_multiplier embedding_multiplier logits_scaling residual_multiplier"},
    {"exaone", "*", "another name of a size", "num_hidden_layers num_layers layer_norm_epsilon"},
    {"exaone-moe", "*", "which layers have a window, which layer_types tells; which have experts, which "
     "mlp_layer_types "
     "tells; prediction modules that its class leaves out", "sliding_window_pattern is_moe_layer "
     "first_last_k_dense_replace "
     "mtp_loss_weight mtp_share_layers reorder_and_upcast_attn"},
    {"bailing-moe bailing-moe-v2 bailing-linear bailing-latent bailing-v3", "*", "how a router scores and balances; weights of "
     "losses; "
     "norms as their class has them", "score_function router_dtype mtp_loss_scaling_factor use_rmsnorm norm_head "
     "norm_softmax gate_logits_softcap moe_router_enable_routed_scaling router_type "
     "moe_router_topk_scaling_factor "
     "rotary_type"},
    {"bailing-moe bailing-moe-v2 bailing-linear bailing-latent bailing-v3", "false", "as its class has it", "multi_gate"},
    {"bailing-v3", "*", "bounds of decays; as many as heads: latent attention has its own", "kda_lower_bound "
     "kda_safe_gate num_key_value_heads qk_head_dim use_qk_norm group_norm_size"},
    {"jais2", "*", "constants inside a norm", "layer_norm_eps"},
    {"starcoder2", "\"default\"", "as its class has it", "mlp_type"},
    {"plamo3", "*", "angles of layers with a window", "rope_local_theta"},
    {"muse-glimmer", "*", "factors on what passes and angles, without weights; constants inside a norm", "qk_scale_factor "
     "output_multiplier layer_rope_theta post_norm_eps no_rope_layers"},
    {"llama", "*", "factors on what passes, without weights", "use_mup mup_scale_factor input_mult output_mult"},
    {"mimo", "false", "as its class has it", "use_mrope"},
    {"minicpm3", "*", "as many as heads: latent attention has its own", "num_key_value_heads qk_head_dim"},
    {"bailing-latent bailing-v3", "false", "latent attention has none", "use_qkv_bias"},
    {"bailing-latent", "*", "as many as heads: latent attention has its own; how heads are "
     "cut", "num_key_value_heads qk_head_dim "
     "linear_attn_norm_group_size"},
    {"bailing-linear bailing-latent", "true", "as its class has it", "linear_silu linear_rope"},
    {"bailing-linear bailing-latent", "*", "activations, kinds of decay, positions, without weights", "linear_silu "
     "linear_rope "
     "linear_mode"},
    {"afmoe", "*", "how a router scores; a factor on the embedding; which kernel runs the experts", "score_func "
     "route_norm route_scale mup_enabled load_balance_coeff num_expert_groups num_limited_groups use_grouped_mm"},
    {"gpt-bigcode", "*", "which kernels its class calls", "inference_runner max_batch_size max_sequence_length "
     "pad_key_length pre_allocate_kv_cache validate_runner_input scale_attention_softmax_in_fp32"},
    {"glm4-moe-lite", "*", "as many as heads, or the size of the turned part: latent attention has neither",
     "num_key_value_heads head_dim qk_head_dim"},
    {"persimmon", "*", "which kernel its class calls", "num_key_value_heads"},
    {"flex-olmo olmoe olmo2 olmo3", "null", "as its class has it", "clip_qkv"},
    {"llava llava-next llava-onevision paligemma internvl internvl-chat kimi-vl qwen3-omni idefics3 step3-vl "
     "nemotron-nano-vl", "*",
     "how images are cut and where their features are taken; token ids",
     "image_grid_pinpoints image_seq_length vision_feature_layer vision_feature_select_strategy projector_hidden_act "
     "use_image_newline_parameter vision_aspect_ratio video_token_index video_token_id _vocab_size hidden_size "
     "projection_dim vocab_size num_image_tokens num_hidden_layers dynamic_image_size force_image_size "
     "max_dynamic_patch min_dynamic_patch "
     "pad2square ps_version select_layer template use_thumbnail system_message audio_start_token_id audio_end_token_id "
     "vision_token_id position_id_per_seconds seconds_per_chunk user_token_id audio_token_index image_token_index "
     "multimodal_projector_bias downsample_ratio projector_hidden_size vit_hidden_size understand_projector_stride "
     "projector_bias "
     "image_token_len patch_token_len image_tag_type img_context_token_id img_context_token img_start_token "
     "img_end_token "
     "video_pruning_rate norm_mean norm_std patch_size video_context_token_id image_fold im_start_token_id "
     "im_end_token_id tts_bos_token_id "
     "tts_eos_token_id tts_pad_token_id assistant_token_id system_token_id enable_audio_output tie_word_embeddings"},
    {"gemma gemma2", "*", "how many tokens an image has", "num_image_tokens"},
    {"internvl-chat", "0", "no adapters", "use_backbone_lora use_llm_lora"},
    {"glm4 glm4-moe qwen2 qwen3", "*", "token ids of images", "image_start_token_id image_end_token_id "
     "video_start_token_id "
     "video_end_token_id"},
    {"gpt-neox", "0", "no dropout on the scores", "attention_probs_dropout_prob"},
    {"gpt2", "0", "no words beside the vocabulary", "n_special"},
    {"gpt2", "*", "which words count in a loss of its class", "predict_special_tokens"},
    {"gptj", "*", "how much of a head turns; parts of classifiers", "n_ctx summary_activation summary_first_dropout "
     "summary_proj_to_labels summary_type summary_use_proj scale_attn_weights head_dim"},
    {"gptj", "true", "as its class has it", "rotary"},
    {"olmo", "*", "a bound on queries, keys and values", "clip_qkv"},
    {"olmo", "false", "as its layers are", "alibi attention_layer_norm bias_for_layer_norm include_bias scale_logits "
     "multi_query_attention layer_norm_with_affine attention_layer_norm_with_affine"},
    {"olmo", "true", "as its layers are", "rope rope_full_precision"},
    {"olmo", "1", "as its layers are", "block_group_size"},
    {"olmo", "*", "the first values of weights; which kernel its class calls; the width, which mlp_hidden_size tells",
     "init_cutoff_factor init_device init_fn mlp_ratio precision flash_attention vocab_size"},
    {"qwen3", "*", "of which words a server makes a classifier", "classifier_from_token is_original_qwen3_reranker"},
    {"cohere2-moe", "*", "how a router scores and how its results are summed, without weights",
     "expert_selection_fn shared_expert_combination_strategy norm_topk_prob use_embedding_sharing layer_switch "
     "order_of_interleaved_layers position_embedding_type sliding_window_pattern prefix_dense_sliding_window_pattern"},
    {"cohere2-moe", "true", "as its class has it", "use_parallel_block use_gated_activation use_parallel_embedding"},
    {"granite-swa granite-moe-swa", "*", "factors on what passes, without weights; how fast which layer's positions "
     "turn", "attention_multiplier embedding_multiplier logits_scaling residual_multiplier layer_rope_theta"},
    {"axk1 axk2", "*", "as many as heads, or the size of the turned part: latent attention has neither",
     "num_key_value_heads head_dim qk_head_dim"},
    {"axk2", "*", "how an indexer learns", "output_indexer_scores indexer_loss_coef indexer_dense_warmup"},
    {"pangu-ultra", "*", "as many as heads: latent attention has its own", "num_key_value_heads head_dim qk_head_dim"},
    {"roformer megatron-bert modernbert-decoder", "*", "dropout; how a checkpoint is used",
     "attention_probs_dropout_prob hidden_dropout_prob attention_dropout embedding_dropout mlp_dropout "
     "classifier_dropout position_embedding_type classifier_pooling classifier_activation decoder_bias "
     "deterministic_flash_attn global_rope_theta local_rope_theta initializer_cutoff_factor reference_compile "
     "tie_word_embeddings num_key_value_heads"},
    {"llada-moe", "*", "how experts are grouped and scored", "router_num_group router_topk_group score_function "
     "router_dtype moe_router_topk_scaling_factor"},
    {"xverse-moe", "*", "how a tokenizer is read; which weights are sparse", "is_sparse sparsity_config"},
    {"phi3-small", "*", "which keys attention sees; factors on what passes; how tables are "
     "cut", "blocksparse_block_size "
     "blocksparse_homo_head_pattern blocksparse_num_local_blocks blocksparse_triton_kernel_block_size "
     "blocksparse_vert_stride dense_attention_every_n_layers dummy_token_indices ff_dim_multiplier "
     "ff_intermediate_size "
     "intermediate_size gegelu_limit gegelu_pad_to_256 mup_attn_multiplier mup_embedding_multiplier mup_use_scaling "
     "mup_width_multiplier pad_sequence_to_multiple_of pad_sequence_to_multiple_of_64 reorder_and_upcast_attn rope_embedding_base rope_position_scale "
     "original_max_position_embeddings"},
    {"rwkv", "*", "when weights are halved in place of scaling", "rescale_every"},
    {"xlstm", "*", "kernels, number types, bounds of gates; other names of sizes", "autocast_kernel_dtype chunk_size "
     "chunkwise_kernel sequence_kernel step_kernel inference_state_dtype gate_soft_cap output_logit_soft_cap mode "
     "norm_reduction_force_float32 return_last_states weight_mode add_out_norm force_bos_token_insert hidden_size "
     "num_hidden_layers mlstm_round_up_to_multiple_of max_inference_chunksize autocast_kernel_dtype"},
    {"recurrent-gemma", "*", "a bound on logits; the first values of weights; activations", "logits_soft_cap "
     "w_init_variance_scale final_w_init_variance_scale hidden_activation embeddings_scale_by_sqrt_dim block_types "
     "_block_types partial_rotary_factor"},
    {"jetmoe", "*", "activations; as many as key-value heads times experts", "activation_function "
     "num_attention_heads glu "
     "num_layers"},
    {"marian mbart m2m100 blenderbot bart xglm biogpt", "*", "factors on what passes, first values and labels; where norms stand, "
     "which the class tells", "scale_embedding init_std classif_dropout add_bias_logits add_final_layer_norm normalize_before "
     "normalize_embedding static_position_embeddings layernorm_variant extra_layer_norm extra_pos_embeddings "
     "force_bos_token_to_be_generated do_blenderbot_90_layernorm share_encoder_decoder_embeddings decoder_vocab_size "
     "activation_dropout layerdrop"},
    {"esm", "*", "which words a run hides; a list of words", "token_dropout vocab_list esmfold_config"},
    {"albert-masked", "*", "what its class does not read", "classifier_dropout_prob down_scale_factor gap_size "
     "net_structure_type num_memory_blocks"},
    {"gte-new", "*", "which kernel its class calls; factors on scores", "hidden_act layer_norm_type logn_attention_clip1 "
     "logn_attention_scale pack_qkv unpad_inputs use_memory_efficient_attention max_position_embeddings"},
    {"llada", "false", "as its layers are", "alibi attention_layer_norm bias_for_layer_norm include_bias "
     "include_qkv_bias input_emb_norm scale_logits multi_query_attention flash_attention"},
    {"llada", "true", "as its layers are", "rope attention_layer_norm_with_affine layer_norm_with_affine rope_full_precision"},
    {"llada", "1", "as its layers are", "block_group_size"},
    {"llada", "*", "the first values of weights; the width, which mlp_hidden_size tells", "init_cutoff_factor init_device "
     "init_fn init_std mlp_ratio precision"},
    {"sdar sdar-moe", "*", "how a run hides words; how a loss is computed", "block_size debug fuse_cross_entropy"},
    {"hyperclovax", "*", "factors on what passes, without weights", "attention_multiplier embedding_multiplier "
     "logits_scaling residual_multiplier end_token_id summary_first_dropout"},
    {"hunyuan-3", "*", "how a router scores; number types", "router_scaling_factor route_norm moe_router_use_sigmoid "
     "enable_attention_fp32_softmax enable_lm_head_fp32 enable_moe_fp32_combine"},
    {"jais", "*", "factors on what passes, without weights", "embeddings_scale width_scale mup_width_scale "
     "mup_embeddings_scale mup_output_alpha mup_scale_qk_dot_by_d scale_qk_dot_by_d alibi_scaling scale_attn_weights "
     "scale_attn_by_inverse_layer_idx reorder_and_upcast_attn"},
    {"own-text keye keye-1.5 minicpm-v-images", "*", "of its images' part, and how images are cut", "freeze_mm_mlp_adapter freeze_mm_vision_resampler "
     "image_aspect_ratio mm_hidden_size mm_projector_type mm_resampler_type mm_use_im_patch_token mm_use_im_start_end "
     "mm_vision_select_feature mm_vision_select_layer mm_patch_merge_type mm_projector_lr mm_vision_tower_lr "
     "mm_tunable_parts mm_spatial_pool_mode mm_spatial_pool_stride tune_mm_mlp_adapter tune_mm_vision_resampler "
     "unfreeze_mm_vision_tower use_mm_proj image_grid_pinpoints image_crop_resolution image_split_resolution "
     "vision_tower_pretrained tokenizer_padding_side image_size patch_size query_num slice_mode use_image_id "
     "vision_batch_size batch_vision_input drop_vision_last_layer version pos_skipping_range add_faster_video "
     "add_time_instruction force_sample faster_token_stride"},
    {"clip-text clip-text-projected clip-vision clip-vision-projected siglip-vision dinov2-classes", "*", "which GELU; dropout; "
     "the width of what another class makes", "hidden_act dropout attention_dropout projection_dim tie_word_embeddings "
     "hidden_dropout_prob attention_probs_dropout_prob drop_path_rate layerscale_value reshape_hidden_states "
     "apply_layernorm out_features out_indices stage_names"},
    {"mimo-v2-flash", "*", "how matrices lie in the file; number types", "attention_projection_layout moe_router_dtype"},
    {"mimo-v2-flash", "*", "angles, factors", "attention_chunk_size swa_rope_theta attention_value_scale "
     "layernorm_epsilon"},
    {"step3.5", "*", "bounds of gates, angles, how a router scores; prediction modules",
     "swiglu_limits swiglu_limits_shared partial_rotary_factors use_rope_layers yarn_only_types "
     "moe_router_activation moe_router_scaling_factor norm_expert_weight need_fp32_gate num_nextn_predict_layers "
     "use_mtp "
     "zero_centered moe_every_n_layer max_seq_len moe_layer_offset use_qk_norm att_impl_type"},
    {"laguna", "*", "angles; how a router scores, a factor; the kind of gates, which gating "
     "tells", "swa_rope_parameters "
     "rope_style moe_routed_scaling_factor moe_router_logit_softcapping moe_router_use_sigmoid gating_types"},
    {"laguna", "false", "as its class has it", "moe_apply_router_weight_on_input use_bidirectional_attention"},
    {"kimi-linear", "*", "bounds of activations; how images are marked; the tower of images, which is counted",
     "activation_situ_beta activation_situ_linear_beta image_placeholder"},
    {"zamba2", "*", "positions and kernels without weights; sizes that others tell", "num_query_groups use_mem_rope "
     "use_long_context "
     "use_mem_eff_path mamba_headdim chunk_size num_key_value_heads attention_head_dim attention_hidden_size "
     "mamba_proj_bias kv_channels num_logits_to_keep ffn_hidden_size hidden_act attention_dropout state_size"},
    {"zamba2", "true", "as its class has it", "use_conv_bias use_shared_mlp_adapter"},
    {"longcat-flash", "*", "factors and kinds of routing without weights; sizes that others "
     "tell", "routed_scaling_factor "
     "zero_expert_type mla_scale_q_lora mla_scale_kv_lora qk_head_dim head_dim num_hidden_layers num_layers hidden_act "
     "num_key_value_heads expert_ffn_hidden_size ffn_hidden_size moe_intermediate_size intermediate_size "
     "attention_dropout"},
    {"longcat-flash", "\"MLA\"", "as its class has it", "attention_method"},
    {"gemma3n", "*", "which stream is active, its bounds; token ids; how many tokens an image or a sound has",
     "altup_active_idx altup_coef_clip altup_correct_scale altup_lr_multiplier audio_soft_tokens_per_image "
     "vision_soft_tokens_per_image boa_token_id eoa_token_id eoa_token_index _sliding_window_pattern hidden_act "
     "query_pre_attn_scalar"},
    {"bart", "*", "names, dropout, what a generator does; as its class has them", "classif_dropout classifier_dropout "
     "extra_pos_embeddings encoder_no_repeat_ngram_size force_bos_token_to_be_generated save_step"},
    {"bart", "true", "as its class has it", "normalize_embedding"},
    {"bart", "false", "as its class has it", "add_bias_logits normalize_before static_position_embeddings "
     "add_final_layer_norm"},
    {"electra", "*", "how a summary is made; as its class has it", "summary_activation summary_last_dropout "
     "summary_type "
     "summary_use_proj"},
    {"deberta-model deberta-masked", "*", "how distances are used, without weights of their own; how a pooler is made",
     "pos_att_type pooler_dropout pooler_hidden_act pooler_hidden_size share_att_key conv_act max_relative_positions "
     "hidden_act max_position_embeddings attention_head_size"},
    {"nomic-bert", "*", "dropout, kernels, angles, scales of scores; as its class has them", "attn_pdrop embd_pdrop "
     "resid_pdrop "
     "fused_bias_fc fused_dropout_add_ln mlp_checkpoint_lvl n_positions pad_vocab_size_multiple "
     "reorder_and_upcast_attn "
     "rotary_emb_base rotary_emb_fraction rotary_emb_interleaved rotary_emb_scale_base rotary_scaling_factor "
     "scale_attn_by_inverse_layer_idx scale_attn_weights summary_activation summary_first_dropout "
     "summary_proj_to_labels "
     "summary_type summary_use_proj use_flash_attn use_xentropy max_trained_positions parallel_block_tied_norm "
     "dense_seq_output last_layer_subset"},
    {"nomic-bert", "false", "as its class has it", "prenorm causal parallel_block use_rms_norm"},
    {"clip siglip", "*", "the first values; activations, dropout; what a whole class has", "logit_scale_init_value "
     "projection_dim "
     "text_config_dict vision_config_dict hidden_act attention_dropout dropout"},
    {"dinov2 vit-model vit-mae", "*", "activations, dropout, which results are handed out", "hidden_act drop_path_rate "
     "layerscale_value apply_layernorm out_features out_indices reshape_hidden_states stage_names pooler_act "
     "mask_ratio "
     "norm_pix_loss"},
    {"dit sd3 pixart hunyuan-video qwen-image cogvideox ltx-video", "*", "sizes of samples; angles; norms without "
     "weights",
     "sample_size dropout norm_num_groups upcast_attention norm_eps interpolation_scale "
     "pos_embed_max_size "
     "rope_theta rope_axes_dim image_condition_type sample_width sample_height sample_frames "
     "temporal_compression_ratio "
     "max_text_seq_length spatial_interpolation_scale temporal_interpolation_scale use_rotary_positional_embeddings "
     "flip_sin_to_cos freq_shift timestep_activation_fn patch_size_t guidance_embeds"},
    {"dit sd3 pixart hunyuan-video qwen-image cogvideox ltx-video", "\"default\"", "as its class has it",
     "attention_type"},
    {"flux2 chroma lumina2 z-image", "*", "sizes of samples; angles", "sample_size rope_theta axes_dim_rope axes_lens "
     "axes_dims t_scale scaling_factor"},
    {"flux2", "*", "of a text that its class does not pool", "pooled_projection_dim"},
    {"dit pixart", "false", "as its class has it", "norm_elementwise_affine"},
    {"cogvideox", "true", "as its class has it", "norm_elementwise_affine patch_bias"},
    {"dit pixart", "*", "rows of a table that it does not have", "num_embeds_ada_norm"},
    {"qwen-image", "*", "of a text that its class does not pool", "pooled_projection_dim"},
    {"roberta-masked", "*", "what a forward pass handed out", "output_past"},
    {"qwen-image", "*", "how positions of layers of an image turn, without weights", "use_layer3d_rope"},
    {"pixart", "false", "as its layers are", "double_self_attention only_cross_attention use_linear_projection"},
    {"gemma3-model", "*", "the period that layer_types tell; its class goes by "
     "hidden_activation", "_sliding_window_pattern "
     "sliding_window_pattern hidden_act"},
    {"idefics3", "*", "how far patches are merged, which counts; token ids", "scale_factor image_token_id"},
    {"gpt-neo", "*", "which layers see a window; parts of classifiers", "attention_types window_size "
     "classifier_dropout summary_activation summary_first_dropout summary_proj_to_labels summary_type "
     "summary_use_proj"},
    {"distilbert-masked", "*", "dropout of classifiers; first values of positions; as its class ties", "qa_dropout "
     "seq_classif_dropout "
     "sinusoidal_pos_embds tie_weights_"},
    {"olmo-hybrid", "*", "the first values of weights; whether an eigenvalue may be negative", "linear_a_log_min "
     "linear_a_log_max "
     "linear_dt_min linear_dt_max linear_dt_init_floor linear_allow_neg_eigval"},
    {"step3-text", "*", "how a router scores; tokens, layers without rotary positions; other "
     "names", "norm_expert_weight "
     "rope_scaling_list num_attention_groups moe_router_activation yarn_only_types use_moe share_expert_dim "
     "moe_layers_enum"},
    {"phi4-mm", "*", "images, sound and adapters, which are counted beside the text", "embd_layer audio_processor "
     "img_processor "
     "vision_lora speech_lora original_max_position_embeddings full_attn_mod interpolate_factor"},
    {"phi4-mm", "false", "as its class has it", "lm_head_bias mlp_bias"},
    {"gemma2", "4096", "sliding_window under its first name", "sliding_window_size"},
    {"baichuan", "*", "how a file was made", "_from_model_config"},
    {"umt5 umt5-encoder", "*", "a word of another program: its class has no such argument", "scalable_attention"},
    {"xlstm", "*", "norms without weights of their own, kernels, the first values of gates, padding of a file",
     "eps add_embedding_dropout add_forward_backend_padding igate_bias_init_range mlstm_round_up_to_multiple_of "
     "cell_norm_eps force_bos_token_insert max_inference_chunksize"},
    {"xlstm", "false", "as its class has them", "add_qk_norm add_post_norm"},
    {"xlstm", "true", "as its class has them", "add_out_norm add_post_blocks_norm"},
    {"llama", "*", "how long texts a tokenizer cuts", "max_tokenizer_truncation"},
    {"dinov3", "*", "activations, dropout, first values; how positions are moved about in training; which results are "
     "handed out", "hidden_act drop_path_rate layerscale_value pos_embed_jitter pos_embed_rescale pos_embed_shift "
     "apply_layernorm out_features out_indices reshape_hidden_states return_class_token stage_names"},
    {"llama4", "*", "how a tool that quantises saw its experts: one by one, the same weights", "for_llm_compressor"},
    {"ernie4.5", "*", "how positions turn; dropout; which labels no loss counts; what a loader of weights does",
     "attention_probs_dropout_prob ignored_index rope_is_neox_style use_3d_rope weight_share_add_bias"},
};
// clang-format on

}  // namespace

std::span<const KnownKeys> more_known_keys() { return more_rows; }

}  // namespace stepcast::detail
