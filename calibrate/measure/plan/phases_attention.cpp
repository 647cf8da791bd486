// Candidates of the attention phase.
#include <array>

#include "calibrate/measure/plan/phases.h"

namespace stepcast::calibrate {
namespace {

/// 16384 tokens of 1024 numbers on a GPU: the part of a wide layer that one of several GPUs works on, at every length.
constexpr double core_tokens = 16384, core_width = 1024;

AttentionQuery core_of(double positions, double head_dim, bool causal, AttentionPass pass, Precision precision) {
  const double heads = core_width / head_dim;
  return {.batch = core_tokens / positions,
      .queries = positions,
      .keys = positions,
      .heads = heads,
      .kv_heads = heads,
      .head_dim = head_dim,
      .pass = pass,
      .causal = causal,
      .precision = precision};
}

struct Core {
  double head_dim;
  bool causal;
};
// What most networks train first: causal, heads of 128.
constexpr std::array core_kinds{Core{128, true}, Core{64, true}, Core{128, false}, Core{64, false}};
constexpr std::array core_lengths{4096.0, 2048.0, 8192.0, 1024.0, 16384.0, 512.0};

}  // namespace

Candidates attention_candidates(const PhaseContext& context) {
  Candidates out;
  if (context.precision == Precision::fp32) return out;  // fused kernels run on tensor core_kinds
  for (const Core& core : core_kinds)
    for (const double positions : core_lengths)
      for (const AttentionPass pass : {AttentionPass::forward, AttentionPass::backward}) {
        out.push_back(sampled_work(core_of(positions, core.head_dim, core.causal, pass, context.precision)));
        if (!context.request.cudnn) continue;
        out.push_back(out.back());
        out.back().works.front().source = KernelSource::cudnn;
      }
  return out;
}

}  // namespace stepcast::calibrate
