#include "model/network/hf/wrappers.h"

#include <algorithm>

#include "model/network/hf/reader.h"

namespace stepcast::detail {
namespace {

/// Which family reads the text config of a class (src/transformers/models/auto/configuration_auto.py of transformers).
struct TextType {
  const char *model_type, *family;
};
constexpr TextType text_types[] = {
    {"llama", "llama"},
    {"mistral", "mistral"},
    {"mixtral", "mixtral"},
    {"qwen2", "qwen2"},
    {"qwen2_moe", "qwen2-moe"},
    {"qwen3", "qwen3"},
    {"qwen3_moe", "qwen3-moe"},
    {"qwen3_omni_moe_text", "qwen3-moe"},
    {"gemma", "gemma"},
    {"gemma2", "gemma2"},
    {"gemma3_text", "gemma3"},
    {"phi3", "phi3"},
    {"internlm2", "internlm2"},
    {"internlm3", "internlm3"},
    {"deepseek_v2", "deepseek"},
    {"deepseek_v3", "deepseek"},
    {"gpt_oss", "gpt-oss"},
    {"nemotron_h", "nemotron-h"},
    {"cohere2", "cohere2"},
    {"granite", "granite"},
    {"opt", "opt"},
    {"step3_text", "step3-text"},
};

const std::vector<HfWrapper>& wrappers() {
  static const std::vector<HfWrapper> rows = {
      {"llava", {"LlavaForConditionalGeneration"}, "", "text_config"},
      {"llava-next", {"LlavaNextForConditionalGeneration"}, "", "text_config"},
      {"llava-onevision", {"LlavaOnevisionForConditionalGeneration"}, "", "text_config"},
      {"paligemma", {"PaliGemmaForConditionalGeneration"}, "", "text_config"},
      {"internvl", {"InternVLForConditionalGeneration"}, "", "text_config"},
      {"internvl-chat", {"InternVLChatModel"}, "", "llm_config"},
      {"kimi-vl", {"KimiVLForConditionalGeneration"}, "", "text_config"},
      {"idefics3", {"Idefics3ForConditionalGeneration", "SmolVLMForConditionalGeneration"}, "", "text_config"},
      {"step3-vl", {"Step3VLForConditionalGeneration"}, "", "text_config"},
      {"nemotron-nano-vl", {"NemotronH_Nano_VL_V2", "Llama_Nemotron_Nano_VL"}, "", "llm_config"},
      {"qwen3-omni", {"Qwen3OmniMoeThinkerForConditionalGeneration"}, "", "text_config"},
      {"qwen3-omni", {"Qwen3OmniMoeForConditionalGeneration"}, "thinker_config", "text_config"},
  };
  return rows;
}

}  // namespace

const HfWrapper* wrapper_of(const std::string& architecture) {
  for (const HfWrapper& row : wrappers())
    for (const char* name : row.architectures)
      if (architecture == name) return &row;
  return nullptr;
}

std::vector<std::string> wrapper_architectures() {
  std::vector<std::string> names;
  for (const HfWrapper& row : wrappers()) names.insert(names.end(), row.architectures.begin(), row.architectures.end());
  return names;
}

std::string family_of_text(JsonObject& text) {
  std::vector<std::string> names;
  std::string type;
  if (text.type_of("architectures") == "list") text.read("architectures", names);
  if (text.type_of("model_type") == "string") text.read("model_type", type);
  for (const HfFamily& family : hf_family_table())
    for (const char* name : family.architectures)
      if (!names.empty() && names.front() == name) return family.id;
  const auto row = std::ranges::find(text_types, type, &TextType::model_type);
  return row == std::end(text_types) ? "" : row->family;
}

std::vector<std::string> known_text_types() {
  std::vector<std::string> names;
  for (const TextType& row : text_types) names.emplace_back(row.model_type);
  return names;
}

}  // namespace stepcast::detail
