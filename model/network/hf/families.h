// Internal to hf: what readers of several architectures share, and readers that stand in a file of their own.
#pragma once

#include <cstdint>

#include "model/network/hf/reader.h"

namespace stepcast::detail {

/// Sizes under the names that most classes share. key-value heads: 0 = as many as heads.
void shared_sizes(HfReader& r, std::int64_t kv_heads, std::int64_t head_dim, bool tied);
void attention_biases(HfReader& r, bool absent);
/// Every layer has the window. A class whose window is not none where the key is absent says `absent`.
void window_everywhere(HfReader& r, std::int64_t absent = 0);
/// By use_sliding_window, sliding_window and max_window_layers.
void window_behind(HfReader& r);
/// Experts under the names of DeepSeek's classes; nothing where the file has none.
void deepseek_experts(HfReader& r);

void llama_family(HfReader& r);
/// `tied`: where the file does not say it.
void llama_like(HfReader& r, bool tied);
void deepseek_family(HfReader& r);

// families_like.cpp
void arcee(HfReader& r);
void seed_oss(HfReader& r);
void smollm3(HfReader& r);
void granite(HfReader& r);
void dots1(HfReader& r);
void glm4_moe(HfReader& r);

// families_layernorm.cpp
void gpt2(HfReader& r);
void gpt_neox(HfReader& r);
void bloom(HfReader& r);
void nemotron(HfReader& r);
void opt(HfReader& r);
void starcoder2(HfReader& r);

}  // namespace stepcast::detail
