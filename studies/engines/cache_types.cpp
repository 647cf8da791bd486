// Number types of keys and values that nobody says: what engines choose for some networks, and since which releases they
// follow a checkpoint that tells the type of its cache.
#include <algorithm>

#include <fmt/format.h>

#include "studies/engines/checkpoint.h"
#include "studies/engines/habits.h"

namespace stepcast::engines {
namespace {

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

}  // namespace

std::optional<CacheType> cache_of_network(const TypesOf& of) {
  if (of.network == nullptr || of.gpu == nullptr) return std::nullopt;
  for (const NetworkCache& row : network_caches)
    if (row.engine == of.engine && row.has(*of.network) &&
        (row.architecture.empty() || row.architecture == of.gpu->architecture))
      return CacheType{std::string(row.cache), std::string(row.note)};
  return std::nullopt;
}

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

}  // namespace stepcast::engines
