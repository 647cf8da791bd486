// Internal to hf: what readers of several architectures share, and readers that stand in a file of their own.
#pragma once

#include <cstdint>

#include "model/network/hf/reader.h"

namespace stepcast::detail {

/// num_hidden_layers, hidden_size and num_attention_heads.
void stream_sizes(HfReader& r);
/// Gate and up of intermediate_size.
void gated_mlp(HfReader& r, const char* activation = "hidden_act");
/// The width of one expert, which the keys of the three sizes give with the others.
std::int64_t expert_sizes(HfReader& r, const char* count, const char* top_k, const char* width);
/// Sizes under the names that most classes share. key-value heads: 0 = as many as heads.
void shared_sizes(HfReader& r, std::int64_t kv_heads, std::int64_t head_dim, bool tied);
void attention_biases(HfReader& r, bool absent);
/// Biases on the projections of attention, of the MLP, or of both.
void dense_biases(HfReader& r, bool attention, bool mlp);
/// A kind for each layer: the shortest list that says the same when repeated over all.
std::vector<LayerKind> shortest(std::vector<LayerKind> kinds);
/// Every layer has the window. A class whose window is not none where the key is absent says `absent`.
void window_everywhere(HfReader& r, std::int64_t absent = 0);
/// By use_sliding_window, sliding_window and max_window_layers.
void window_behind(HfReader& r);
/// n_group and topk_group: a token takes its experts out of some groups of neighbours.
void expert_groups(HfReader& r);
/// Of experts under the names of DeepSeek's classes how many there are and how wide.
void deepseek_counts(HfReader& r);
/// How many leading layers have an MLP in place of experts, by mlp_layer_types or first_k_dense_replace.
std::int64_t leading_mlps(HfReader& r);
/// Experts under the names of DeepSeek's classes; nothing where the file has none.
void deepseek_experts(HfReader& r);

void llama_family(HfReader& r);
/// `tied`: where the file does not say it.
void llama_like(HfReader& r, bool tied);
void deepseek_family(HfReader& r);
void deepseek_sparse(HfReader& r);
void phi3(HfReader& r);
void phi4_mm(HfReader& r);
void mistral(HfReader& r);
void mixtral(HfReader& r);
void qwen2(HfReader& r);
void qwen3(HfReader& r);
void qwen2_moe(HfReader& r);
void qwen3_moe(HfReader& r);
void gpt_oss(HfReader& r);
void llama4(HfReader& r);
void gemma(HfReader& r);
void glm4_moe_lite(HfReader& r);
/// Of networks with latent attention; `length` bounds their positions; how wide values are
/// where the file does not say it (0: it must).
void latent_sizes(HfReader& r, const char* length, std::int64_t value_dim = 0, bool tied = false);

// like.cpp
void arcee(HfReader& r);
void seed_oss(HfReader& r);
void smollm3(HfReader& r);
void granite(HfReader& r);
void orion(HfReader& r);
void internlm(HfReader& r);
void cwm(HfReader& r);
void qwen1(HfReader& r);
void youtu(HfReader& r);
void plamo(HfReader& r);
void mellum(HfReader& r);
void grok(HfReader& r);
void arctic(HfReader& r);
void bitnet(HfReader& r);
void ouro(HfReader& r);
void iquest_loop(HfReader& r);
void nanochat(HfReader& r);
void klear(HfReader& r);
void hunyuan3(HfReader& r);
void hyperclovax(HfReader& r);
void mobilellm(HfReader& r);
void minicpm_v(HfReader& r);
void jais2(HfReader& r);
void pangu(HfReader& r);
void aria_text(HfReader& r);

// window_turns.cpp
void cohere2_moe(HfReader& r);
void granite_swa(HfReader& r);
void granite_moe_swa(HfReader& r);
void modernbert_decoder(HfReader& r);

// latent_norms.cpp
void axk1(HfReader& r);
void axk2(HfReader& r);
void pangu_ultra(HfReader& r);

// masked_diffusion.cpp
void llada_moe(HfReader& r);
void dream(HfReader& r);
void llada(HfReader& r);
void eurobert(HfReader& r);
void sdar(HfReader& r);
void sdar_moe(HfReader& r);

// translation.cpp
void bart(HfReader& r);
void marian(HfReader& r);
void mbart(HfReader& r);
void m2m100(HfReader& r);
void blenderbot(HfReader& r);
void xglm(HfReader& r);
void biogpt(HfReader& r);

// names.cpp
void baichuan(HfReader& r);
void internlm3(HfReader& r);
void minicpm(HfReader& r);
void minicpm3(HfReader& r);
void glm(HfReader& r);
void chatglm(HfReader& r);
void ernie(HfReader& r);
void hunyuan(HfReader& r);
void exaone(HfReader& r);
void mimo(HfReader& r);
void gpt_bigcode(HfReader& r);
void persimmon(HfReader& r);

// bailing.cpp
void bailing_moe(HfReader& r);
void bailing_moe_v2(HfReader& r);
void sarvam_moe(HfReader& r);
void sarvam_latent(HfReader& r);
void bailing_linear(HfReader& r);
void bailing_latent(HfReader& r);
void bailing_v3(HfReader& r);
void afmoe(HfReader& r);
void exaone_moe(HfReader& r);
void granite_moe(HfReader& r);
void granite_moe_shared(HfReader& r);
void flex_olmo(HfReader& r);

// experts.cpp
void dots1(HfReader& r);
void glm4_moe(HfReader& r);
void ernie_moe(HfReader& r);
void hunyuan_moe(HfReader& r);
void hunyuan_large(HfReader& r);
void minimax_m2(HfReader& r);
void phi_moe(HfReader& r);
void xverse_moe(HfReader& r);

// norms.cpp
void gemma2(HfReader& r);
void gemma3(HfReader& r);
void vault_gemma(HfReader& r);
void gemma3_model(HfReader& r);
void olmo2(HfReader& r);
void olmo3(HfReader& r);
void olmoe(HfReader& r);
void cohere(HfReader& r);
void cohere2(HfReader& r);
void exaone4(HfReader& r);
void apertus(HfReader& r);
void mpt(HfReader& r);
void plamo3(HfReader& r);
void muse_glimmer(HfReader& r);

// more.cpp
void glm4(HfReader& r);
void mamba1_alone(HfReader& r);
void phi(HfReader& r);
void falcon(HfReader& r);
void internlm2(HfReader& r);
void stablelm(HfReader& r);
void deepseek_moe(HfReader& r);
void dbrx(HfReader& r);
void minimax_text(HfReader& r);

// hybrid.cpp
void nemotron_h(HfReader& r);
void bamba(HfReader& r);
void granite_hybrid(HfReader& r);
void jamba(HfReader& r);
void mamba2_alone(HfReader& r);
void falcon_h1(HfReader& r);
void qwen3_next(HfReader& r);
void olmo_hybrid(HfReader& r);
void kimi_linear(HfReader& r);
void lfm2(HfReader& r);
void lfm2_moe(HfReader& r);

// shapes.cpp
void decilm(HfReader& r);
void minimax_m3(HfReader& r);
void deepseek_v4(HfReader& r);
void openelm(HfReader& r);

// shared_keys.cpp
void gemma4(HfReader& r);
void gemma3n(HfReader& r);

// encoder.cpp
void bert_masked(HfReader& r);
void roberta_masked(HfReader& r);
void esm(HfReader& r);
void roformer(HfReader& r);
void megatron_bert(HfReader& r);
void distilbert_masked(HfReader& r);
void bert_pretraining(HfReader& r);
void modernbert(HfReader& r);
void t5(HfReader& r);
void whisper(HfReader& r);
void llama_vision(HfReader& r);

// counted_more.cpp
/// Weights of the spec and `extra`; the file is counted, for it has layers of a kind that is missing here.
void count_beside(HfReader& r, std::int64_t extra, const char* missing, const char* layers);
void olmo(HfReader& r);
void phi3_small(HfReader& r);
void rwkv(HfReader& r);
void xlstm(HfReader& r);
void recurrent_gemma(HfReader& r);
void jetmoe(HfReader& r);

// window_heads.cpp
void mimo_v2_flash(HfReader& r);
void step3p5(HfReader& r);
void laguna(HfReader& r);

// counted_heads.cpp
/// "3,4,5", or [3, 4, 5]: the layers that a text or a list names.
std::vector<std::int64_t> listed_layers(HfReader& r, const char* key);
void step3_text(HfReader& r);
void zamba2(HfReader& r);
void longcat_flash(HfReader& r);

// counted_encoders.cpp
/// Sizes under the names of BERT; absent ones are what the class has.
void sizes_or(HfReader& r, std::int64_t layers, std::int64_t hidden, std::int64_t ffn, std::int64_t heads);
/// An encoder's layers, counted with all that stands around them.
void two_sided(HfReader& r, std::int64_t weights, const char* part, std::string missing);
void mpnet_model(HfReader& r);
void mpnet_masked(HfReader& r);
void albert_masked(HfReader& r);
void gte_new(HfReader& r);
void t5_encoder(HfReader& r);
void umt5(HfReader& r);
void umt5_encoder(HfReader& r);
void electra(HfReader& r);
void deberta_model(HfReader& r);
void deberta_masked(HfReader& r);
void nomic_bert(HfReader& r);

// counted_images.cpp
void clip(HfReader& r);
void clip_text(HfReader& r);
void clip_text_projected(HfReader& r);
void clip_vision(HfReader& r);
void clip_vision_projected(HfReader& r);
void siglip(HfReader& r);
void siglip_vision(HfReader& r);
void dinov2(HfReader& r);
void dinov3(HfReader& r);
void dinov2_classes(HfReader& r);
void vit_model(HfReader& r);
void vit_mae(HfReader& r);

// counted_diffusion.cpp
void dit(HfReader& r);
void sd3(HfReader& r);
void pixart(HfReader& r);
void hunyuan_video(HfReader& r);
void cogvideox(HfReader& r);
void ltx_video(HfReader& r);

// numbers.cpp
void diffusion_sizes(HfReader& r);
void vit(HfReader& r);
void wan(HfReader& r);
void wan_own(HfReader& r);
void flux(HfReader& r);
void flux2(HfReader& r);
void chroma(HfReader& r);
void qwen_image(HfReader& r);

// single_stream.cpp
void lumina2(HfReader& r);
void z_image(HfReader& r);

// layernorm.cpp
/// n_layer, n_embd, n_head, n_inner (absent: four times n_embd), vocab_size and n_positions; LayerNorm.
void gpt2_sizes(HfReader& r);
void gpt2(HfReader& r);
void jais(HfReader& r);
void gpt_neo(HfReader& r);
void gptj(HfReader& r);
void gpt_neox(HfReader& r);
void bloom(HfReader& r);
void nemotron(HfReader& r);
void opt(HfReader& r);
void starcoder2(HfReader& r);

}  // namespace stepcast::detail
