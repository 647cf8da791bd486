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

/// Attention of whole layers on one GPU, as published networks have it: Llama 3 8B, GPT-3 13B, Llama 3.2 1B, GPT-2.
struct LayerCore {
  double batch, positions, heads, kv_heads, head_dim;
};
constexpr std::array layer_cores{LayerCore{1, 4096, 32, 8, 128}, LayerCore{1, 8192, 32, 8, 128},
    LayerCore{2, 2048, 40, 40, 128}, LayerCore{2, 4096, 32, 8, 64}, LayerCore{8, 1024, 12, 12, 64},
    LayerCore{1, 2048, 32, 8, 128}, LayerCore{1, 2048, 16, 16, 128}};

AttentionQuery layer_core(const LayerCore& core, AttentionPass pass, Precision precision) {
  return {.batch = core.batch,
      .queries = core.positions,
      .keys = core.positions,
      .heads = core.heads,
      .kv_heads = core.kv_heads,
      .head_dim = core.head_dim,
      .pass = pass,
      .precision = precision};
}

/// Heads of 128 of networks that are served: Llama 3 8B and 70B (an eighth of it), Llama 2 13B on one GPU, and of 64,
/// Llama 3.2 1B.
struct DecodeHeads {
  double heads, kv_heads, head_dim;
};
constexpr std::array decode_heads{
    DecodeHeads{32, 8, 128}, DecodeHeads{32, 32, 128}, DecodeHeads{8, 1, 128}, DecodeHeads{32, 8, 64}};
constexpr std::array decode_batches{16.0, 1.0, 64.0, 4.0, 256.0};
constexpr std::array decode_contexts{4096.0, 1024.0, 16384.0, 65536.0};

}  // namespace

Candidates decode_candidates(const PhaseContext& context) {
  Candidates out;
  if (!context.request.cudnn || context.precision == Precision::fp32) return out;  // ours has no kernel for it
  for (const DecodeHeads& heads : decode_heads)
    for (const double keys : decode_contexts)
      for (const double batch : decode_batches) {
        out.push_back(sampled_work(AttentionQuery{.batch = batch,
            .queries = 1,
            .keys = keys,
            .heads = heads.heads,
            .kv_heads = heads.kv_heads,
            .head_dim = heads.head_dim,
            .pass = AttentionPass::decode,
            .precision = context.precision}));
        out.back().works.front().source = KernelSource::cudnn;
      }
  return out;
}

Candidates attention_candidates(const PhaseContext& context) {
  Candidates out;
  if (context.precision == Precision::fp32) return out;  // fused kernels run on tensor cores
  const auto add = [&](const AttentionQuery& query) {
    out.push_back(sampled_work(query));
    if (!context.request.cudnn) return;
    out.push_back(out.back());
    out.back().works.front().source = KernelSource::cudnn;
  };
  constexpr std::array passes{AttentionPass::forward, AttentionPass::backward};
  for (const Core& core : core_kinds)
    for (const double positions : core_lengths)
      for (const AttentionPass pass : passes)
        add(core_of(positions, core.head_dim, core.causal, pass, context.precision));
  for (const LayerCore& core : layer_cores)
    for (const AttentionPass pass : passes) add(layer_core(core, pass, context.precision));
  return out;
}

}  // namespace stepcast::calibrate
