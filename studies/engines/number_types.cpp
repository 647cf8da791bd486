// Options of number types over what a checkpoint's name tells; where none says it, what engines choose for some
// networks, and since which releases they follow a checkpoint that tells the type of its cache.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "model/base/text.h"
#include "studies/engines/checkpoint.h"
#include "studies/engines/habits.h"

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

/// A type of keys and values, and who has it so.
struct CacheType {
  std::string type, note;
};

bool picks_latents(const NetworkSpec& network) { return network.sparse.top_k > 0 && network.latent.kv_rank > 0; }
bool compresses_keys(const NetworkSpec& network) { return network.compressed.q_rank > 0; }

/// python/sglang/srt/server_args.py (DeepSeek NSA, later DSA: fp8_e4m3 from compute capability 10 on, else bfloat16)
/// and python/sglang/srt/arg_groups/deepseek_v4_hook.py (fp8_e4m3 alone); vllm-project/vllm pull request 45091
/// (FlashMLA of V4, which is Hopper's, takes fp8_ds_mla alone). The first row that fits counts.
struct NetworkCache {
  std::string_view engine;
  bool (*has)(const NetworkSpec& network);
  std::string_view architecture, cache, note;  ///< of the GPU; "": any
};
constexpr NetworkCache network_caches[] = {
    {"sglang", picks_latents, "blackwell", "fp8", "SGLang keeps latents that are picked so on Blackwell"},
    {"sglang", picks_latents, "", "bf16", "SGLang keeps latents that are picked so on other GPUs than Blackwell"},
    {"sglang", compresses_keys, "", "fp8", "SGLang keeps compressed keys in no other type"},
    {"vllm", compresses_keys, "hopper", "fp8-ds-mla", "vLLM keeps compressed keys in no other type on Hopper"},
};

/// Releases that follow the cache's type of the Model Optimizer's checkpoints (kv_cache_quant_algo): none before
/// `without`, all since `since`; of those between it is not known.
/// vLLM: pull request 29980 was opened on the day of 0.12.0 and merged before pull request 31895 of January 2026 built
/// on it, which 0.14.0 has. SGLang: model_executor/model_runner.py of 0.5.2 takes the model's own type, and issue 12298
/// of October 2025 is of a server that took the checkpoint's (pull request 18394 says why it failed).
struct CacheRelease {
  std::string_view engine, name, without, since;
  bool newest;  ///< a release that nobody tells is one of the newest
};
constexpr CacheRelease cache_releases[] = {
    {"vllm", "vLLM", "0.13", "0.14", false}, {"sglang", "SGLang", "0.5.3", "0.5.5", true}};

constexpr std::string_view as_checkpoint = "the checkpoint has it by default";

/// An engine's own choice for some networks, whatever the checkpoint tells. nullopt: it has none.
std::optional<CacheType> cache_of_network(const TypesOf& of) {
  if (of.network == nullptr || of.gpu == nullptr) return std::nullopt;
  for (const NetworkCache& row : network_caches)
    if (row.engine == of.engine && row.has(*of.network) &&
        (row.architecture.empty() || row.architecture == of.gpu->architecture))
      return CacheType{std::string(row.cache), std::string(row.note)};
  return std::nullopt;
}

/// What its release makes of a cache that the name of a checkpoint tells, where the engine is `wide` by itself. Errors:
/// releases that differ, where it is not told which one it is.
Expected<CacheType> cache_of_checkpoint(const Checkpoint& checkpoint, const std::string& wide, const TypesOf& of) {
  const CacheType engines_own{wide, "the engine has it by default"};
  if (checkpoint.cache.empty()) return engines_own;
  const CacheType followed{checkpoint.cache, std::string(as_checkpoint)};
  if (of.engine == "tensorrt-llm") return followed;
  const auto row = std::ranges::find(cache_releases, std::string_view(of.engine), &CacheRelease::engine);
  if (!checkpoint.optimized || row == std::end(cache_releases)) return engines_own;
  const std::vector<int> release = numbers_of_release(of.release);
  if (!release.empty() && release < numbers_of_release(row->without))
    return CacheType{wide, fmt::format("{} before {} does not follow the checkpoint, which has {}", row->name,
                               row->without, checkpoint.cache)};
  if (!release.empty() && release >= numbers_of_release(row->since)) return followed;
  if (release.empty() && row->newest)
    return CacheType{checkpoint.cache, fmt::format("{} ({} follows it since {} or earlier, and not before {})",
                                           as_checkpoint, row->name, row->since, row->without)};
  return fail("--kv",
      fmt::format("the checkpoint has its cache in {}, which {} follows since {} and not before {}: {}",
          checkpoint.cache, row->name, row->since, row->without,
          release.empty() ? "which release it is is not told" : "of releases between it is not known"),
      fmt::format("--kv {} for {} and later, --kv {} before {}, or an image with the release", checkpoint.cache,
          row->since, wide, row->without));
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
