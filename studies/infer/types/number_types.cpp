#include "studies/infer/types/number_types.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace stepcast::infer {
namespace {

/// What weights and caches may be made of: bytes of an element with its scales, and what multiplies it.
struct NumberType {
  const char* name;
  double bytes;
  Precision products;
  bool block_scaled = false, weights_alone = false, latents_alone = false;
  double beside_experts = 0;  ///< of a type of experts alone: bytes of what is beside them; 0: of all weights
  [[nodiscard]] bool experts_alone() const { return beside_experts > 0; }
};
constexpr double fp8_in_blocks = 1 + 4.0 / (128 * 128);
// Scales: one fp32 per block of 128 x 128; one byte per 32 (mx) or 16 (nvfp4) elements; w4: one bf16 per group of 128
// (AWQ, GPTQ). mxfp4 is what gpt-oss and DeepSeek V4 have in their experts alone, int4 in groups of 32 what Kimi K2
// Thinking and K2.5 have there (moonshotai/Kimi-K2.5 config.json, quantization_config). DeepSeek V4's own files have
// experts in mxfp4 beside fp8 in blocks (deepseek-ai/DeepSeek-V4-Flash config.json, expert_dtype).
constexpr NumberType number_types[] = {{"bf16", 2, Precision::bf16}, {"fp16", 2, Precision::fp16},
    {"fp8", 1, Precision::fp8}, {"fp8-block", fp8_in_blocks, Precision::fp8, true},
    {"mxfp8", 1 + 1.0 / 32, Precision::mxfp8}, {"nvfp4", 0.5 + 1.0 / 16, Precision::nvfp4},
    {"mxfp4", 0.5 + 1.0 / 32, Precision::bf16, false, true, false, 2},
    {"fp8-mxfp4-experts", 0.5 + 1.0 / 32, Precision::fp8, true, true, false, fp8_in_blocks},
    {"int4-experts", 0.5 + 2.0 / 32, Precision::bf16, false, true, false, 2},
    {"int4", 0.5 + 2.0 / 128, Precision::bf16, false, true}, {"int8", 1, Precision::bf16, false, true},
    {"fp8-ds-mla", 1, Precision::fp8, false, false, true}};

/// fp8_ds_mla: what is turned stays in bf16. Of V3.2's latents 512 numbers in fp8 with four scales of four bytes, and
/// 64 turned ones (vllm-project/vllm v1/attention/backends/mla/flashmla_sparse.py); of V4's keys 448 in fp8 with seven
/// scales of a byte and one to fill, and 64 turned ones (deepseek-ai/FlashMLA tests/quant.py, MODEL1_FP8Sparse).
struct LatentLayout {
  double narrow, turned, scales;
  [[nodiscard]] double bytes_per_number() const { return (narrow + 2 * turned + scales) / (narrow + turned); }
};
/// nullptr: the network has neither.
const LatentLayout* latent_layout(const NetworkSpec& network) {
  static constexpr LatentLayout latents{512, 64, 16}, compressed_keys{448, 64, 8};
  if (network.latent.kv_rank == 512 && network.latent.rope_dim == 64) return &latents;
  return network.compressed.q_rank > 0 && network.head_dim == 512 ? &compressed_keys : nullptr;
}

Expected<const NumberType*> number_type(const std::string& name, const char* where) {
  std::string known;
  for (const NumberType& row : number_types) {
    if (name == row.name) return &row;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  return fail(where, fmt::format("unknown number type '{:.40}'", name), known);
}

/// Of an element with its scales: nvfp4 has a byte per 16.
double gathered_bytes(Precision products) {
  return operand_bytes(products) + (products == Precision::nvfp4 ? 1.0 / 16 : 0);
}

/// Where nobody says it: what the checkpoint of a file keeps, else `wide`.
Expected<std::string> weights_untold(
    const StoredWeights& stored, const std::string& wide, std::vector<std::string>& assumptions) {
  if (!stored.how.empty() && stored.type.empty())
    return fail("--weights", fmt::format("the file keeps its weights as {}, which is no type of ours", stored.how),
        "--weights TYPE: the nearest of bf16, fp8, fp8-block, nvfp4, int4, ...");
  if (stored.how.empty()) {
    assumptions.push_back("--weights " + wide);
    return wide;
  }
  assumptions.push_back(fmt::format("--weights {}, as {} says", stored.type, stored.told_by));
  return stored.type;
}

/// Of weights that are the file's own: what stays wide, what is narrow beside it, and numbers with their scales.
void take_widths(const StoredWeights& stored, ServedTypes& out) {
  out.wide_weights = stored.wide_weights, out.wide_experts = stored.wide_experts;
  out.narrow_head = !stored.narrow.empty();
  if (stored.element_bytes > 0) out.types.weight_bytes = stored.element_bytes;
  if (!stored.wide.empty())
    out.assumptions.push_back(fmt::format("{} left wide, as {} says", stored.wide, stored.told_by));
  if (!out.wide_experts.empty())
    out.assumptions.push_back(fmt::format(
        "some experts of layers are left wide, as {} says: counted in bytes; products take the time of what most of a "
        "layer's experts have",
        stored.told_by));
  if (out.narrow_head)
    out.assumptions.push_back(fmt::format("{} narrow, too, as {} says", stored.narrow, stored.told_by));
  if (!stored.unknown.empty())
    out.assumptions.push_back(fmt::format(
        "'{:.60}'{} of {} names no weights that are known: what it leaves wide counts as narrow, in bytes and in time",
        stored.unknown.front(), stored.unknown.size() > 1 ? fmt::format(" and {} more", stored.unknown.size() - 1) : "",
        stored.told_by));
}

/// The same of the cache, where the weights are the file's too: of another checkpoint it says nothing.
Expected<std::string> cache_untold(const StoredWeights& stored, const std::string& weights, const std::string& wide,
    std::vector<std::string>& assumptions) {
  const bool told = !stored.cache_how.empty() && (stored.type.empty() || weights == stored.type);
  if (told && stored.cache.empty())
    return fail("--kv", fmt::format("the file has its cache kept as {}, which is no type of ours", stored.cache_how),
        fmt::format("--kv fp8, or {}", wide));
  assumptions.push_back(told ? fmt::format("--kv {}, as {} says", stored.cache, stored.told_by) : "--kv " + wide);
  return told ? stored.cache : wide;
}

/// What products multiply. Kernels widen weights that are narrower; wider ones are no operands of narrow products: they
/// are cast as they are loaded, and are narrow from there on.
Expected<Precision> products_of(const std::string& said, const NumberType& weights) {
  if (said.empty()) return weights.products;
  TRY(const auto products, number_type(said, "--products"));
  if (products->weights_alone || products->latents_alone)
    return fail("--products",
        fmt::format("{} is a type of {}: no products are made in it here", products->name,
            products->weights_alone ? "weights alone" : "latent caches"),
        "bf16, fp16, fp8, mxfp8 or nvfp4, or without it: as the weights want it");
  if (products->block_scaled && !weights.block_scaled)
    return fail("--products",
        fmt::format("{} of weights in {}, which have no scales of blocks", products->name, weights.name),
        "--weights fp8-block, or --products fp8");
  const double widest = weights.experts_alone() ? operand_bytes(weights.products) : weights.bytes;
  // Scales are less than a half of an element.
  if (widest >= 2 * operand_bytes(products->products))
    return fail("--products",
        fmt::format("{} products, and {}{} is wider", to_text(products->products),
            weights.experts_alone() ? "what is beside experts in " : "weights in ", weights.name),
        weights.experts_alone() ? fmt::format("--products {}", to_text(weights.products))
                                : fmt::format("--weights {}: weights are cast as they are loaded", products->name));
  return products->products;
}

/// Eight bits a kernel may widen on any GPU; what has scales of small blocks needs units that know of them.
Expected<void> check_cache(const NumberType& cache, const Gpu& gpu) {
  if (cache.weights_alone) return fail("--kv", fmt::format("{} is a type of weights alone", cache.name), "--kv fp8");
  const bool small_blocks = cache.products == Precision::mxfp8 || cache.products == Precision::nvfp4;
  if (small_blocks && gpu.peak[static_cast<int>(cache.products)].value() <= 0)
    return fail("--kv", fmt::format("{} has no {} matrix units", gpu.name, to_text(cache.products)), "--kv fp8");
  return {};
}

bool has_units(const Gpu& gpu, Precision type) { return gpu.peak[static_cast<int>(type)].value() > 0; }

/// Types of caches or of experts alone.
Expected<void> check_weights(const NumberType& weights, const NetworkSpec& network, const std::string& usual) {
  if (weights.latents_alone)
    return fail("--weights", fmt::format("{} is a type of latent caches", weights.name), "--weights " + usual);
  if (weights.experts_alone() && network.experts.count == 0)
    return fail("--weights", fmt::format("{} is a type of experts, and {} has none", weights.name, network.id),
        "--weights fp8, or nvfp4 where the GPU has it");
  return {};
}

/// Kernels that widen weights where the GPU does not multiply in their type, which the engine takes by itself.
struct WideningKernels {
  std::string_view engine, name, architecture;
  Precision stored;
};
// Marlin: vllm-project/vllm, model_executor/layers/quantization/utils, marlin_utils_fp8.py and marlin_utils_fp4.py
// ("does not have native support ... weight-only ... compression will be used", from compute capability 8.0). Of other
// engines nothing is known.
constexpr WideningKernels widening_kernels[] = {{"vllm", "Marlin", "ampere", Precision::fp8},
    {"vllm-2026", "Marlin", "ampere", Precision::fp8}, {"vllm", "Marlin", "ampere", Precision::nvfp4},
    {"vllm-2026", "Marlin", "ampere", Precision::nvfp4}, {"vllm", "Marlin", "ada", Precision::nvfp4},
    {"vllm-2026", "Marlin", "ada", Precision::nvfp4}, {"vllm", "Marlin", "hopper", Precision::nvfp4},
    {"vllm-2026", "Marlin", "hopper", Precision::nvfp4}};

/// Of weights in a type that the GPU does not multiply in: products are wide where kernels of the engine do it so.
void widen(
    const NumberType& weights, const Engine& engine, const Gpu& gpu, const std::string& usual, ServedTypes& out) {
  if (weights.weights_alone) {
    out.types.products = Precision::fp16;
    return;
  }
  const auto row = std::ranges::find_if(widening_kernels, [&](const WideningKernels& one) {
    return one.engine == engine.id && one.architecture == gpu.architecture && one.stored == weights.products;
  });
  if (row == std::end(widening_kernels)) return;
  out.types.products = usual == "bf16" ? Precision::bf16 : Precision::fp16;
  out.types.block_scaled = false;
  out.assumptions.push_back(fmt::format("--products {}: {} has no {} matrix units, and {}'s kernels ({}) widen weights",
      usual, gpu.name, to_text(weights.products), engine.name, row->name));
}

}  // namespace

Expected<ServedTypes> served_types(const TypeWishes& wishes, const StoredWeights& stored, const NetworkSpec& network,
    const Gpu& gpu, const Engine& engine) {
  ServedTypes out;
  const auto has = [&](Precision p) { return has_units(gpu, p); };
  const std::string usual = has(Precision::bf16) ? "bf16" : "fp16";
  std::string named = wishes.weights;
  if (named.empty()) {
    TRY(named, weights_untold(stored, usual, out.assumptions));
  }
  TRY(const auto weights, number_type(named, "--weights"));
  std::string kept = wishes.cache;
  if (kept.empty()) {
    TRY(kept, cache_untold(stored, named, usual, out.assumptions));
  }
  TRY(const auto cache, number_type(kept, "--kv"));
  TRY(check_weights(*weights, network, usual));
  TRY(check_cache(*cache, gpu));
  const LatentLayout* layout = cache->latents_alone ? latent_layout(network) : nullptr;
  if (cache->latents_alone && layout == nullptr)
    return fail("--kv",
        fmt::format("{} holds latents of 512 numbers with 64 turned ones, or keys of 512 of which 64 are, and {} has "
                    "neither",
            cache->name, network.id),
        "--kv fp8");
  // Kernels widen caches in fp8 where the GPU has no such products.
  if (cache->bytes < 2 && cache->products != Precision::fp8 && !has(cache->products))
    return fail("--kv", fmt::format("{} has no {} matrix units", gpu.name, to_text(cache->products)),
        "--kv fp8, or --kv " + usual);
  out.types.weight_bytes = weights->bytes;
  if (!stored.type.empty() && named == stored.type) take_widths(stored, out);
  TRY(out.types.products, products_of(wishes.products, *weights));
  out.types.block_scaled = out.stored_in_blocks = weights->block_scaled;
  out.types.experts_alone = weights->experts_alone() && network.experts.count > 0;
  out.types.narrow_experts = weights->name, out.types.beside_experts = weights->beside_experts;
  const bool beside_blocks = weights->experts_alone() && weights->block_scaled;  // no kernels widen these for engines
  if (!has(out.types.products) && wishes.products.empty() && !beside_blocks) widen(*weights, engine, gpu, usual, out);
  if (!has(out.types.products))
    return fail(wishes.products.empty() ? "--weights" : "--products",
        fmt::format("{} has no {} matrix units", gpu.name, to_text(out.types.products)),
        fmt::format("--weights {0}, or --products {0}: kernels that widen weights", usual));
  // TensorRT-LLM casts what it gathers for experts to their products' type before, unless the scales are of blocks
  // (NVIDIA/TensorRT-LLM 1.0, _torch/modules/fused_moe/fused_moe_cutlass.py, run_post_quant_allgather).
  if (engine.kernels == "trtllm" && !out.types.block_scaled)
    out.types.gathered_bytes = gathered_bytes(out.types.products);
  out.cache_element_bytes = layout != nullptr ? layout->bytes_per_number() : cache->bytes;
  out.types.attention = cache->bytes < 2 ? Precision::fp8 : cache->products;
  if (out.types.experts_alone && out.types.block_scaled)
    out.assumptions.push_back(fmt::format(
        "experts in mxfp4 take the time of {0} products that read fewer bytes, and {1} is tuned as for {0}: "
        "nobody timed their kernels here",
        sim::tuned_as(out.types, engine, gpu.architecture), engine.name));
  if (cache->bytes < 1)
    out.assumptions.push_back(
        fmt::format("attention over keys in {} takes as long as in fp8: nobody timed its kernels", cache->name));
  return out;
}

}  // namespace stepcast::infer
