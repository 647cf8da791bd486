// Options of number types over what a checkpoint's name tells.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "model/base/text.h"
#include "studies/engines/checkpoint.h"

namespace stepcast::engines {
namespace {

/// stored: a loader of weights that are stored so, which stops at others
/// (vllm/model_executor/model_loader/weight_utils.py, get_quant_config).
enum class Says : unsigned char { type, checkpoint, narrows, stored };

/// Methods of --quantization (vllm/model_executor/layers/quantization, python/sglang/srt/layers/quantization) and
/// quant_algo (tensorrt_llm/quantization/mode.py).
struct Method {
  std::string_view name;
  Says says;
  std::string_view weights;
};
constexpr std::array methods = {Method{"fp8", Says::narrows, "fp8"}, Method{"fp8_per_tensor", Says::narrows, "fp8"},
    Method{"w8a8_fp8", Says::type, "fp8"}, Method{"fbgemm_fp8", Says::type, "fp8"},
    Method{"ptpc_fp8", Says::type, "fp8"}, Method{"fp8_block_scales", Says::type, "fp8-block"},
    Method{"mxfp8", Says::type, "mxfp8"}, Method{"modelopt", Says::checkpoint, ""},
    Method{"modelopt_fp8", Says::type, "fp8"}, Method{"modelopt_fp4", Says::type, "nvfp4"},
    Method{"petit_nvfp4", Says::type, "nvfp4"}, Method{"nvfp4", Says::type, "nvfp4"},
    Method{"mxfp4", Says::checkpoint, ""}, Method{"awq", Says::stored, "int4"},
    Method{"awq_marlin", Says::stored, "int4"}, Method{"w4a16", Says::type, "int4"},
    Method{"w4a16_awq", Says::type, "int4"}, Method{"w8a16", Says::type, "int8"}, Method{"gptq", Says::checkpoint, ""},
    Method{"gptq_marlin", Says::checkpoint, ""}, Method{"moe_wna16", Says::checkpoint, ""},
    Method{"compressed-tensors", Says::checkpoint, ""}, Method{"quark", Says::checkpoint, ""},
    Method{"auto-round", Says::checkpoint, ""}, Method{"inc", Says::checkpoint, ""},
    Method{"none", Says::checkpoint, ""}, Method{"null", Says::checkpoint, ""},
    Method{"no_quant", Says::checkpoint, ""}};

struct CacheName {
  std::string_view name, cache;
};
constexpr std::array cache_names = {CacheName{"fp8", "fp8"}, CacheName{"fp8_e4m3", "fp8"}, CacheName{"fp8_e5m2", "fp8"},
    CacheName{"bfloat16", "bf16"}, CacheName{"bf16", "bf16"}, CacheName{"float16", "fp16"}, CacheName{"half", "fp16"},
    CacheName{"fp16", "fp16"}, CacheName{"fp8_ds_mla", "fp8-ds-mla"}, CacheName{"nvfp4", "nvfp4"}};

bool is_half(const EngineSettings& settings) { return settings.dtype == "half" || settings.dtype == "float16"; }

Expected<std::string> weights_of(const EngineSettings& settings, const Checkpoint& checkpoint) {
  const std::string method = lower_case(settings.quantization);
  std::string weights = checkpoint.weights;
  if (!method.empty()) {
    const auto row = std::ranges::find(methods, std::string_view(method), &Method::name);
    if (row == methods.end())
      return fail("--quantization", fmt::format("weights by '{:.40}' are not forecast", settings.quantization),
          "--weights TYPE: the nearest of bf16, fp8, fp8-block, nvfp4, int4, ...");
    // A folder's name is its owner's, and says no more than the flag.
    const bool folder = settings.model.starts_with('/') || settings.model.starts_with('.');
    if (row->says == Says::stored && !folder && !weights.empty() && weights != row->weights)
      return fail("--quantization",
          fmt::format(
              "{} loads weights that are stored so, and those of {:.80} are {}", row->name, settings.model, weights),
          "the checkpoint that is made so (its name ends in -AWQ), or --weights int4");
    if (row->says == Says::type || row->says == Says::stored) weights = row->weights;
    if (row->says == Says::narrows && weights.empty() && checkpoint.several)
      return fail("--quantization",
          fmt::format("{} narrows wide weights alone, and in which type {:.80} stores them is not told", row->name,
              settings.model),
          "--weights fp8 of wide ones; of others their own: fp8-block, mxfp4, int4-experts, ...");
    // Wide weights are narrowed while they are read; narrow ones stay as they are.
    if (row->says == Says::narrows && !weights.starts_with("fp8")) weights = row->weights;
  } else if (!checkpoint.refused.empty()) {
    return fail(settings.model, checkpoint.refused, "--weights TYPE: the nearest of bf16, fp8, fp8-block, nvfp4, int4");
  }
  if (weights.empty())
    return fail("--weights",
        fmt::format("the number type of the weights is not told{}",
            settings.model.empty() ? "" : fmt::format(" by the name {:.80}", settings.model)),
        "--weights bf16, fp8, fp8-block, nvfp4, mxfp4, int4, ...");
  if (weights == "bf16" && is_half(settings)) return std::string("fp16");
  if (weights == "bf16" && settings.dtype.starts_with("float") && !is_half(settings))
    return fail("--dtype", "weights and activations of 32 bits are not forecast", "--weights bf16");
  return weights;
}

Expected<std::string> cache_of(
    const EngineSettings& settings, const Checkpoint& checkpoint, const TypesOf& of, std::vector<std::string>& notes) {
  const std::string said = lower_case(settings.cache);
  if (!said.empty() && said != "auto") {
    const auto row = std::ranges::find(cache_names, std::string_view(said), &CacheName::name);
    if (row == cache_names.end())
      return fail("--kv-cache-dtype", fmt::format("a cache of '{:.40}' is not forecast", settings.cache),
          "--kv TYPE: bf16, fp8 or nvfp4");
    return std::string(row->cache);
  }
  if (const auto own = cache_of_network(of)) {
    notes.push_back(fmt::format("--kv {}: nothing is said, and {}", own->type, own->note));
    return own->type;
  }
  // vLLM follows the file whatever it is told (attention/layer.py), TensorRT-LLM file and name.
  const bool in_file = !checkpoint.cache_how.empty(), follows = of.engine == "tensorrt-llm" || of.engine == "vllm";
  if (in_file && (checkpoint.cache.empty() || !follows))
    return fail("--kv",
        fmt::format("the checkpoint's file has its cache kept as {}, and what {} makes of that is not known",
            checkpoint.cache_how, of.engine),
        "--kv fp8, or --kv bf16");
  const std::string wide = is_half(settings) ? "fp16" : "bf16";
  CacheType kept{in_file ? checkpoint.cache : wide, in_file ? "the checkpoint has it by default" : ""};
  if (!in_file) {
    TRY(kept, cache_of_checkpoint(checkpoint, wide, of));
  }
  notes.push_back(fmt::format("--kv {}: nothing is said, and {}", kept.type, kept.note));
  return kept.type;
}

/// vllm/model_executor/models/config.py, DeepseekV32ForCausalLM; its numbers of a position are 512 and 64.
void put_latent_layout(NumberTypes& types, const TypesOf& of) {
  if (of.engine != "vllm" || types.cache != "fp8" || of.network == nullptr) return;
  const NetworkSpec& network = *of.network;
  if (network.sparse.top_k == 0 || network.latent.kv_rank != 512 || network.latent.rope_dim != 64) return;
  types.cache = "fp8-ds-mla";
  types.notes.emplace_back("an fp8 cache of latents that are picked is vLLM's fp8_ds_mla");
}

}  // namespace

Expected<NumberTypes> number_types_of(
    const EngineSettings& settings, const Checkpoint& checkpoint, const TypesOf& of, const NumberTypes& told) {
  NumberTypes out = told;
  if (out.weights.empty()) {
    TRY(out.weights, weights_of(settings, checkpoint));
  }
  if (out.cache.empty()) {
    TRY(out.cache, cache_of(settings, checkpoint, of, out.notes));
    put_latent_layout(out, of);
  }
  return out;
}

}  // namespace stepcast::engines
