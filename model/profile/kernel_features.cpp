#include "model/profile/kernel_features.h"

#include <algorithm>
#include <cmath>

namespace stepcast {
namespace {

/// Four of cta_tiles(), the corners of the list.
constexpr CtaTile large_m{256, 128, 64}, large_n{128, 256, 64}, square{128, 128, 64}, small{64, 64, 64};

/// Positions that a block of attention works on.
constexpr double query_block = 128;

float log2_of(double value) { return std::log2(static_cast<float>(value)); }

double tiles_of(const GemmQuery& g, const CtaTile& tile) {
  return std::ceil(g.m / tile.m) * std::ceil(g.n / tile.n) * g.batch;
}

/// Largest power of two that divides the size, to 256: vector width, swizzles and tile edges.
float alignment(double size) {
  const auto whole = static_cast<std::uint64_t>(size);
  return whole == 0 ? 0 : static_cast<float>(std::min(8, __builtin_ctzll(whole)));
}

float over_l2(double bytes, const GpuUnits& units) { return log2_of(bytes / std::max(units.l2.value(), 1.0)); }

float waves_filled(double blocks, const GpuUnits& units) {
  const double at_once = std::max(units.multiprocessors, 1);
  return log2_of(blocks / (std::ceil(blocks / at_once) * at_once));
}

}  // namespace

double wave_occupancy(const GemmQuery& g, const CtaTile& tile, const GpuUnits& units) {
  const double at_once = std::max(units.multiprocessors, 1);
  const double waves = std::ceil(tiles_of(g, tile) / at_once);
  return g.batch * g.m * g.n / (waves * at_once * tile.m * tile.n);
}

GemmFeatures gemm_features(const GemmQuery& g, const RooflineLaw& law, const GpuUnits& units) {
  const float m = log2_of(g.m), n = log2_of(g.n), k = log2_of(g.k), batch = log2_of(g.batch);
  const double bytes = bytes_of(g).value();
  const float flops = 1 + batch + m + n + k;
  return {m, n, k, flops, log2_of(bytes), flops - log2_of(law.compute.value()) - log2_of(bytes / law.memory.value()),
      log2_of(wave_occupancy(g, large_m, units)), log2_of(wave_occupancy(g, large_n, units)),
      log2_of(wave_occupancy(g, square, units)), log2_of(wave_occupancy(g, small, units)), log2_of(tiles_of(g, square)),
      n + k, m + n + batch, m - n, alignment(g.m), alignment(g.n), alignment(g.k),
      g.layout == GemmLayout::nn ? 1.0F : 0.0F, g.layout == GemmLayout::nt ? 1.0F : 0.0F};
}

AttentionFeatures attention_features(const AttentionQuery& a, const AttentionLaw& law, const GpuUnits& units) {
  const double flops = forward_flops_of(a).value(), bytes = bytes_of(a).value();
  const double blocks = a.batch * a.heads * std::ceil(a.queries / query_block);
  const double decode_blocks = a.pass == AttentionPass::decode ? a.batch * a.kv_heads : blocks;
  return {log2_of(a.batch), log2_of(a.queries), log2_of(a.keys), log2_of(a.heads), log2_of(a.kv_heads),
      log2_of(a.head_dim), log2_of(flops), log2_of(bytes),
      log2_of(flops / law.compute.value()) - log2_of(bytes / std::max(law.memory.value(), 1.0)), log2_of(decode_blocks),
      over_l2(bytes, units), log2_of(a.heads / a.kv_heads), log2_of(a.batch * a.queries),
      waves_filled(decode_blocks, units)};
}

MoeFeatures moe_features(const MoeQuery& moe, const RooflineLaw& law, const GpuUnits& units) {
  const double flops = flops_of(moe).value(), bytes = bytes_of(moe).value();
  const double per_expert = moe.tokens * moe.topk / moe.experts;
  const double tiles_in = std::ceil(per_expert / square.m) * (moe.experts / moe.expert_ways) *
                          std::ceil(moe.inter / moe.tensor_ways / square.n);
  return {log2_of(moe.tokens), log2_of(moe.hidden), log2_of(moe.inter), log2_of(moe.topk), log2_of(moe.experts),
      log2_of(moe.tensor_ways), log2_of(moe.expert_ways), static_cast<float>(moe.skew), log2_of(per_expert),
      log2_of(flops), log2_of(bytes), log2_of(flops / law.compute.value()) - log2_of(bytes / law.memory.value()),
      log2_of(std::max(tiles_in, 1.0)), over_l2(bytes, units)};
}

MemoryFeatures memory_features(const MemoryQuery& memory, const GpuUnits& units) {
  const double bytes = bytes_of(memory).value();
  return {log2_of(memory.rows), log2_of(memory.columns), log2_of(bytes), over_l2(bytes, units),
      log2_of(memory.rows / std::max(units.multiprocessors, 1))};
}

}  // namespace stepcast
