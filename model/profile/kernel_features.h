// What corrections may look at: sizes in doublings, how well tiles fill the multiprocessors, where the data fits. Only
// relations that mean the same on the next GPU, so that a law keeps its correction when it is carried over. New
// features come last: a correction that was learned without them goes on as it was (correction.h).
#pragma once

#include <array>
#include <span>

#include "model/profile/profile.h"
#include "model/profile/query.h"

namespace stepcast {

/// Share of the multiprocessors' time that works on elements of C, with this tile: ragged edges and the last wave idle.
double wave_occupancy(const GemmQuery& gemm, const CtaTile& tile, const GpuUnits& units);

inline constexpr std::array gemm_feature_names{"m", "n", "k", "flops", "bytes", "compute/memory", "occupancy 256x128",
    "occupancy 128x256", "occupancy 128x128", "occupancy 64x64", "tiles 128x128", "n*k", "m*n", "m/n", "alignment m",
    "alignment n", "alignment k", "nn", "nt"};
inline constexpr std::array attention_feature_names{"batch", "queries", "keys", "heads", "kv_heads", "head_dim",
    "flops", "bytes", "compute/memory", "blocks", "bytes/L2", "heads/kv_heads", "rows", "occupancy"};
inline constexpr std::array moe_feature_names{"tokens", "hidden", "inter", "topk", "experts", "tensor_ways",
    "expert_ways", "skew", "rows per expert", "flops", "bytes", "compute/memory", "tiles", "bytes/L2"};
inline constexpr std::array memory_feature_names{"rows", "columns", "bytes", "bytes/L2", "blocks"};

using GemmFeatures = std::array<float, gemm_feature_names.size()>;
using AttentionFeatures = std::array<float, attention_feature_names.size()>;
using MoeFeatures = std::array<float, moe_feature_names.size()>;
using MemoryFeatures = std::array<float, memory_feature_names.size()>;

GemmFeatures gemm_features(const GemmQuery& gemm, const RooflineLaw& law, const GpuUnits& units);
AttentionFeatures attention_features(const AttentionQuery& attention, const AttentionLaw& law, const GpuUnits& units);
MoeFeatures moe_features(const MoeQuery& moe, const RooflineLaw& law, const GpuUnits& units);
MemoryFeatures memory_features(const MemoryQuery& memory, const GpuUnits& units);

}  // namespace stepcast
