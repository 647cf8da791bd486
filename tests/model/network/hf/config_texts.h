// Texts of config.json files for the tests of this folder.
#pragma once

#include <stdexcept>
#include <string>

#include "model/network/hf/config.h"

namespace stepcast::hf_texts {

inline const std::string llama_config =
    R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
  "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
  "max_position_embeddings": 131072, "hidden_act": "silu", "attention_bias": false, "tie_word_embeddings": false,
  "rope_scaling": {"factor": 8.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"},
  "torch_dtype": "bfloat16", "eos_token_id": [1, 2], "quantization_config": {"bits": 8, "groups": [{"size": 128}]}})";

inline std::string config_with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("nothing to replace: " + from);
  return text.replace(at, from.size(), to);
}

inline std::string config_error(const std::string& text, const std::string& as = "") {
  const auto config = read_hf_config(text, "config.json", as);
  return config ? "accepted" : to_text(config.error());
}

/// llama_config with more keys.
inline std::string llama_with(const std::string& keys) {
  return config_with(llama_config, "\"model_type\"", keys + ", \"model_type\"");
}

}  // namespace stepcast::hf_texts
