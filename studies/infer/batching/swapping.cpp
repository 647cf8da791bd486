#include "studies/infer/batching/swapping.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/quantity_text.h"

namespace stepcast::infer {
namespace {

/// vLLM's config.py, CacheConfig.verify_with_parallel_config: more than this of the host's memory is an error.
constexpr double most_of_host = 0.7;

/// SGLang's num_reserved_decode_tokens (python/sglang/srt/server_args.py). A request comes back with room for its keys
/// and so many, beside as many for each that runs (python/sglang/srt/disaggregation/decode.py, resume_retracted_reqs
/// and _allocatable_token_budgets).
constexpr std::int64_t reserved_positions = 512;

/// Of the cache's positions, those that SGLang's host has slots for since pull request 34801 of 2026-08, where keys are
/// of heads and there are no states (python/sglang/srt/mem_cache/kv_cache_builder.py, BACKUP_ONLY_HICACHE_RATIO).
constexpr double newer_share = 0.2;

/// Families whose pools SGLang cannot copy to the host, so that it stops (pull request 37239, open: their pool has no
/// get_cpu_copy).
constexpr std::string_view not_copied[] = {"deepseek-v4"};

/// Ranks of one host that have a part of it each.
double ranks_of_host(const Serving& serving) {
  const auto gpus = static_cast<double>(serving.scenario.plan.gpus);
  return std::min(gpus, static_cast<double>(serving.machine().levels.front().gpus));
}

bool keeps_states(const Serving& serving) {
  return std::ranges::any_of(
      serving.form->held(), [&](const Serving::Held& stage) { return serving.cache_bytes(stage, 0) > 0; });
}

/// Tensors of one layer's keys and values that a block has a part in: latents are one.
double tensors_of_layer(const NetworkSpec& network) { return network.latent.kv_rank > 0 ? 1 : 2; }

double layers_with_keys(const NetworkSpec& network) {
  if (network.pattern.empty()) return static_cast<double>(network.layers);
  return static_cast<double>(
      std::ranges::count_if(network.pattern, [](const LayerKind& layer) { return layer.attention; }));
}

}  // namespace

bool swaps(const Engine& engine, const BatchingWishes& wishes) {
  const bool by_itself = engine.swapping.when == SwapsWhen::decoding && wishes.decodes;
  return wishes.swaps.value_or(by_itself);
}

Bytes swap_space(const Serving& serving, const BatchingWishes& wishes) {
  if (wishes.swap_space) return *wishes.swap_space;
  if (serving.engine.swapping.space.value() > 0) return serving.engine.swapping.space;
  return serving.machine().host_memory / ranks_of_host(serving);
}

/// vLLM's rule counts tensor ranks alone (config.py, verify_with_parallel_config).
Bytes most_swap_space(const Serving& serving) {
  const Bytes host = serving.machine().host_memory, each = host / ranks_of_host(serving);
  if (serving.engine.swapping.space.value() <= 0) return each;
  return std::min(each, host * most_of_host / static_cast<double>(serving.tensor_ways));
}

std::int64_t spare_of_each(const Engine& engine) {
  if (engine.swapping.when != SwapsWhen::decoding) return 0;
  return (reserved_positions + engine.cache_block - 1) / engine.cache_block;
}

namespace {

/// Of engines that swap where they are asked to.
Expected<void> check_asked(const Serving& serving) {
  const Engine& engine = serving.engine;
  if (!engine.prompts_apart)
    return fail("--preemption", "sequences in the host's memory beside iterations that hold prompts and tokens",
        "an engine that keeps them apart (vLLM with --no-enable-chunked-prefill), or --preemption recompute");
  if (serving.draft > 0)
    return fail("--preemption", "sequences in the host's memory whose next tokens are guessed",
        "without --draft, or --preemption recompute");
  if (keeps_states(serving))
    return fail("--preemption",
        fmt::format("layers of {} keep a state, which {} does not copy to the host", serving.network().id, engine.name),
        "--preemption recompute");
  if (serving.machine().host_link.value() <= 0)
    return fail("--machine", fmt::format("nothing tells the link to the host of {}", serving.machine().name),
        "host_link in its file, or --preemption recompute");
  return {};
}

}  // namespace

Expected<void> check_swapping(const Serving& serving, const BatchingWishes& wishes) {
  const Engine& engine = serving.engine;
  const Engine::Swapping& row = engine.swapping;
  const bool decoding = row.when == SwapsWhen::decoding;
  if (!swaps(engine, wishes)) {
    if (wishes.swap_space)
      return fail("--swap-space", "sequences that give way are read again and leave nothing in the host's memory",
          "with --preemption swap, or without it");
    if (decoding && wishes.decodes)
      return fail("--preemption", fmt::format("the pool that decodes reads no prompts again in {}", engine.name),
          "--preemption swap, which it does by itself");
    return {};
  }
  if (row.when == SwapsWhen::never)
    return fail("--preemption", fmt::format("{} keeps no sequences that give way: it reads them again", engine.name),
        "--preemption recompute, or --engine vllm-v0");
  if (decoding && !wishes.decodes)
    return fail("--preemption", fmt::format("{} keeps sequences that give way in pools that decode alone", engine.name),
        "--preemption recompute, or --prefill-gpus for a pool of prompts");
  if (!decoding) TRY(check_asked(serving));
  const Bytes host = serving.machine().host_memory, most = most_swap_space(serving);
  if (wishes.swap_space && *wishes.swap_space > most)
    return fail("--swap-space",
        fmt::format("{} for each of {:.0f} GPUs, and the host has {}{}", format_bytes(*wishes.swap_space),
            ranks_of_host(serving), format_bytes(host),
            row.space.value() > 0 ? ": the engine does not start with more than 70 % of it for its tensor ranks" : ""),
        fmt::format("at most {}", format_bytes(most)));
  return {};
}

Expected<void> check_swapped(const Serving& serving, const sim::Swaps& swaps) {
  const Engine& engine = serving.engine;
  if (swaps.refused > 0 && !engine.swapping.reads_again)
    return fail("--swap-space", "sequences that give way fill the host's memory, and the engine stops",
        "a lower --most-sequences");
  if (swaps.sequences == 0) return {};
  if (engine.swapping.when == SwapsWhen::decoding && contains(not_copied, serving.network().family))
    return fail("--most-sequences",
        fmt::format(
            "sequences give way, and {} copies no keys of {} to the host: it stops", engine.name, serving.network().id),
        "fewer at once, so that none gives way");
  if (serving.machine().host_link.value() <= 0)
    return fail("--machine",
        fmt::format("sequences give way to the host's memory, and nothing tells the link to the host of {}",
            serving.machine().name),
        "host_link in its file, or fewer sequences at once, so that none gives way");
  return {};
}

std::string warning_of_swaps(const Serving& serving, const sim::BatchingPolicy& policy, const sim::Swaps& swaps) {
  const bool by_heads = serving.network().latent.kv_rank == 0 && !keeps_states(serving);
  const double share = static_cast<double>(swaps.most_blocks) / static_cast<double>(policy.blocks);
  if (serving.engine.swapping.when != SwapsWhen::decoding || !by_heads || share <= newer_share) return "";
  return fmt::format("the host keeps as much as {} of the cache, and releases of {} since 2026-08 keep {} and end "
                     "requests beyond that with an error",
      format_percent(share), serving.engine.name, format_percent(newer_share));
}

SwapCopies::SwapCopies(const Serving& serving, double length) {
  const double link = serving.machine().host_link.value();
  const auto block = static_cast<double>(serving.engine.cache_block);
  double bytes = 0;
  for (const Serving::Held& stage : serving.form->held())
    bytes += length > 0 ? serving.cache_bytes(stage, length) / length * block
                        : serving.cache_bytes(stage, block) - serving.cache_bytes(stage, 0);
  block_ = Bytes(bytes);
  const NetworkSpec& network = serving.network();
  const Seconds starts = serving.engine.swapping.per_copy * (layers_with_keys(network) * tensors_of_layer(network));
  of_block_ = link > 0 ? std::max(Seconds(bytes / link), starts) : starts;
}

Seconds SwapCopies::one_way(double blocks) const { return of_block_ * blocks; }

}  // namespace stepcast::infer
