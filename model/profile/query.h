// What one can ask the time of: one kernel or one collective, by its shape. Measurements answer such questions for one
// machine, laws for any shape; both name them in these words.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "model/machine/machine.h"
#include "model/base/units.h"

namespace stepcast {

/// Which operand of the stored matrices is transposed, as BLAS says it. With row-major x[m,k] and w[n,k]: y = x wT is
/// tn, the input gradient dx = dy w is nn, the weight gradient dw = dyT x is nt and adds to a result in fp32.
enum class GemmLayout : std::uint8_t { tn, nn, nt };

/// y[m,n] = x[m,k] w[n,k]T, `batch` times over.
struct GemmQuery {
  double m = 1, n = 1, k = 1, batch = 1;
  Precision precision = Precision::bf16;
  bool block_scaled = false;  ///< fp8 with a scale per block of 128, as DeepGEMM's kernels
  GemmLayout layout = GemmLayout::tn;
  bool casts_x = false;  ///< the call casts x from two bytes per element first
};
double operand_bytes(Precision precision);
Flops flops_of(const GemmQuery& gemm);
/// Multiples of how many bytes rows of the operands and of the result begin at, the least of them: 16 at most, which is
/// what a load moves at once. Operands lie along k, those of a weight gradient along m and n.
double row_alignment(const GemmQuery& gemm);
/// Each matrix once over device memory; an nt result is read and written in fp32 parts: 6 bytes per element.
Bytes bytes_of(const GemmQuery& gemm);
/// What the cast of x reads and writes; zero without one.
Bytes cast_bytes_of(const GemmQuery& gemm);

/// context: whole sequences at once, as in training and prefill. decode: one query per sequence against its cache.
enum class AttentionPass : std::uint8_t { forward, backward, forward_and_backward, decode };
constexpr bool makes_gradients(AttentionPass pass) {
  return pass == AttentionPass::backward || pass == AttentionPass::forward_and_backward;
}

/// Fused attention. `queries` and `keys` are positions of one sequence.
struct AttentionQuery {
  double batch = 1, queries = 1, keys = 1, heads = 1, kv_heads = 1, head_dim = 128;
  AttentionPass pass = AttentionPass::forward;
  bool causal = true;
  Precision precision = Precision::bf16;
  /// Over a latent cache: the first so many of a key's `head_dim` elements are its value (DeepSeek: 512 of 576, one
  /// kv_head). 0: values apart from the keys, as wide.
  double latent_values = 0;
};
/// Keys that are values, too: kernels of their own.
inline bool is_latent(const AttentionQuery& attention) { return attention.latent_values > 0; }
/// Of the forward kernel: two products over the keys that each query sees (causal: half the square and its diagonal).
Flops forward_flops_of(const AttentionQuery& attention);
/// Queries, keys, values and results once.
Bytes bytes_of(const AttentionQuery& attention);

/// One layer of routed experts on one rank of a group: router's choice given, gate and up projections, activation,
/// down.
struct MoeQuery {
  double tokens = 1, hidden = 1, inter = 1, topk = 1, experts = 1;
  double tensor_ways = 1, expert_ways = 1;  ///< the experts' inter and the experts themselves split over ranks
  double skew = 0;                          ///< exponent of the power law of loads; 0 = balanced
  Precision precision = Precision::bf16;
};
Flops flops_of(const MoeQuery& moe);
Bytes bytes_of(const MoeQuery& moe);

/// A row of the table of kernels that device memory bounds.
struct MemoryOp {
  std::string_view id, group;    ///< group: "elementwise", "norm", "softmax", "activation", "optimizer", ...
  double reads = 1, writes = 1;  ///< of elements, per element of the result
  std::string_view names;        ///< what other programs call it, separated by blanks
  double own_bytes = 0;          ///< per element, whatever the type of a step; 0: those of the type that is asked for
};
std::span<const MemoryOp> memory_ops();
/// By id or one of the names; null when there is none.
const MemoryOp* find_memory_op(std::string_view name);

/// `rows` x `columns` elements; what is normalised or summed lies along the columns.
struct MemoryQuery {
  const MemoryOp* op = nullptr;  ///< never null in a query that was read
  double rows = 1, columns = 1;
  double element_bytes = 2;
};
Bytes bytes_of(const MemoryQuery& memory);

// clang-format off
enum class CollectiveKind : std::uint8_t { all_gather, reduce_scatter, all_reduce, all_to_all, send_recv, broadcast,
                                          reduce };
// clang-format on
const char* to_text(CollectiveKind kind);

/// One collective over `ranks` ranks that stand on `nodes` nodes in equal parts.
struct CollectiveQuery {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t ranks = 2, nodes = 1;
  Bytes bytes;  ///< of the whole buffer: what nccl-tests prints as size
};
/// nccl-tests' bus factor: bytes received per rank over the size of the whole buffer, 2(n-1)/n for all_reduce,
/// (n-1)/n for gathers, scatters and all_to_all, 1 for the others (NVIDIA/nccl-tests doc/PERFORMANCE.md).
double received_share(CollectiveKind kind, std::int64_t ranks);
Bytes received_of(const CollectiveQuery& collective);

/// What an exchange of experts' rows does: hands counts round before the rows (where that is a kernel of its own),
/// sends rows to the ranks of their experts, brings results back and sums them.
enum class ExchangeDirection : std::uint8_t { prepare, dispatch, combine };
const char* to_text(ExchangeDirection direction);

/// Kernels of engines for it: DeepEP's for decode and for many tokens (low_latency, normal), TensorRT-LLM's over
/// NVLink.
enum class ExchangeKernel : std::uint8_t { low_latency, normal, nvlink_two_sided, nvlink_one_sided };
const char* to_text(ExchangeKernel kernel);

/// One exchange. Every rank has `tokens` rows of `hidden` elements; each row goes to `choices` of `experts` experts,
/// which lie on the ranks in equal parts and are chosen evenly.
struct ExchangeQuery {
  ExchangeDirection direction = ExchangeDirection::dispatch;
  double tokens = 1, hidden = 1, choices = 1, experts = 1;
  double element_bytes = 2;
  std::int64_t ranks = 2;
  std::int64_t node_ranks = 0;  ///< of them in one domain of NVLink; 0 = all
};

enum class TransferKind : std::uint8_t { host_to_device, device_to_host };
const char* to_text(TransferKind kind);

/// One copy between pinned host memory and the GPU.
struct TransferQuery {
  TransferKind kind = TransferKind::host_to_device;
  Bytes bytes;
};

/// What starting work costs, per item of a long row of them: a kernel that does nothing, launched into a stream (the
/// host bounds it) or as a node of a graph (the GPU does); a graph of one such kernel; an event recorded into a stream.
enum class LaunchKind : std::uint8_t { stream_kernel, graph_kernel, graph, event };
const char* to_text(LaunchKind kind);
struct LaunchQuery {
  LaunchKind kind = LaunchKind::stream_kernel;
};

using Query =
    std::variant<GemmQuery, AttentionQuery, MoeQuery, MemoryQuery, CollectiveQuery, TransferQuery, LaunchQuery>;

}  // namespace stepcast
