#include "model/profile/query.h"

#include <algorithm>
#include <cmath>
#include <array>

namespace stepcast {
namespace {

/// One pass over the data each, as fused kernels do it. Scattered gradients of an embedding are added to a table in
/// fp32: in elements of two bytes a gradient is read, and two are read and written for it. Optimizer: Adam on fp32
/// master weights reads weight, gradient and two moments and writes weight, two moments and the 16-bit copy, in
/// elements of four bytes.
constexpr std::array ops{
    MemoryOp{"read", "copy", 1, 0, ""},
    MemoryOp{"write", "copy", 0, 1, "fill memset"},
    MemoryOp{"copy", "copy", 1, 1, ""},
    MemoryOp{"triad", "copy", 2, 1, ""},
    MemoryOp{"add", "elementwise", 2, 1, "mul div pow residual"},
    MemoryOp{"add-scalar", "elementwise", 1, 1, "addu mulu divu powu"},
    MemoryOp{"norm", "norm", 1, 1, "ln layernorm layer_norm rmsnorm rms_norm input_layernorm post_attention_layernorm"},
    MemoryOp{"norm-backward", "norm", 2, 1, ""},
    MemoryOp{"softmax", "softmax", 1, 1, ""},
    MemoryOp{"softmax-backward", "softmax", 2, 1, ""},
    MemoryOp{"gelu", "activation", 1, 1, "relu tanh silu"},
    MemoryOp{"gelu-backward", "activation", 2, 1, ""},
    MemoryOp{"swiglu", "activation", 2, 1, "activation mlp_act silu_and_mul act"},
    MemoryOp{"swiglu-backward", "activation", 3, 2, ""},
    MemoryOp{"rope", "rope", 1, 1, "attn_rope rotary"},
    MemoryOp{"embedding", "embedding", 1, 1, "emb lookup gather"},
    MemoryOp{"embedding-backward", "embedding", 3, 2, ""},
    MemoryOp{"cross-entropy", "loss", 1, 1, "cross_entropy loss"},
    MemoryOp{"quantize", "quantize", 1, 0.5, "quantise cast"},
    // Gradient, master copy and both moments are fp32, and the weight that it writes is half of that: 30 bytes.
    MemoryOp{"adam", "optimizer", 4, 3.5, "optimizer adamw", 4},
};

bool names_hold(std::string_view names, std::string_view name) {
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(' ', at), names.size());
    if (names.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

double operand_bytes(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32: return 4;
    case Precision::fp16:
    case Precision::bf16: return 2;
    case Precision::fp8:
    case Precision::mxfp8: return 1;
    case Precision::nvfp4: return 0.5;
  }
  return 2;
}

Flops flops_of(const GemmQuery& g) { return Flops(2 * g.batch * g.m * g.n * g.k); }

double row_alignment(const GemmQuery& g) {
  double aligned = 16;
  for (const double size : {g.n, g.layout == GemmLayout::nt ? g.m : g.k})
    while (aligned > 1 && std::fmod(std::max(1.0, std::round(size)) * operand_bytes(g.precision), aligned) != 0)
      aligned /= 2;
  return aligned;
}

Bytes bytes_of(const GemmQuery& g) {
  const double operand = operand_bytes(g.precision);
  const double result = g.layout == GemmLayout::nt ? 6 : std::max(2.0, operand);
  return Bytes(g.batch * (operand * (g.m * g.k + g.n * g.k) + result * g.m * g.n));
}

Bytes cast_bytes_of(const GemmQuery& g) {
  return Bytes(g.casts_x ? g.batch * g.m * g.k * (2 + operand_bytes(g.precision)) : 0);
}

Flops forward_flops_of(const AttentionQuery& a) {
  // A query at the end of the keys sees all of them; causal ones before it see one less each.
  const double hidden = a.causal && a.pass != AttentionPass::decode ? (a.queries - 1) / 2 : 0;
  const double seen = std::max(a.keys - hidden, 1.0);
  const double of_keys = a.head_dim, of_values = is_latent(a) ? a.latent_values : a.head_dim;
  return Flops(2 * a.batch * a.heads * (of_keys + of_values) * a.queries * seen);
}

Bytes bytes_of(const AttentionQuery& a) {
  const double element = operand_bytes(a.precision);
  if (is_latent(a))
    return Bytes(
        element * a.batch * (a.queries * a.heads * (a.head_dim + a.latent_values) + a.keys * a.kv_heads * a.head_dim));
  return Bytes(element * a.batch * a.head_dim * 2 * (a.queries * a.heads + a.keys * a.kv_heads));
}

Flops flops_of(const MoeQuery& moe) {
  // Gated: three products of hidden x inter for each token and expert that it goes to. A rank has its share of each.
  return Flops(6 * moe.tokens * moe.topk * moe.hidden * moe.inter / (moe.tensor_ways * moe.expert_ways));
}

Bytes bytes_of(const MoeQuery& moe) {
  const double element = operand_bytes(moe.precision);
  const double rows = moe.tokens * moe.topk / moe.expert_ways;
  const double used = std::min(moe.experts / moe.expert_ways, rows);  // an expert without a token is not read
  const double inter = moe.inter / moe.tensor_ways;
  return Bytes(element * 3 * used * moe.hidden * inter + 2 * rows * (2 * moe.hidden + 3 * inter));
}

std::span<const MemoryOp> memory_ops() { return ops; }

const MemoryOp* find_memory_op(std::string_view name) {
  for (const MemoryOp& op : ops)
    if (op.id == name || names_hold(op.names, name)) return &op;
  return nullptr;
}

Bytes bytes_of(const MemoryQuery& memory) {
  return Bytes(memory.rows * memory.columns * memory.element_bytes * (memory.op->reads + memory.op->writes));
}

const char* to_text(TransferKind kind) {
  return kind == TransferKind::host_to_device ? "host_to_device" : "device_to_host";
}

const char* to_text(LaunchKind kind) {
  constexpr const char* names[] = {"stream_kernel", "graph_kernel", "graph", "event"};
  return names[static_cast<int>(kind)];
}

const char* to_text(ExchangeDirection direction) {
  constexpr const char* names[] = {"prepare", "dispatch", "combine"};
  return names[static_cast<int>(direction)];
}

const char* to_text(ExchangeKernel kernel) {
  constexpr const char* names[] = {"low_latency", "normal", "nvlink_two_sided", "nvlink_one_sided"};
  return names[static_cast<int>(kernel)];
}

double received_share(CollectiveKind kind, std::int64_t ranks) {
  const double gathered = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  switch (kind) {
    case CollectiveKind::all_reduce: return 2 * gathered;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all: return gathered;
    case CollectiveKind::send_recv:
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce: return 1;
  }
  return 1;
}

Bytes received_of(const CollectiveQuery& c) { return c.bytes * received_share(c.kind, c.ranks); }

}  // namespace stepcast
