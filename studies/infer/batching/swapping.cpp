#include "studies/infer/batching/swapping.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/base/quantity_text.h"

namespace stepcast::infer {
namespace {

/// vLLM's config.py, CacheConfig.verify_with_parallel_config: more than this of the host's memory is an error.
constexpr double most_of_host = 0.7;

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
  if (!engine.prompts_apart)
    return fail("--preemption", "sequences in the host's memory beside iterations that hold prompts and tokens",
        "an engine that keeps them apart (vLLM without --enable-chunked-prefill), or --preemption recompute");
  if (serving.draft > 0)
    return fail("--preemption", "sequences in the host's memory whose next tokens are guessed",
        "without --draft, or --preemption recompute");
  if (keeps_states(serving))
    return fail("--preemption",
        fmt::format("layers of {} keep a state, which no engine copies to the host", serving.network().id),
        "--preemption recompute");
  if (serving.machine().host_link.value() <= 0)
    return fail("--machine", fmt::format("nothing tells the link to the host of {}", serving.machine().name),
        "host_link in its file, or --preemption recompute");
  const Bytes host = serving.machine().host_memory, most = host * most_of_host / ranks_of_host(serving);
  if (wishes.swap_space && row.space.value() > 0 && *wishes.swap_space > most)
    return fail("--swap-space",
        fmt::format("{} for each of {:.0f} GPUs, and the host has {}: the engine does not start with more than 70 %",
            format_bytes(*wishes.swap_space), ranks_of_host(serving), format_bytes(host)),
        fmt::format("at most {}", format_bytes(most)));
  return {};
}

SwapCopies::SwapCopies(const Serving& serving) {
  const double link = serving.machine().host_link.value();
  // Longer than every window: what a block of a long sequence has.
  const auto block = static_cast<double>(serving.engine.cache_block);
  double bytes = 0;
  for (const Serving::Held& stage : serving.form->held())
    bytes += serving.cache_bytes(stage, block) - serving.cache_bytes(stage, 0);
  block_ = Bytes(bytes);
  const NetworkSpec& network = serving.network();
  const Seconds starts = serving.engine.swapping.per_copy * (layers_with_keys(network) * tensors_of_layer(network));
  of_block_ = link > 0 ? std::max(Seconds(bytes / link), starts) : starts;
}

Seconds SwapCopies::one_way(double blocks) const { return of_block_ * blocks; }

}  // namespace stepcast::infer
