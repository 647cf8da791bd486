// Model FLOPs as training programs count them when they print TFLOP/s: to hold a log's figure beside a forecast.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/network/network.h"

namespace stepcast {

/// A token's forward FLOPs in attention: projections, core and indexer, causal.
double attention_flops(const NetworkSpec& spec, const LayerKind& kind, std::int64_t sequence);

/// Forward x 3 of a step of `tokens` tokens. The core counts half the square, windows by their mean number of keys; the
/// router, gates of shared experts and the joint projection of prediction modules are left out. Mamba-2's scan counts
/// 7 d N and its d as twice the hidden size, whatever its heads; Gated DeltaNet's 8 P P per value head. Other mixers
/// count as model_flops does. NVIDIA-NeMo/Megatron-Bridge 067f987 training/utils/flop_utils.py (hybrid_flops).
double printed_flops(const NetworkSpec& spec, double tokens, std::int64_t sequence);

/// Six per number that a token meets, vectors among them, but for the embedding and the router's correction; and the
/// core in full: the whole square, a window's length, as many keys as are picked. The head counts again for each
/// prediction module, a module's projection for each residual stream; scans are left out. pytorch/torchtitan 048b0ae
/// torchtitan/models/utils.py and models/deepseek_v4/model.py (get_nparams_and_flops).
double torchtitan_flops(const NetworkSpec& spec, double tokens, std::int64_t sequence);

/// A program's way to count.
struct FlopsCount {
  std::string_view id, name;
  double (*flops)(const NetworkSpec& spec, double tokens, std::int64_t sequence);
};
std::span<const FlopsCount> flops_counts();
/// Null: there is none of the id.
const FlopsCount* find_flops_count(const std::string& id);

}  // namespace stepcast
