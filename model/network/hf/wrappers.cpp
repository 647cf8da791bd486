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
    {"step3p5", "step3.5"},
    {"ministral3", "mistral"},
    {"phi", "phi"},
    {"gpt2", "gpt2"},
    {"bloom", "bloom"},
    {"falcon", "falcon"},
    {"stablelm", "stablelm"},
    {"starcoder2", "starcoder2"},
    {"cohere", "cohere"},
    {"smollm3", "smollm3"},
    {"olmo2", "olmo2"},
    {"olmo3", "olmo3"},
    {"glm", "glm"},
    {"glm4", "glm4"},
    {"glm4_moe", "glm4-moe"},
    {"exaone4", "exaone4"},
    {"ernie4_5", "ernie4.5"},
    {"ernie4_5_moe", "ernie4.5-moe"},
    {"hunyuan_v1_dense", "hunyuan"},
    {"hunyuan_v1_moe", "hunyuan-moe"},
    {"lfm2", "lfm2"},
    {"lfm2_moe", "lfm2-moe"},
    {"minicpm", "minicpm"},
    {"seed_oss", "seed-oss"},
    {"granitemoehybrid", "granite-hybrid"},
    {"falcon_h1", "falcon-h1"},
    {"qwen3_next", "qwen3-next"},
    {"qwen3_5_text", "qwen3-next"},
    {"qwen3_5_moe_text", "qwen3-next"},
    {"qwen3_vl_text", "qwen3"},
    {"qwen2_5_omni_text", "qwen2"},
    {"gemma3n_text", "gemma3n"},
    {"kimi_linear", "kimi-linear"},
    {"deepseek_v32", "deepseek-sparse"},
    {"mistral4", "deepseek"},
    {"qwen3_asr_text", "qwen3"},
    {"persimmon", "persimmon"},
    {"emu3_text_model", "llama"},
    {"LLaVAOneVision1_5_text", "qwen3"},
    {"qwen2_vl_text", "qwen2"},
    {"qwen2_5_vl_text", "qwen2"},
    {"qwen3_vl_moe_text", "qwen3-moe"},
    {"gemma4_text", "gemma4"},
    {"glm4v_text", "glm4"},
    {"glm4v_moe_text", "glm4-moe"},
    {"gpt_neox", "gpt-neox"},
    {"olmoe", "olmoe"},
    {"minimax_m2", "minimax-m2"},
    {"hy_v3", "hunyuan-3"},
    {"phimoe", "phimoe"},
    {"deepseek_v4", "deepseek-v4"},
    {"glm_moe_dsa", "deepseek-sparse"},
    {"glm4_moe_lite", "glm4-moe-lite"},
    {"jamba", "jamba"},
    {"bamba", "bamba"},
    {"mamba", "mamba"},
    {"falcon_mamba", "mamba"},
    {"mamba2", "mamba2"},
    {"nemotron", "nemotron"},
    {"dbrx", "dbrx"},
    {"mpt", "mpt"},
    {"gptj", "gptj"},
    {"gpt_bigcode", "gpt-bigcode"},
    {"apertus", "apertus"},
    {"arcee", "arcee"},
    {"dots1", "dots1"},
    {"minimax", "minimax-text"},
    {"mimo", "mimo"},
    {"jais2", "jais2"},
    {"plamo3", "plamo3"},
    {"aria_text", "aria-text"},
    {"muse_glimmer_text", "muse-glimmer"},
    {"hyperclovax", "hyperclovax"},
    {"cosmos3_edge_text", "arcee"},
    {"cohere2_moe", "cohere2-moe"},
    {"granite_swa", "granite-swa"},
    {"granitemoe_swa", "granite-moe-swa"},
    {"granitemoe", "granite-moe"},
    {"granitemoeshared", "granite-moe-shared"},
    {"axk1", "axk1"},
    {"exaone_moe", "exaone-moe"},
    {"afmoe", "afmoe"},
    {"laguna", "laguna"},
    {"mellum", "mellum"},
    {"helium", "llama"},
    {"cwm", "cwm"},
    {"minimax_m3_vl_text", "minimax-m3"},
    {"mimo_v2_flash", "mimo-v2-flash"},
    {"solar_open", "glm4-moe"},
    {"hunyuan_vl_text", "hunyuan"},
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
      {"lfm2-vl", {"Lfm2VlForConditionalGeneration"}, "", "text_config", true},
      {"step3-vl", {"Step3VLForConditionalGeneration"}, "", "text_config"},
      {"nemotron-nano-vl", {"NemotronH_Nano_VL_V2", "Llama_Nemotron_Nano_VL"}, "", "llm_config"},
      {"qwen3-omni", {"Qwen3OmniMoeThinkerForConditionalGeneration"}, "", "text_config"},
      {"qwen3-omni", {"Qwen3OmniMoeForConditionalGeneration"}, "thinker_config", "text_config"},
      {"qwen2.5-omni", {"Qwen2_5OmniModel", "Qwen2_5OmniForConditionalGeneration"}, "thinker_config", "text_config",
          true},
      {"qwen2-audio", {"Qwen2AudioForConditionalGeneration"}, "", "text_config", true},
      {"voxtral", {"VoxtralForConditionalGeneration"}, "", "text_config", true},
      {"qwen3-asr", {"Qwen3ASRForConditionalGeneration"}, "thinker_config", "text_config", true},
      {"beside-text",
          {"LlavaNextVideoForConditionalGeneration", "VipLlavaForConditionalGeneration",
              "VideoLlavaForConditionalGeneration", "AyaVisionForConditionalGeneration",
              "Cohere2VisionForConditionalGeneration", "InternS1ForConditionalGeneration",
              "Idefics2ForConditionalGeneration", "UltravoxModel", "GraniteSpeechForConditionalGeneration",
              "Step3p7ForConditionalGeneration", "LightOnOCRForConditionalGeneration", "JanusForConditionalGeneration",
              "Emu3ForConditionalGeneration", "Ovis2ForConditionalGeneration", "PerceptionLMForConditionalGeneration",
              "LLaVAOneVision1_5_ForConditionalGeneration", "AudioFlamingo3ForConditionalGeneration",
              "GlmAsrForConditionalGeneration", "VoxtralRealtimeForConditionalGeneration",
              "TarsierForConditionalGeneration", "MantisForConditionalGeneration",
              "InternS1ProForConditionalGeneration", "Blip2ForConditionalGeneration",
              "InstructBlipForConditionalGeneration", "AriaForConditionalGeneration",
              "MuseGlimmerForConditionalGeneration", "OpenCUAForConditionalGeneration", "RForConditionalGeneration",
              "BeeForConditionalGeneration", "IsaacForConditionalGeneration", "MiDashengLMModel",
              "MiniMaxVL01ForConditionalGeneration", "HCXVisionV2ForCausalLM", "GotOcr2ForConditionalGeneration",
              "Exaone4_5_ForConditionalGeneration", "QianfanOCRForConditionalGeneration",
              "MiniCPMV4_6ForConditionalGeneration", "Granite4VisionForConditionalGeneration",
              "MusicFlamingoForConditionalGeneration", "VideoLlama3ForConditionalGeneration",
              "FastVlmForConditionalGeneration", "InternS2PreviewForConditionalGeneration",
              "Cosmos3EdgeForConditionalGeneration", "GlmgaForConditionalGeneration"},
          "", "text_config", true},
      {"deepseek-ocr", {"DeepseekOCRForCausalLM"}, "", "language_config", true},
      {"beside-language", {"DeepseekVLV2ForCausalLM", "DeepseekOCR2ForCausalLM", "MultiModalityCausalLM"}, "",
          "language_config", true},
      {"beside-llm",
          {"Ovis", "Ovis2_5", "SkyworkR1VChatModel", "H2OVLChatModel", "NVLM_D", "Eagle2_5_VLForConditionalGeneration",
              "NemotronH_Nano_Omni_Reasoning_V3", "NemotronH_Super_Omni_Reasoning_V3"},
          "", "llm_config", true},
      {"own-text", {"LlavaLlamaForCausalLM"}, "", "", true, "llama"},
      {"own-text", {"LlavaQwenForCausalLM"}, "", "", true, "qwen2"},
      {"dots-ocr", {"DotsOCRForCausalLM"}, "", "", true, "qwen2"},
      {"own-text", {"LlavaMistralForCausalLM"}, "", "", true, "mistral"},
      {"keye", {"KeyeForConditionalGeneration"}, "", "", true, "qwen3"},
      {"keye-1.5", {"KeyeVL1_5ForConditionalGeneration"}, "", "", true, "qwen3"},
      {"own-text", {"HunYuanVLForConditionalGeneration"}, "", "", true, "hunyuan"},
      {"paddleocr-vl", {"PaddleOCRVLForConditionalGeneration"}, "", "", true, "ernie4.5"},
      {"own-text", {"MiMoV2ForCausalLM"}, "", "", true, "mimo-v2-flash"},
      {"own-text", {"Phi3VForCausalLM"}, "", "", true, "phi3"},
      {"own-text", {"GLM4VForCausalLM"}, "", "", true, "chatglm"},
      {"minicpm-v-images", {"MiniCPMV"}, "", "", true, "minicpm-v"},
      {"own-text", {"MiniCPMO"}, "", "", true, "minicpm-v"},
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
