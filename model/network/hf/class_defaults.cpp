#include "model/network/hf/class_defaults.h"

namespace stepcast::detail {
namespace {

/// Of configuration_<family>.py; text configs are often written without what their class has anyway.
struct ClassDefault {
  const char *model_type, *key;
  std::int64_t value;
};
constexpr ClassDefault class_defaults[] = {
    {"llama", "hidden_size", 4096},
    {"llama", "intermediate_size", 11008},
    {"llama", "num_hidden_layers", 32},
    {"llama", "num_attention_heads", 32},
    {"llama", "vocab_size", 32000},
    {"llama", "max_position_embeddings", 2048},
    {"mistral", "hidden_size", 4096},
    {"mistral", "intermediate_size", 14336},
    {"mistral", "num_hidden_layers", 32},
    {"mistral", "num_attention_heads", 32},
    {"mistral", "vocab_size", 32000},
    {"mistral", "max_position_embeddings", 131072},
    {"qwen2", "hidden_size", 4096},
    {"qwen2", "intermediate_size", 22016},
    {"qwen2", "num_hidden_layers", 32},
    {"qwen2", "num_attention_heads", 32},
    {"qwen2", "num_key_value_heads", 32},
    {"qwen2", "vocab_size", 151936},
    {"qwen2", "max_position_embeddings", 32768},
    {"gemma", "max_position_embeddings", 8192},
};

}  // namespace

std::optional<std::int64_t> class_default(const std::string& model_type, const std::string& key) {
  for (const ClassDefault& row : class_defaults)
    if (model_type == row.model_type && key == row.key) return row.value;
  return std::nullopt;
}

}  // namespace stepcast::detail
