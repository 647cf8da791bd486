// Model FLOPs as NVIDIA's training programs count them when they print TFLOP/s: to hold a log's figure beside a
// forecast.
#pragma once

#include "model/network/network.h"

namespace stepcast {

/// A token's forward FLOPs in attention: projections, core and indexer, causal.
double attention_flops(const NetworkSpec& spec, const LayerKind& kind, std::int64_t sequence);

/// Forward x 3 of a step of `tokens` tokens. The core counts half the square, windows by their mean number of keys; the
/// router, gates of shared experts and the joint projection of prediction modules are left out. Mamba-2's scan counts
/// 7 d N and its d as twice the hidden size, whatever its heads; Gated DeltaNet's 8 P P per value head. Other mixers
/// count as model_flops does. NVIDIA-NeMo/Megatron-Bridge 067f987 training/utils/flop_utils.py (hybrid_flops).
double printed_flops(const NetworkSpec& spec, double tokens, std::int64_t sequence);

}  // namespace stepcast
